"""A run as one self-contained HTML file: nothing is loaded, no script but our own runs, foreign text stays text."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
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

__all__ = ["content_security_policy", "prose", "render_html"]

_QUOTED = re.compile(r"`([^`]{1,120})`")
"""How messages mark what can be typed."""


@cache
def content_security_policy() -> str:
    """Inline style, and the one script that sorts the cases, known by its hash; the data block is never run."""
    digest = base64.b64encode(hashlib.sha256(_asset("sort.js").encode("utf-8")).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def prose(text: str) -> Markup:
    """``text`` escaped, what stands between backticks as code; the only markup text can ever become."""
    return Markup(_QUOTED.sub(r"<code>\1</code>", str(escape(text))))


def render_html(run: Run, *, relative_to: Path | None = None) -> str:
    """The report of a run; source files are shown relative to ``relative_to``, else the current folder.

    The run itself is embedded in ``script#run-data``: its JSON as gzip in base64. Cost: linear in the run.
    """
    template = _environment().get_template("report.html")
    return template.render(
        page=build_page(run, relative_to=relative_to),
        columns=tuple(COLUMNS.values()),
        policy=content_security_policy(),
        style=_asset("report.css"),
        script=_asset("sort.js"),
        data=embed(encode_run(run)),
    )


class _Unindented(PackageLoader):
    """Templates without the indentation of their lines, which is a quarter of a page of many cases."""

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool] | None]:
        source, name, is_current = super().get_source(environment, template)
        return re.sub(r"^[ \t]+", "", source, flags=re.MULTILINE), name, is_current


@cache
def _environment() -> Environment:
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
    return Markup(files("harness.report").joinpath("assets", name).read_text("utf-8"))
