"""The cases to compare, and what is known of each so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.errors import WorkloadError
from harness.model.measurement import Sample
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Verdict
from harness.model.workload import Case
from harness.session.catalogue import BUILT_IN, Selection, load_workload, select
from harness.session.declared import Declared, declared_by
from harness.session.verify import faulty
from harness.stats.bootstrap import median_interval
from harness.units import count_text

__all__ = ["Record", "Subject", "broken", "chosen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One case: ``target`` is what its workload is loaded by, ``whole`` whether all cases were asked for."""

    target: str
    selection: Selection
    case: Case
    declared: Declared

    @property
    def key(self) -> str:
        """``workload/case``."""
        return f"{self.selection.name}/{self.case.name}"

    @property
    def module(self) -> str:
        """The module its workload is imported from."""
        return BUILT_IN.get(self.target, self.target).partition(":")[0]


@dataclass(slots=True)
class Record:
    """What has been found about a subject; ``samples`` has one entry per process that held both versions.

    ``apart``: per pair of processes, since they cannot live in one or an interpreter was given for the baseline.

    ``ended`` is the result that keeps it from being timed (any further). ``details`` are what a reader should
    know of the baseline's side. ``timed_s`` were spent on timing, ``visited_s`` by each pair on everything.
    """

    subject: Subject
    samples: list[Sample] = field(default_factory=list)
    checks: list[CheckResult] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    ended: CheckResult | None = None
    precise: bool = False
    apart: bool = False
    timed_s: float = 0.0
    visited_s: list[float] = field(default_factory=list)

    def part(self) -> None:
        """Give each version a process of its own, and forget what was found in shared ones."""
        self.apart = True
        self.samples.clear()
        self.checks.clear()
        self.details.clear()
        self.precise, self.timed_s = False, 0.0

    def sample(self) -> Sample | None:
        """All pairs of processes as one sample, the values of each process marked."""
        if not self.samples:
            return None
        starts = [0]
        for each in self.samples[:-1]:
            starts.append(starts[-1] + len(each.call_ns))
        return replace(
            self.samples[0],
            call_ns=tuple(value for each in self.samples for value in each.call_ns),
            peer_ns=tuple(value for each in self.samples for value in each.peer_ns),
            warmup_calls=sum(each.warmup_calls for each in self.samples),
            process_starts=tuple(starts),
        )

    def verdict(self, speed: CheckResult | None, device: str) -> Verdict:
        """The record as it goes into the report, with what was decided about its speed."""
        sample, declared = self.sample(), self.subject.declared
        results = [*self.checks, speed, self.ended]
        return Verdict(
            workload=self.subject.selection.name,
            case=self.subject.case.name,
            parameters=declared.parameters,
            checks=tuple(each for each in results if each is not None),
            timing_device=device if sample is not None else "",
            sample=sample,
            call_time=median_interval(sample.call_ns) if sample is not None else None,
            throughput=declared.throughput,
        )


def chosen(names: Sequence[str]) -> tuple[list[Record], list[Verdict], list[str]]:
    """The timed cases that ``names`` ask for, verdicts on what cannot be timed, and notes.

    Raises ``UsageError`` as ``select`` does.
    """
    targets = _targets(names)
    records: list[Record] = []
    verdicts: list[Verdict] = []
    untimed = 0
    for selection in select(names):
        if selection.workload is None:
            verdicts.append(faulty(selection.name, selection.fault))
        for case in selection.cases:
            try:
                declared = declared_by(case)
            except WorkloadError as error:
                verdicts.append(_verdict(selection, case, broken(error, Outcome.FAILED)))
                continue
            if declared.timed:
                target = targets[selection.name]
                records.append(
                    Record(
                        Subject(target=target, selection=selection, case=case, declared=declared)
                    )
                )
            elif selection.whole:
                untimed += 1
            else:
                verdicts.append(_verdict(selection, case, _UNTIMED))
    return records, verdicts, _left_out(untimed)


def _left_out(count: int) -> list[str]:
    if not count:
        return []
    words = ("that is", "was") if count == 1 else ("that are", "were")
    return [f"{count_text(count, 'case')} {words[0]} not timed {words[1]} left out"]


_UNTIMED = CheckResult(
    check=THROUGHPUT_CHECK,
    outcome=Outcome.SKIPPED,
    summary="the case says that it is not worth timing",
    evidence="its attribute `timed`",
    next_step="compare another case, or set timed to True",
)


def broken(error: Exception, outcome: Outcome, *, next_step: str = "") -> CheckResult:
    """The result of a case that could not be run at all."""
    return CheckResult(
        check="run",
        outcome=outcome,
        summary=str(error),
        evidence="what the workload declares, raises or returns",
        next_step=next_step or "see it alone with: harness run --debug",
    )


def _verdict(selection: Selection, case: Case, result: CheckResult) -> Verdict:
    return Verdict(workload=selection.name, case=case.name, parameters={}, checks=(result,))


def _targets(names: Sequence[str]) -> dict[str, str]:
    """Workload names to what they are loaded by; those that cannot be loaded have no case to ask for."""
    found = {}
    for name in names or tuple(BUILT_IN):
        target = name.partition("/")[0]
        try:
            found[load_workload(target).name] = target
        except WorkloadError:
            continue
    return found
