"""Before and after: a known-bad implementation beside the one under test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.model.verdict import TrafficRecord, Verdict
from harness.report.view.cases import case_label
from harness.report.view.crossings import RecordView, record_view
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["Comparison", "comparisons"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One known defect (``before``) and the implementation under test (``after``).

    ``cases`` are the cases of ``workload`` that showed exactly these counts and lines on both sides.
    """

    workload: str
    cases: tuple[str, ...]
    cases_text: str
    before: RecordView
    after: RecordView


def comparisons(verdicts: Iterable[Verdict], *, relative_to: Path | None) -> tuple[Comparison, ...]:
    """One comparison per workload, defect and distinct traffic, in order of first appearance."""
    by_workload: dict[str, list[_Alike]] = {}
    for verdict in verdicts:
        if verdict.traffic is None:
            continue
        groups = by_workload.setdefault(verdict.workload, [])
        for control in verdict.controls:
            after = replace(verdict.traffic, label=verdict.workload)  # cases differ in label only
            group = _Alike(before=control, after=after, cases=[])
            known = next((other for other in groups if other.looks_like(group)), None)
            if known is None:
                groups.append(known := group)
            known.cases.append(case_label(verdict))
    return tuple(
        _comparison(workload, group, relative_to)
        for workload, groups in by_workload.items()
        for group in groups
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alike:
    """Cases being gathered because both sides of them look the same."""

    before: TrafficRecord
    after: TrafficRecord
    cases: list[str]

    def looks_like(self, other: _Alike) -> bool:
        return self.before == other.before and self.after == other.after


def _comparison(workload: str, group: _Alike, relative_to: Path | None) -> Comparison:
    cases = tuple(group.cases)
    more = f" and {count_text(len(cases) - 1, 'case')} alike" if len(cases) > 1 else ""
    return Comparison(
        workload=shortened(workload),
        cases=cases,
        cases_text=f"{cases[0]}{more}",
        before=record_view(group.before, relative_to=relative_to),
        after=record_view(group.after, relative_to=relative_to),
    )
