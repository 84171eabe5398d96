"""A run on a terminal: one screen, aligned, plain when piped, and the text of a failed check.

Lines are built as plain data and need no terminal; rich is imported only to print them, since the pytest
plugin loads this module for ``failure_text`` alone.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.model.outcome import Outcome
from harness.model.verdict import Run
from harness.report.failure import failure_text
from harness.report.view.cases import CaseView
from harness.report.view.comparison import Comparison
from harness.report.view.crossings import COLUMNS, RecordView
from harness.report.view.mark import Mark
from harness.report.view.page import Page, build_page
from harness.report.view.steps import Step
from harness.report.wording import encodable, shortened
from harness.units import count_text

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Span", "failure_text", "print_summary", "summary_lines"]

_MOST_CASES = 20
"""With the verdict above and the comparison below them, what fits a terminal of 40 lines."""

_MOST_STEPS = 5
"""Each takes four to ten lines, and the first is the one to act on."""

_MOST_COMPARISONS = 2
"""One per built-in workload."""

_LONGEST_CELL = 40
"""A case with its shape, dtype and labels; the numbers beside it take 70 columns."""

_STYLES = {
    Outcome.PASSED.value: "green",
    Outcome.SKIPPED.value: "dim",
    Outcome.INCONCLUSIVE.value: "yellow",
    Outcome.FAILED.value: "bold red",
    "advice": "cyan",
}
"""Rich styles by ``Mark.style``; the sign beside each says the same without colour."""

_HEADINGS = ("case", "values", "D2H", "H2D", "syncs", "call time", "interval", "throughput")
_COUNTED = tuple(list(COLUMNS.values()).index(name) for name in ("D2H", "H2D", "syncs"))


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line and its rich style."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def print_summary(run: Run, console: Console, *, quiet: bool = False) -> None:
    """Print what a run found; ``quiet`` leaves out everything but what did not pass.

    Lines are never wrapped, so that ``file:line`` stays whole, and what the terminal's encoding lacks is
    written as an escape.
    """
    from rich.text import Text  # on use: see the module's docstring

    for line in summary_lines(build_page(run), quiet=quiet):
        spans = [(encodable(span.text, console.encoding), span.style) for span in line]
        console.print(Text.assemble(*spans), soft_wrap=True)


def summary_lines(page: Page, *, quiet: bool = False) -> tuple[Line, ...]:
    """The lines ``print_summary`` prints, without line breaks; none for a quiet run that passed."""
    passed = page.banner.mark.style == Outcome.PASSED.value
    if quiet:
        findings = [step for step in page.steps if step.mark.style in _FINDINGS]
        return () if passed else (*_verdict(page), *_steps(findings))
    return (
        *_verdict(page),
        *_table(page.cases),
        *_comparisons(page.comparisons),
        *_steps(page.steps),
        *((Span(f"note  {note}"),) for note in page.notes),
    )


_FINDINGS = frozenset(outcome.value for outcome in Outcome)
"""Marks of steps that report a finding, as against advice."""


def _verdict(page: Page) -> Iterator[Line]:
    top = page.banner
    yield (
        _marked(top.mark, top.mark.word.upper()),
        Span(f"  exit {top.exit_status}  evidence {top.evidence}  {top.checks}"),
    )
    yield (Span(f"  {top.reason}"),)


def _table(cases: Sequence[CaseView]) -> Iterator[Line]:
    """Cases under the names of their workloads; columns that are empty throughout are left out."""
    if not cases:
        return
    shown = cases[:_MOST_CASES]
    rows = [_HEADINGS, *(_cells(case) for case in shown)]
    used = [index for index in range(len(_HEADINGS)) if any(row[index] for row in rows[1:])]
    widths = {index: max(_width(row[index]) for row in rows) for index in used}
    heading, *texts = ("  ".join(_padded(row[i], widths[i]) for i in used).rstrip() for row in rows)
    yield ()
    yield (Span(f"    {heading}", "dim"),)
    workload = ""
    for case, text in zip(shown, texts, strict=True):
        if case.workload != workload:
            workload = case.workload
            yield (Span(f"  {workload}", "bold"),)
        yield (Span("  "), _marked(case.mark), Span(f" {text}"))
    if len(cases) > len(shown):
        left = cases[len(shown) :]
        state = "all passed" if all(case.passed for case in left) else "not all passed"
        yield (Span(f"  and {count_text(len(left), 'more case')}, {state}: see the report"),)


def _cells(case: CaseView) -> tuple[str, ...]:
    marks = [check.mark for check in case.values]
    values = max(marks, key=lambda mark: Outcome(mark.style).severity).sign if marks else ""
    label = shortened(case.case, limit=_LONGEST_CELL)
    rate = case.rates[0] if case.rates else ""
    return (label, values, *_whole_call(case.traffic), case.call_time, case.interval, rate)


def _whole_call(traffic: RecordView | None) -> tuple[str, ...]:
    if traffic is None or not traffic.rows:
        return ("unseen",) * len(_COUNTED)
    whole = traffic.rows[-1]
    texts = []
    for column in _COUNTED:
        exceeded = any(row.cells[column].exceeded for row in traffic.rows)
        sign = f" {Mark.of(Outcome.FAILED).sign}" if exceeded else ""
        texts.append(f"{whole.cells[column].observed}{sign}")
    return tuple(texts)


def _comparisons(found: Sequence[Comparison]) -> Iterator[Line]:
    for comparison in found[:_MOST_COMPARISONS]:
        yield ()
        yield (Span("before and after  ", "bold"), Span(comparison.cases_text))
        sides = {"before": comparison.before, "after": comparison.after}
        width = max(_width(side.label) for side in sides.values())
        for word, side in sides.items():
            label = _padded(side.label, width)
            yield (Span("  "), _marked(side.mark), Span(f" {word:<6}  {label}  {side.total}"))
            for line in side.lines[:1]:
                yield (Span(f"            {line.text}   {line.site}"),)
            if len(side.lines) > 1:
                yield (Span(f"            and {count_text(len(side.lines) - 1, 'more line')}"),)
    if len(found) > _MOST_COMPARISONS:
        more = count_text(len(found) - _MOST_COMPARISONS, "more comparison")
        yield (Span(f"  and {more} in the report"),)


def _steps(found: Sequence[Step]) -> Iterator[Line]:
    if not found:
        return
    yield ()
    yield (Span("what to do next", "bold"),)
    for number, step in enumerate(found[:_MOST_STEPS], start=1):
        yield (Span(f"  {number}. "), _marked(step.mark, step.title))
        if step.failure:
            yield from ((Span(f"     {line}"),) for line in step.failure.split("\n"))
        else:
            yield (Span(f"     {step.finding}"),)
            if step.evidence:
                yield (Span(f"     evidence  {step.evidence}"),)
        if step.action:
            yield (Span(f"     next      {step.action}"),)
    if len(found) > _MOST_STEPS:
        yield (Span(f"  and {len(found) - _MOST_STEPS:,} more in the report"),)


def _marked(mark: Mark, text: str = "") -> Span:
    return Span(f"{mark.sign} {text}" if text else mark.sign, _STYLES[mark.style])


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Terminal cells: two for East Asian wide characters, none for combining marks."""
    return sum(
        0
        if unicodedata.combining(character)
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )
