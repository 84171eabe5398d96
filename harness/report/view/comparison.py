"""Before and after: a known-bad implementation beside the one under test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.model.verdict import Verdict
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
    alike: dict[tuple[str, RecordView, RecordView], list[str]] = {}
    for verdict in verdicts:
        if verdict.traffic is None or not verdict.controls:
            continue
        after = replace(verdict.traffic, label=verdict.workload)  # cases differ in label only
        shown = record_view(after, relative_to=relative_to)
        for control in verdict.controls:
            before = record_view(control, relative_to=relative_to)
            alike.setdefault((verdict.workload, before, shown), []).append(case_label(verdict))
    by_workload: dict[str, list[Comparison]] = {}
    for (workload, before, shown), cases in alike.items():
        found = Comparison(
            workload=shortened(workload),
            cases=tuple(cases),
            cases_text=_cases_text(cases),
            before=before,
            after=shown,
        )
        by_workload.setdefault(workload, []).append(found)
    return tuple(found for group in by_workload.values() for found in group)


def _cases_text(cases: list[str]) -> str:
    more = f" and {count_text(len(cases) - 1, 'case')} alike" if len(cases) > 1 else ""
    return f"{cases[0]}{more}"
