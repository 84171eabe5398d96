"""The cases of a run as a table on a terminal, in as many columns as fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.model.outcome import Outcome
from harness.report.layout import Line, Span, cell_width, fitted
from harness.report.view.cases import CaseView
from harness.report.view.crossings import COLUMNS, RecordView
from harness.report.view.mark import Mark
from harness.units import count_text

__all__ = ["MOST_CASES", "STYLES", "case_table", "marked"]

STYLES = {
    Outcome.PASSED.value: "green",
    Outcome.SKIPPED.value: "dim",
    Outcome.INCONCLUSIVE.value: "yellow",
    Outcome.FAILED.value: "bold red",
    "advice": "cyan",
}
"""Rich styles by ``Mark.style``; the sign beside each says the same without colour."""

MOST_CASES = 20
"""With the verdict above and the comparison below them, what fits a terminal of 40 lines."""

_SHORTEST_LABEL = 12
"""What is left of the name of a case on the narrowest terminal."""

_BEFORE_TIMES = ("case", "values", "D2H", "H2D", "syncs")
_TIMES = ("call time", "interval", "throughput", "bandwidth")
_COMPARED = ("baseline", "now", "ratio", "interval", "change", "throughput", "bandwidth")
_COUNTED = tuple(list(COLUMNS.values()).index(name) for name in ("D2H", "H2D", "syncs"))
_LEFT_OUT_FIRST = ("interval", "bandwidth", "throughput", "call time")
"""What a narrow terminal does without: the report has all of it, and none of it decides a case."""

_LEFT_OUT_OF_A_COMPARISON = ("bandwidth", "throughput", "change", "baseline", "now", "interval")
"""The same where cases are held against a baseline: the ratio is what they are compared for."""

_BETWEEN = "  "
_INDENT = 4


def marked(mark: Mark, text: str = "") -> Span:
    """The sign of a mark in its colour, before ``text`` where given."""
    return Span(f"{mark.sign} {text}" if text else mark.sign, STYLES[mark.style])


def case_table(
    cases: Sequence[CaseView], width: int | None, *, most: int = MOST_CASES
) -> Iterator[Line]:
    """Cases under the names of their workloads, the worst ``most`` where there are more.

    Columns that are empty throughout are left out, and those that do not fit ``width``.
    """
    if not cases:
        return
    by_workload: dict[str, list[CaseView]] = {}
    for case in cases[:most]:
        by_workload.setdefault(case.workload, []).append(case)
    shown = [case for group in by_workload.values() for case in group]
    compared = any(case.speed is not None for case in cases)
    headings = (*_BEFORE_TIMES, *(_COMPARED if compared else _TIMES))
    watched = not compared or any(case.traffic is not None for case in cases)
    rows_of_cells = [_cells(case, compared=compared, watched=watched) for case in shown]
    heading, *texts = _aligned([headings, *rows_of_cells], width)
    yield Line((Span(" " * _INDENT + heading, "dim"),))
    rows = iter(texts)
    for workload, group in by_workload.items():
        yield Line((Span(f"  {workload}", "bold"),))
        for case, text in zip(group, rows, strict=False):
            yield Line((Span("  "), marked(case.mark), Span(f" {text}")))
    left = cases[len(shown) :]
    if left:
        state = "all passed" if all(case.passed for case in left) else "not all passed"
        yield Line((Span(f"  and {count_text(len(left), 'more case')}, {state}: see the report"),))


def _aligned(rows: Sequence[tuple[str, ...]], width: int | None) -> Iterator[str]:
    widths = {
        heading: max(cell_width(row[index]) for row in rows)
        for index, heading in enumerate(rows[0])
        if any(row[index] for row in rows[1:])
    }
    if width is not None:
        _narrow(widths, width - _INDENT)
    for row in rows:
        cells = [
            fitted(text, widths[heading])
            for heading, text in zip(rows[0], row, strict=True)
            if heading in widths
        ]
        yield _BETWEEN.join(cells).rstrip()


def _narrow(widths: dict[str, int], room: int) -> None:
    """Take out columns, then cut the names of the cases, until the rest fits."""
    for heading in _LEFT_OUT_OF_A_COMPARISON if "ratio" in widths else _LEFT_OUT_FIRST:
        if _total(widths) > room:
            widths.pop(heading, None)
    excess = max(0, _total(widths) - room)
    widths["case"] = max(min(widths["case"], _SHORTEST_LABEL), widths["case"] - excess)


def _total(widths: dict[str, int]) -> int:
    return sum(widths.values()) + len(_BETWEEN) * (len(widths) - 1)


def _cells(case: CaseView, *, compared: bool, watched: bool) -> tuple[str, ...]:
    marks = [check.mark for check in case.values]
    values = max(marks, key=lambda mark: mark.severity).sign if marks else ""
    traffic = _whole_call(case.traffic) if watched else ("",) * len(_COUNTED)
    times = _change(case) if compared else (case.call_time, case.interval or case.few_values)
    rates = ("".join(case.rates[:1]), ", ".join(case.rates[1:]))
    return (case.name, values, *traffic, *times, *rates)


def _change(case: CaseView) -> tuple[str, ...]:
    """Baseline, now, ratio with its interval, decision; of what was timed and not compared, the time alone."""
    speed = case.speed
    if speed is None:
        return ("", case.call_time, "", "" if case.interval else case.few_values, "")
    return (speed.baseline, case.call_time, speed.ratio, speed.interval, speed.decision)


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
