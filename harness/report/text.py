"""A run on a terminal: one screen, aligned, plain when piped, and the text of a failed check.

Lines are built as plain data and need no terminal; rich is imported only to print them, since the pytest
plugin loads this module for ``failure_text`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.model.outcome import Outcome
from harness.model.verdict import Run
from harness.report.failure import failure_text
from harness.report.layout import Line, Span, cell_width, padded, sentence, wrapped
from harness.report.table import case_table, marked
from harness.report.view.comparison import Comparison
from harness.report.view.page import Page, build_page
from harness.report.view.selfcheck import self_check_text
from harness.report.view.steps import Step
from harness.report.wording import encodable
from harness.units import count_text

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["failure_text", "print_summary", "summary_lines"]

_MOST_STEPS = 5
"""Each takes four to ten lines, and the first is the one to act on."""

_MOST_COMPARISONS = 2
"""One per built-in workload."""

_MOST_NOTES = 5
"""Enough for every kind of note; the same note about hundreds of cases is told in the report."""

_NUMBERED = re.compile(r" *\d+\. ")
"""A line of code in the text of a failure."""

_LABELLED = re.compile(r" *(?:allowed|observed|note|also|evidence|next) +")

_BLANK = Line()


def print_summary(run: Run, console: Console, *, quiet: bool = False) -> None:
    """Print what a run found; ``quiet`` leaves out everything but what did not pass.

    On a terminal, columns that do not fit are left out and sentences are wrapped; lines with ``file:line``
    stay whole. Piped, nothing depends on a width. What the encoding lacks is written as an escape.
    """
    from rich.text import Text  # on use: see the module's docstring

    width = console.width if console.is_terminal else None
    for line in summary_lines(build_page(run), quiet=quiet, width=width):
        spans = [(encodable(span.text, console.encoding), span.style) for span in line.spans]
        console.print(Text.assemble(*spans), soft_wrap=True)


def summary_lines(page: Page, *, quiet: bool = False, width: int | None = None) -> tuple[Line, ...]:
    """The lines ``print_summary`` prints, without line breaks; none for a quiet run that passed.

    ``width`` is that of a terminal, ``None`` where lines may have any length.
    """
    parts = _findings(page) if quiet else _everything(page, width)
    return tuple(fitted for line in parts for fitted in wrapped(line, width))


def _everything(page: Page, width: int | None) -> Iterator[Line]:
    yield from _verdict(page)
    if page.cases:
        yield _BLANK
    yield from case_table(page.cases, width)
    yield from _comparisons(page.comparisons)
    yield from _steps(page.steps)
    yield from _machine(page)
    yield from _notes(page.notes)


def _findings(page: Page) -> Iterator[Line]:
    if page.banner.mark.style != Outcome.PASSED.value:
        yield from _verdict(page)
        yield from _steps([step for step in page.steps if step.check])


def _verdict(page: Page) -> Iterator[Line]:
    top = page.banner
    facts = f"exit {top.exit_status}  evidence {top.evidence}  {top.checks}"
    yield Line((marked(top.mark, top.mark.word.upper()), Span("  "), Span(facts)), hanging=2)
    yield sentence("  ", top.reason)


def _comparisons(found: Sequence[Comparison]) -> Iterator[Line]:
    for comparison in found[:_MOST_COMPARISONS]:
        yield _BLANK
        yield Line((Span("before and after  ", "bold"), Span(comparison.cases_text)), hanging=18)
        sides = {"before": comparison.before, "after": comparison.after}
        label_width = max(cell_width(side.label) for side in sides.values())
        for word, side in sides.items():
            label = padded(side.label, label_width)
            text = f"{label}  {side.total}"
            yield Line((Span("  "), marked(side.mark), Span(f" {word:<6}  "), Span(text)), 12)
            for line in side.lines[:1]:
                yield Line((Span(f"            {line.text}   {line.site}"),))
            if len(side.lines) > 1:
                yield sentence(" " * 12, f"and {count_text(len(side.lines) - 1, 'more line')}")
    if len(found) > _MOST_COMPARISONS:
        more = count_text(len(found) - _MOST_COMPARISONS, "more comparison")
        yield sentence("  ", f"and {more} in the report")


def _steps(found: Sequence[Step]) -> Iterator[Line]:
    if not found:
        return
    yield _BLANK
    yield Line((Span("what to do next", "bold"),))
    for number, step in enumerate(found[:_MOST_STEPS], start=1):
        yield Line((Span(f"  {number}. "), marked(step.mark, step.title)), hanging=7)
        if step.failure:
            yield from map(_failure_line, step.failure.split("\n"))
        else:
            yield sentence("     ", step.finding)
            if step.evidence:
                yield sentence("     evidence  ", step.evidence)
        if step.action:
            yield sentence("     next      ", step.action)
    if len(found) > _MOST_STEPS:
        yield sentence("  ", f"and {len(found) - _MOST_STEPS:,} more in the report")


def _failure_line(text: str) -> Line:
    """A line of ``failure_text``, wrapped beside its label unless it is a line of code."""
    if _NUMBERED.match(text):
        return Line((Span(f"     {text}"),))
    label = _LABELLED.match(text)
    start = label.end() if label else 0
    return sentence(f"     {text[:start]}", text[start:])


def _machine(page: Page) -> Iterator[Line]:
    """How fast it copies and what it can tell apart, where something was timed."""
    if page.copies or page.self_check is not None:
        yield _BLANK
    if page.copies:
        yield sentence("copy bandwidth  ", page.copies)
    if page.self_check is not None:
        yield sentence("self-check      ", self_check_text(page.self_check))


def _notes(notes: Sequence[str]) -> Iterator[Line]:
    for note in notes[:_MOST_NOTES]:
        yield sentence("note  ", note)
    if len(notes) > _MOST_NOTES:
        yield sentence("note  ", f"and {len(notes) - _MOST_NOTES:,} more in the report")
