"""Several runs as Markdown: how each ended, a table of cases by runs, and every finding once."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.verdict import Run
from harness.report.markdown import (
    CUT_BYTES,
    LARGEST_SUMMARY_BYTES,
    TABLE_SHARE,
    Fill,
    left_out_text,
    markdown_text,
    step_text,
    table_row,
)
from harness.report.view.matrix import MatrixCell
from harness.report.view.merged import MergedPage, MergedStep, build_merged

__all__ = ["matrix_markdown"]


def matrix_markdown(
    runs: Sequence[Run], *, title: str = "", most_bytes: int = LARGEST_SUMMARY_BYTES
) -> str:
    """The runs as one text of at most ``most_bytes``; what does not fit is counted in a last sentence."""
    page = build_merged(runs, title=title)
    fill = Fill(most_bytes - CUT_BYTES)
    if not fill.add(_verdict(page)):
        return ""
    rows_left = _add_table(fill, page, keep_free=(1 - TABLE_SHARE) * most_bytes)
    steps_left = _add_steps(fill, page.steps)
    fill.parts.append(left_out_text(rows_left, steps_left))
    return "".join(fill.parts)


def _verdict(page: MergedPage) -> str:
    head = table_row(["", "run", "cases", "evidence", "exit", "made"]) + table_row(["---"] * 6)
    lines = [
        f"## {page.mark.sign} {markdown_text(page.mark.word.upper())}\n",
        f"\n{markdown_text(page.reason)}\n\n{markdown_text(page.subtitle)}\n\n{head}",
    ]
    for run in page.runs:
        counts = ", ".join(
            f"{count.number:,} {count.mark.word}" for count in run.top.counts if count.number
        )
        made = f"{run.made}, {run.commit}"
        texts = (run.label, counts, run.top.evidence, str(run.top.exit_status), made)
        lines.append(table_row([run.top.mark.sign, *map(markdown_text, texts)]))
    return "".join(lines)


def _add_table(fill: Fill, page: MergedPage, *, keep_free: float) -> int:
    """Add the rows that fit; returns how many did not."""
    if not page.rows:
        return 0
    labels = [markdown_text(run.label) for run in page.runs]
    head = table_row(["", "case", *labels]) + table_row(["---"] * (len(labels) + 2))
    if not fill.add(f"\n### Cases\n\n{head}", keep_free=keep_free):
        return len(page.rows)
    for number, row in enumerate(page.rows):
        name = markdown_text(f"{row.workload}/{row.case}")
        cells = [markdown_text(_cell(cell)) for cell in row.cells]
        if not fill.add(table_row([row.mark.sign, name, *cells]), keep_free=keep_free):
            return len(page.rows) - number
    return 0


def _cell(cell: MatrixCell | None) -> str:
    """``✗ failed (traffic), 2.03 ms, 1.774x, D2H 1 / 0``."""
    if cell is None:
        return "not in this run"
    checks = f" ({cell.not_passed})" if cell.not_passed else ""
    ratio = f"{'≈ ' if cell.about else ''}{cell.ratio}" if cell.ratio else ""
    traffic = [f"{each.label} {each.limited}" for each in cell.traffic or ()]
    parts = [f"{cell.mark.sign} {cell.mark.word}{checks}", cell.change, cell.call_time, ratio]
    return ", ".join(part for part in [*parts, *traffic] if part)


def _add_steps(fill: Fill, steps: Sequence[MergedStep]) -> int:
    """Add the steps that fit, in order; returns how many did not."""
    if steps and not fill.add("\n### What to do next\n"):
        return len(steps)
    for number, told in enumerate(steps):
        where = "in all runs" if told.everywhere else f"in {'; '.join(told.runs)}"
        if not fill.add("".join(step_text(number + 1, told.step, where=where))):
            return len(steps) - number
    return 0
