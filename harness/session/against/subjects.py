"""The cases to compare, and what is known of each so far."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.errors import WorkloadError
from harness.model.measurement import Sample, Throughput
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Verdict
from harness.model.workload import Case
from harness.session.catalogue import BUILT_IN, Selection
from harness.session.declared import Declared, declared_by
from harness.session.verify import faulty
from harness.stats.bootstrap import median_interval
from harness.units import count_text

__all__ = ["Candidate", "Chosen", "Record", "Subject", "broken", "chosen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One case, by what it is called and declares, without anything of its code.

    ``target`` is what its workload is loaded by.
    """

    target: str
    workload: str
    case: str
    parameters: Mapping[str, str]
    throughput: Throughput | None
    margin: float | None

    @property
    def key(self) -> str:
        """``workload/case``."""
        return f"{self.workload}/{self.case}"

    @property
    def given(self) -> str:
        """How the command line calls it."""
        return f"{self.target}/{self.case}"

    @property
    def module(self) -> str:
        """The module its workload is imported from."""
        return BUILT_IN.get(self.target, self.target).partition(":")[0]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A subject with its code."""

    subject: Subject
    case: Case
    declared: Declared


@dataclass(frozen=True, slots=True)
class Chosen:
    """The timed cases among those asked for, verdicts on what cannot be timed, and what is to be noted."""

    candidates: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]


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
        sample, subject = self.sample(), self.subject
        results = [*self.checks, speed, self.ended]
        return Verdict(
            workload=subject.workload,
            case=subject.case,
            parameters=subject.parameters,
            checks=tuple(each for each in results if each is not None),
            timing_device=device if sample is not None else "",
            sample=sample,
            call_time=median_interval(sample.call_ns) if sample is not None else None,
            throughput=subject.throughput,
        )


def _nobody(workload: str) -> None:
    """Nobody wants to know."""


def chosen(selections: Sequence[Selection], about: Callable[[str], object] = _nobody) -> Chosen:
    """Which cases of ``selections`` are to be timed; ``about`` is told each workload before its cases are read."""
    candidates: list[Candidate] = []
    verdicts: list[Verdict] = []
    untimed = 0
    for selection in selections:
        about(selection.target or selection.name)
        if selection.workload is None:
            verdicts.append(faulty(selection.name, selection.fault))
        for case in selection.cases:
            try:
                declared = declared_by(case)
            except WorkloadError as error:
                result = broken(error, Outcome.FAILED, given=selection.given(case.name))
                verdicts.append(_verdict(selection, case, result))
                continue
            if declared.timed:
                candidates.append(Candidate(_subject(selection, case, declared), case, declared))
            elif selection.whole:
                untimed += 1
            else:
                verdicts.append(_verdict(selection, case, _UNTIMED))
    return Chosen(tuple(candidates), tuple(verdicts), tuple(_left_out(untimed)))


def _subject(selection: Selection, case: Case, declared: Declared) -> Subject:
    return Subject(
        target=selection.target or selection.name,
        workload=selection.name,
        case=case.name,
        parameters=dict(declared.parameters),
        throughput=declared.throughput,
        margin=declared.margin,
    )


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


def broken(error: Exception, outcome: Outcome, *, given: str, next_step: str = "") -> CheckResult:
    """The result of a case that could not be run at all; ``given`` is how the command line calls it."""
    return CheckResult(
        check="run",
        outcome=outcome,
        summary=str(error),
        evidence="what the workload declares, raises or returns",
        next_step=next_step or f"see it alone with: harness run --debug {shlex.quote(given)}",
    )


def _verdict(selection: Selection, case: Case, result: CheckResult) -> Verdict:
    return Verdict(workload=selection.name, case=case.name, parameters={}, checks=(result,))
