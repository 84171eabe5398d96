"""A run on a terminal: one screen, aligned, plain when piped, and the text of a failed check.

Lines are built as plain data and need no terminal; rich is imported only to print them, since the pytest
plugin loads this module for ``failure_text`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from harness.model.outcome import Outcome
from harness.model.verdict import Run
from harness.report.failure import failure_text
from harness.report.layout import Line, Span, cell_width, padded, sentence, wrapped
from harness.report.table import MOST_CASES, case_table, marked
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

_CODE = re.compile(r"(.*?\S *) {3}(\S.*)")
"""... what happened, filled up to the longest of its block, and where."""

_LABELLED = re.compile(r" *(?:allowed|observed|note|also|evidence|next) +")

_FEWEST_CASES = 5
"""Of a table on the lowest terminal."""

_BELOW = 3
"""Lines below the summary: where the report is, perhaps a warning, and the prompt."""

_LEFT_OUT_FIRST = ("notes", "copy bandwidth and self-check", "before and after", "advice")
"""What a low terminal does without; what did not pass, and which cases there were, are never left out."""

_FINDINGS = "what to do next"

_BLANK = Line()


def print_summary(run: Run, console: Console, *, quiet: bool = False) -> None:
    """Print what a run found; ``quiet`` leaves out everything but what did not pass.

    On a terminal, columns that do not fit are left out and sentences are wrapped; lines with ``file:line``
    stay whole. Piped, nothing depends on a width. What the encoding lacks is written as an escape.
    """
    from rich.text import Text  # on use: see the module's docstring

    terminal = console.is_terminal
    width, height = (console.width, console.height) if terminal else (None, None)
    for line in summary_lines(build_page(run), quiet=quiet, width=width, height=height):
        spans = [(encodable(span.text, console.encoding), span.style) for span in line.spans]
        console.print(Text.assemble(*spans), soft_wrap=True)


def summary_lines(
    page: Page, *, quiet: bool = False, width: int | None = None, height: int | None = None
) -> tuple[Line, ...]:
    """The lines ``print_summary`` prints, without line breaks; none for a quiet run that passed.

    ``width`` and ``height`` are those of a terminal, ``None`` where lines may have any length and number. What passed
    gives way to what did not where both do not fit, and a last line says what is left to the report.
    """
    if quiet:
        return _wrapped(_findings(page), width)
    parts = {name: _wrapped(lines, width) for name, lines in _parts(page, width, height).items()}
    left_out = _make_fit(parts, page, width, height) if height is not None else []
    lines = [line for part in parts.values() for line in part]
    if left_out:
        lines += _wrapped([_BLANK, sentence("in the report  ", ", ".join(left_out))], width)
    return tuple(lines)


def _make_fit(
    parts: dict[str, tuple[Line, ...]], page: Page, width: int | None, height: int
) -> list[str]:
    """Take out parts, then the last of the findings, until the rest fits; the names of the parts in their order."""
    room = height - _BELOW
    left_out: list[str] = []

    def excess() -> bool:
        line_about_it = 2 if left_out else 0
        return sum(map(len, parts.values())) + line_about_it > room

    for name in _LEFT_OUT_FIRST:
        if excess() and parts[name]:
            left_out.append(name)
            parts[name] = ()
    for most in range(_MOST_STEPS - 1, 0, -1):
        if excess():
            parts[_FINDINGS] = _wrapped(_steps(_found(page), most=most), width)
    return [name for name in parts if name in left_out]


def _wrapped(lines: Iterable[Line], width: int | None) -> tuple[Line, ...]:
    return tuple(fitted for line in lines for fitted in wrapped(line, width))


def _parts(page: Page, width: int | None, height: int | None) -> dict[str, Iterable[Line]]:
    """Everything there is to say, in order, by the name it is referred to where it is left out."""
    most = MOST_CASES if height is None else max(_FEWEST_CASES, min(MOST_CASES, height // 2))
    return {
        "the verdict": _verdict(page),
        "the cases": (
            *([_BLANK] if page.cases else []),
            *case_table(page.cases, width, most=most),
        ),
        "before and after": _comparisons(page.comparisons),
        _FINDINGS: _steps(_found(page)),
        "advice": _steps([step for step in page.steps if not step.check]),
        "copy bandwidth and self-check": _machine(page),
        "notes": _notes(page.notes),
    }


def _found(page: Page) -> list[Step]:
    """The steps that are no advice."""
    return [step for step in page.steps if step.check]


def _findings(page: Page) -> Iterator[Line]:
    if page.banner.mark.style != Outcome.PASSED.value:
        yield from _verdict(page)
        yield from _steps(_found(page))


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
                yield Line((Span(f"{'':12}{line.text}"),), hanging=14, site=line.site)
            if len(side.lines) > 1:
                yield sentence(" " * 12, f"and {count_text(len(side.lines) - 1, 'more line')}")
    if len(found) > _MOST_COMPARISONS:
        more = count_text(len(found) - _MOST_COMPARISONS, "more comparison")
        yield sentence("  ", f"and {more} in the report")


def _steps(found: Sequence[Step], *, most: int = _MOST_STEPS) -> Iterator[Line]:
    if not found:
        return
    yield _BLANK
    yield Line((Span("what to do next", "bold"),))
    for number, step in enumerate(found[:most], start=1):
        yield Line((Span(f"  {number}. "), marked(step.mark, step.title)), hanging=7)
        if step.failure:
            yield from map(_failure_line, step.failure.split("\n"))
        else:
            yield sentence("     ", step.finding)
            if step.evidence:
                yield sentence("     evidence  ", step.evidence)
        if step.action:
            yield sentence("     next      ", step.action)
    if len(found) > most:
        yield sentence("  ", f"and {len(found) - most:,} more in the report")


def _failure_line(text: str) -> Line:
    """A line of ``failure_text``, wrapped beside its label unless it is a line of code."""
    if _NUMBERED.match(text):
        code = _CODE.fullmatch(text)
        what, site = code.groups() if code else (text, "")
        return Line((Span(f"     {what}"),), hanging=10, site=site)
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
    if notes:
        yield _BLANK
    for note in notes[:_MOST_NOTES]:
        yield sentence("note  ", note)
    if len(notes) > _MOST_NOTES:
        yield sentence("note  ", f"and {len(notes) - _MOST_NOTES:,} more in the report")
