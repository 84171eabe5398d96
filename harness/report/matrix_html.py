"""Several runs as one self-contained HTML file, which holds them all and can be rendered again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.model.verdict import Run
from harness.report.embedding import embed
from harness.report.html import content_security_policy, script, style, templates
from harness.report.json import encode_run
from harness.report.view.merged import build_merged, without_raw

__all__ = ["render_matrix"]


def render_matrix(runs: Sequence[Run], *, title: str = "", relative_to: Path | None = None) -> str:
    """The page of several runs, each embedded ``without_raw``, so that rendering what it holds gives it again.

    Cost: linear in the runs; a second for 3,000 cases in all.
    """
    kept = [without_raw(run) for run in runs]
    return (
        templates()
        .get_template("matrix.html")
        .render(
            page=build_merged(kept, title=title, relative_to=relative_to),
            policy=content_security_policy(),
            style=style(),
            script=script(),
            runs_data=[embed(encode_run(run)) for run in kept],
        )
    )
