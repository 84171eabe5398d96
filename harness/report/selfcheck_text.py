"""What a self-check found, on a terminal: the verdict, a row per op, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.model.outcome import Outcome
from harness.model.selfcheck import SelfCheckRun
from harness.model.verdict import INTERRUPTED
from harness.report.layout import Line, Span, cell_width, padded, sentence, wrapped
from harness.report.table import marked
from harness.report.view.mark import Mark
from harness.report.view.selfcheck import CheckedOp, self_check_view
from harness.report.wording import encodable, visible

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_self_checks", "self_check_lines"]

_HEADINGS = ("op", "call time", "false alarms", "spread", "slowdowns found", "smallest found")


def print_self_checks(run: SelfCheckRun, console: Console, *, now: str) -> None:
    """Print what was found, sentences wrapped on a terminal; ``now`` (ISO 8601) is what ages are counted to."""
    from rich.text import Text  # on use: lines need no terminal

    width = console.width if console.is_terminal else None
    for line in self_check_lines(run, now=now, width=width):
        spans = [(encodable(span.text, console.encoding), span.style) for span in line.spans]
        console.print(Text.assemble(*spans), soft_wrap=True)


def self_check_lines(run: SelfCheckRun, *, now: str, width: int | None = None) -> tuple[Line, ...]:
    """The lines ``print_self_checks`` prints, without line breaks."""
    return tuple(fitted for line in _lines(run, now) for fitted in wrapped(line, width))


def _lines(run: SelfCheckRun, now: str) -> Iterator[Line]:
    mark = Mark.of(run.outcome)
    view = self_check_view(run.checks, now=now)
    head = Span(f"  exit {int(run.exit_code)}")
    stopped = run.interrupted and run.outcome is Outcome.INCONCLUSIVE
    word = INTERRUPTED if stopped else mark.word
    yield Line((marked(mark, word.upper()), head))
    if run.interrupted:
        done = (
            f"interrupted after {len(run.checks)} of {run.planned} ops; what was finished is kept"
        )
        yield sentence("  ", done)
    if run.checks:
        yield sentence("  ", view.sentence)
        yield Line()
        yield from _table(view.ops)
    yield from _steps([op for op in view.ops if op.mark.style != Outcome.PASSED.value])
    for note in run.notes:
        yield sentence("note  ", visible(note))


def _table(ops: Sequence[CheckedOp]) -> Iterator[Line]:
    rows = [_cells(op) for op in ops]
    widths = [max(map(cell_width, column)) for column in zip(_HEADINGS, *rows, strict=True)]

    def aligned(cells: Sequence[str]) -> str:
        texts = (padded(cell, width) for cell, width in zip(cells, widths, strict=True))
        return "  ".join(texts).rstrip()

    yield Line((Span(f"    {aligned(_HEADINGS)}", "dim"),))
    for op, cells in zip(ops, rows, strict=True):
        yield Line((Span("  "), marked(op.mark), Span(f" {aligned(cells)}")))


def _cells(op: CheckedOp) -> tuple[str, ...]:
    return (
        op.key,
        op.call_time,
        op.alarms,
        op.spread,
        "; ".join(found.text for found in op.found),
        op.smallest,
    )


def _steps(ops: Sequence[CheckedOp]) -> Iterator[Line]:
    if not ops:
        return
    yield Line()
    yield Line((Span("what to do next", "bold"),))
    for number, op in enumerate(ops, start=1):
        yield Line((Span(f"  {number}. "), marked(op.mark, op.key)))
        yield sentence("     ", op.summary)
        if op.next_step:
            yield sentence("     next      ", op.next_step)
