"""What was accepted for a while: each waiver with what it covers now, why, and for how long already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from harness.checks.waivers import day_text
from harness.model.verdict import CheckResult, Run
from harness.model.waiver import Waiver
from harness.report.view.cases import Link, anchors, case_label
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["WaivedFinding", "found_text", "waived_count", "waived_findings"]

_LONGEST_FOUND = 400
"""Five lines of a page; the section of the case has all of it."""

_FOUND = "found, "
"""How the first detail of a waived result begins, which keeps what was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaivedFinding:
    """One finding that a waiver covers, with all cases it was made in.

    ``age`` is as of the run, ``until`` says when the waiver ends.
    """

    check: str
    found: str
    reason: str
    since: str
    age: str
    until: str
    cases: tuple[Link, ...]


def waived_findings(run: Run) -> tuple[WaivedFinding, ...]:
    """Every finding that a waiver keeps from counting, the oldest waiver first, each once for all its cases."""
    alike: dict[tuple[Waiver, str], dict[Link, None]] = {}
    for result, link in _waived(run):
        if result.waiver is not None:
            alike.setdefault((result.waiver, found_text(result)), {})[link] = None
    oldest_first = sorted(alike.items(), key=lambda item: item[0][0].since)
    return tuple(
        _finding(waiver, found, tuple(cases), run) for (waiver, found), cases in oldest_first
    )


def waived_count(run: Run) -> int:
    """How many findings do not count; each is one of the skipped checks."""
    return sum(1 for _ in _waived(run))


def _waived(run: Run) -> Iterable[tuple[CheckResult, Link]]:
    for verdict, anchor in zip(run.verdicts, anchors(run.verdicts), strict=True):
        for result in verdict.checks:
            if result.waiver is not None:
                yield result, Link(case_label(verdict), anchor)


def found_text(result: CheckResult) -> str:
    """What a waived check found, ``failed: 2.00x the time``, word for word; where it kept nothing, its summary."""
    kept = next((detail for detail in result.details if detail.startswith(_FOUND)), "")
    return kept.removeprefix(_FOUND) or result.summary


def _finding(waiver: Waiver, found: str, cases: tuple[Link, ...], run: Run) -> WaivedFinding:
    return WaivedFinding(
        check=shortened(waiver.check),
        found=shortened(found, limit=_LONGEST_FOUND),
        reason=shortened(waiver.reason, limit=_LONGEST_FOUND),
        since=_day(waiver.since),
        age=_age(waiver.since, run.created),
        until=_day(waiver.until) if waiver.until else "without an end",
        cases=cases,
    )


def _day(text: str) -> str:
    """A date in words; a file that was written by hand may hold anything."""
    day = _date(text)
    return day_text(day) if day is not None else shortened(text)


def _age(since: str, now: str) -> str:
    begun, today = _date(since), _date(now[: len("2026-01-31")])
    if begun is None or today is None:
        return "age unknown"
    return count_text(max(0, (today - begun).days), "day")


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
