"""Before and after: a known-bad implementation beside the one under test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.model.timeline import Timeline
from harness.model.verdict import TrafficRecord, Verdict
from harness.report.view.cases import case_label
from harness.report.view.crossings import RecordView, record_view
from harness.report.view.timeline import timeline_view
from harness.report.view.timeline_shapes import TimelineView
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["Comparison", "comparisons"]

_MOST_DRAWN = 2_000
"""Events of all timelines of a page: as picture and table up to 700 B each, so a megabyte and a half at most."""

_NOT_DRAWN = (
    f"The timelines above have all of the {_MOST_DRAWN:,} events that a page draws; "
    "`harness trace` shows this one, too."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One known defect (``before``) and the implementation under test (``after``).

    ``cases`` are the cases of ``workload`` that showed exactly these counts and lines on both sides. ``timeline`` is
    that of the first of them, ``undrawn`` says why there is none where one was recorded.
    """

    workload: str
    cases: tuple[str, ...]
    cases_text: str
    before: RecordView
    after: RecordView
    timeline: TimelineView | None = None
    undrawn: str = ""


@dataclass(slots=True)
class _Alike:
    """The cases of one comparison, and the records of the first."""

    before: TrafficRecord
    after: TrafficRecord
    cases: list[str] = field(default_factory=list)


def comparisons(verdicts: Iterable[Verdict], *, relative_to: Path | None) -> tuple[Comparison, ...]:
    """One comparison per workload, defect and distinct traffic, in order of first appearance."""
    by_workload: dict[str, dict[tuple[RecordView, RecordView], _Alike]] = {}
    for verdict in verdicts:
        if verdict.traffic is None or not verdict.controls:
            continue
        after = replace(verdict.traffic, label=verdict.workload)  # cases differ in label only
        shown = record_view(after, relative_to=relative_to)
        group = by_workload.setdefault(verdict.workload, {})
        for control in verdict.controls:
            before = record_view(control, relative_to=relative_to)
            alike = group.setdefault((before, shown), _Alike(control, after))
            alike.cases.append(case_label(verdict))
    found, drawn = [], 0
    for workload, group in by_workload.items():
        for (before, shown), alike in group.items():
            timeline, size = _timeline(alike, most=_MOST_DRAWN - drawn, relative_to=relative_to)
            drawn += size
            found.append(
                Comparison(
                    workload=shortened(workload),
                    cases=tuple(alike.cases),
                    cases_text=_cases_text(alike.cases),
                    before=before,
                    after=shown,
                    timeline=timeline,
                    undrawn=_NOT_DRAWN if size and timeline is None else "",
                )
            )
    return tuple(found)


def _timeline(
    alike: _Alike, *, most: int, relative_to: Path | None
) -> tuple[TimelineView | None, int]:
    """The timeline of both records, and how many events it has; none where it has more than ``most``."""
    before, after = alike.before.timeline, alike.after.timeline
    if before is None or after is None:
        return None, 0
    size = _size(before) + _size(after)
    if size > most:
        return None, size
    sides = (alike.before.label, before), (alike.after.label, after)
    return timeline_view(*sides, relative_to=relative_to), size


def _size(timeline: Timeline) -> int:
    return len(timeline.events)


def _cases_text(cases: list[str]) -> str:
    more = f" and {count_text(len(cases) - 1, 'case')} alike" if len(cases) > 1 else ""
    return f"{cases[0]}{more}"
