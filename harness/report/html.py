"""A run as one self-contained HTML file: nothing is loaded, no script but our own runs, foreign text stays text."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from harness.model.verdict import Run
from harness.report.embedding import embed
from harness.report.json import encode_run
from harness.report.view.crossings import COLUMNS
from harness.report.view.page import build_page
from harness.report.wording import shortened

__all__ = ["content_security_policy", "prose", "render_html", "script", "style", "templates"]

_ASSETS = files("harness.report").joinpath("assets")

_QUOTED = re.compile(r"`([^`]{1,120})`")
"""How messages mark what can be typed."""


_SCRIPTS = ("page.js",)
_FIRST_STYLE = "report.css"
"""Sets the variables the style sheets of the sections use."""


@cache
def content_security_policy() -> str:
    """The style and the script that are really embedded, each by its hash; the data block is never run."""
    return (
        f"default-src 'none'; script-src '{_digest(script())}'; style-src '{_digest(style())}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def style() -> Markup:
    """Every style sheet there is, that of the page before those of its sections."""
    names = sorted(each.name for each in _ASSETS.iterdir() if each.name.endswith(".css"))
    ordered = sorted(names, key=lambda name: name != _FIRST_STYLE)
    return Markup("\n").join(map(_asset, ordered))


@cache
def script() -> Markup:
    """Every script there is."""
    return Markup("\n").join(map(_asset, _SCRIPTS))


def _digest(text: str) -> str:
    """The source expression of an element's whole text, blank lines at its ends included."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def prose(text: str) -> Markup:
    """``text`` escaped, what stands between backticks as code; the only markup text can ever become."""
    return Markup(_QUOTED.sub(r"<code>\1</code>", str(escape(text))))


def render_html(
    run: Run, *, title: str = "", relative_to: Path | None = None, data: bytes | None = None
) -> str:
    """The report of a run; source files are shown relative to ``relative_to``, else the current folder.

    ``title`` is what the page is called instead of by its verdict. The run itself is embedded in ``script#run-data``:
    its JSON as gzip in base64; ``data`` is that JSON where it is at hand. Cost: linear in the run.
    """
    page = build_page(run, relative_to=relative_to)
    if title:
        name = shortened(title)
        page = replace(page, title=name, subtitle=f"{name} · {page.subtitle}")
    template = templates().get_template("report.html")
    return template.render(
        page=page,
        columns=tuple(COLUMNS.values()),
        policy=content_security_policy(),
        style=style(),
        script=script(),
        runs_data=[embed(data if data is not None else encode_run(run))],
    )


class _Unindented(PackageLoader):
    """Templates without the indentation of their lines, which is a quarter of a page of many cases."""

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool] | None]:
        source, name, is_current = super().get_source(environment, template)
        return re.sub(r"^[ \t]+", "", source, flags=re.MULTILINE), name, is_current


@cache
def templates() -> Environment:
    """The templates of every page, and the filters they use."""
    environment = Environment(
        loader=_Unindented("harness.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = prose
    return environment


@cache
def _asset(name: str) -> Markup:
    """Our own style sheet or script, which no run has any part in."""
    return Markup(_ASSETS.joinpath(name).read_text("utf-8"))
