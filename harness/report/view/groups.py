"""Cases under their workload, and what most of them have in common said once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from harness.report.view.cases import CaseView, Fact

__all__ = ["CaseGroup", "CaseRow", "grouped", "worst_first"]


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case and those of its parameters that are not the usual ones of its workload."""

    case: CaseView
    parameters: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGroup:
    """The cases of one workload, the worst first, of those alike the slowest against its baseline.

    ``usual`` are the parameters that every case has and most agree on; a row that does not repeat one agrees.
    """

    workload: str
    usual: tuple[Fact, ...]
    without_exception: bool
    rows: tuple[CaseRow, ...]


def grouped(cases: Iterable[CaseView]) -> tuple[CaseGroup, ...]:
    """One group per workload, the one with the worst case first, otherwise in order."""
    by_workload: dict[str, list[CaseView]] = {}
    for case in cases:
        by_workload.setdefault(case.workload, []).append(case)
    groups = [_group(workload, found) for workload, found in by_workload.items()]
    return tuple(sorted(groups, key=lambda group: worst_first(group.rows[0].case)))


def worst_first(case: CaseView) -> tuple[int, float]:
    """Sorts by outcome, then by how much slower a case became; those that were not compared come after."""
    return -case.mark.severity, -case.speed.value if case.speed is not None else 0.0


def _group(workload: str, cases: list[CaseView]) -> CaseGroup:
    usual = _usual(cases)
    rows = tuple(
        CaseRow(case, tuple(fact for fact in case.parameters if fact not in usual))
        for case in sorted(cases, key=worst_first)
    )
    names = {fact.name for fact in usual}
    exceptions = any(fact.name in names for row in rows for fact in row.parameters)
    return CaseGroup(workload=workload, usual=usual, without_exception=not exceptions, rows=rows)


def _usual(cases: list[CaseView]) -> tuple[Fact, ...]:
    """Per parameter of all cases the value that more than half of them have, in order of the first case."""
    has = Counter(name for case in cases for name in {fact.name for fact in case.parameters})
    values = Counter(fact for case in cases for fact in set(case.parameters))
    by_name = {
        fact.name: fact
        for fact, count in values.items()
        if has[fact.name] == len(cases) and 2 * count > len(cases)
    }
    order = dict.fromkeys(fact.name for fact in cases[0].parameters)
    return tuple(by_name[name] for name in order if name in by_name)
