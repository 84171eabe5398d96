"""A run as one self-contained HTML file: no script runs, nothing is loaded, foreign text stays text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from harness.model.verdict import Run
from harness.report.embedding import embed
from harness.report.json import encode_run
from harness.report.view.crossings import COLUMNS
from harness.report.view.page import build_page

__all__ = ["CONTENT_SECURITY_POLICY", "render_html"]

CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""Inline style and nothing else; the data block is no script and is never run."""


def render_html(run: Run, *, relative_to: Path | None = None) -> str:
    """The report of a run; source files are shown relative to ``relative_to``, else the current folder.

    The run itself is embedded in ``script#run-data``: its JSON as gzip in base64. Cost: linear in the run.
    """
    template = _environment().get_template("report.html")
    return template.render(
        page=build_page(run, relative_to=relative_to),
        columns=tuple(COLUMNS.values()),
        policy=CONTENT_SECURITY_POLICY,
        style=_style(),
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
    return Environment(
        loader=_Unindented("harness.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _style() -> Markup:
    """Our own style sheet, which no run has any part in."""
    return Markup(files("harness.report").joinpath("assets", "report.css").read_text("utf-8"))
