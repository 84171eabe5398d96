"""What a run has shown so far, and the run that is made of it: at its end, or where it was stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

import harness
from harness.baseline.diff import Policy, compare_run
from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.model.baseline import Baseline
from harness.model.conditions import MatmulRate
from harness.model.environment import Environment
from harness.model.measurement import CopyBandwidth
from harness.model.outcome import Outcome
from harness.model.verdict import INTERRUPTED, CheckResult, Run, Verdict
from harness.session.bandwidth import canary, soft_fact, with_rates
from harness.session.traffic import FIRST_CALL
from harness.units import count_text

__all__ = ["Listener", "Plan", "PlannedWorkload", "Progress", "Record", "Terms"]

Progress = Callable[[str, int, int], None]
"""Called with the case about to start, its number from 0, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWorkload:
    """One workload and the names of the cases of it to run; ``whole`` says that these are all it has.

    ``target`` is what the command line calls it, where that is not its name.
    """

    name: str
    cases: tuple[str, ...]
    whole: bool
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is known of a run before its first case."""

    environment: Environment
    workloads: tuple[PlannedWorkload, ...]
    traffic_device: str
    timing_device: str
    notes: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """``workload/case`` of every case, in the order in which they are run."""
        return tuple(
            f"{workload.name}/{case}" for workload in self.workloads for case in workload.cases
        )

    def given(self, key: str) -> str:
        """How ``workload/case`` is written on the command line."""
        name, _, case = key.partition("/")
        targets = {workload.name: workload.target for workload in self.workloads}
        return f"{targets.get(name) or name}/{case}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a run is told under and held against: its command line, its seed, and a baseline."""

    command: str
    seed: int
    baseline: Baseline | None = None
    policy: Policy | None = None


class Listener(Protocol):
    """Whoever is told how the cases of a run go, in the order in which it happens."""

    def doing(self, what: str) -> None:
        """Something between the cases begins."""
        ...

    def begun(self, case: str) -> None:
        """A case begins."""
        ...

    def stage(self, what: str) -> None:
        """What is now being done about the case that runs."""
        ...

    def partly(self, verdict: Verdict) -> None:
        """So much has been found about the case that runs; more will come."""
        ...

    def found(self, verdict: Verdict) -> None:
        """The case is done."""
        ...

    def measured(
        self, copy: CopyBandwidth | None, matmul: MatmulRate | None, problems: Sequence[str]
    ) -> None:
        """How fast the timing device copies and multiplies, and why what is missing is not known."""
        ...


class Record:
    """A listener that keeps what it is told."""

    def __init__(
        self, progress: Progress, stage: Callable[[str], object] = lambda what: None
    ) -> None:
        self._progress, self._stage = progress, stage
        self._started = datetime.now(UTC)
        self._clock = time.perf_counter()
        self._copy: CopyBandwidth | None = None
        self._matmul: MatmulRate | None = None
        self._unmeasured: Sequence[str] = ()
        self.plan: Plan | None = None
        self.verdicts: list[Verdict] = []
        self.partial: Verdict | None = None

    @property
    def keys(self) -> frozenset[str]:
        """The cases that are done."""
        return frozenset(verdict.key for verdict in self.verdicts)

    @property
    def left(self) -> tuple[str, ...]:
        """The cases that were planned and are not done."""
        done = self.keys
        return tuple(key for key in (self.plan.keys if self.plan else ()) if key not in done)

    def doing(self, what: str) -> None:
        """Nothing to keep, only to be shown."""
        self._stage(what)

    def begun(self, case: str) -> None:
        """Pass it on to whoever shows progress."""
        self.partial = None
        self._progress(case, len(self.verdicts), len(self.verdicts) + max(1, len(self.left)))

    def stage(self, what: str) -> None:
        """Pass it on to whoever shows progress."""
        self._stage(what)

    def partly(self, verdict: Verdict) -> None:
        """Kept until the case is done, or for the case that never will be."""
        self.partial = verdict

    def found(self, verdict: Verdict) -> None:
        """Kept."""
        self.partial = None
        self.verdicts.append(verdict)

    def measured(
        self, copy: CopyBandwidth | None, matmul: MatmulRate | None, problems: Sequence[str]
    ) -> None:
        """The newest counts."""
        self._copy, self._matmul, self._unmeasured = copy, matmul, problems

    def run(self, terms: Terms, *, interrupted: bool = False) -> Run:
        """Everything so far, compared with the baseline; ``RuntimeError`` before there is a plan."""
        if self.plan is None:
            raise RuntimeError("a run without a plan has no environment to be told with")
        plan, copy = self.plan, self._copy
        environment = plan.environment
        if copy is not None:
            environment = replace(environment, soft={**environment.soft, **soft_fact(copy)})
        run = Run(
            run_id=self._started.strftime("%Y%m%dT%H%M%S")
            + f"{self._started.microsecond // 1000:03d}Z",
            created=self._started.isoformat(timespec="seconds"),
            command=terms.command,
            harness_version=harness.__version__,
            seed=terms.seed,
            environment=environment,
            verdicts=tuple(with_rates(verdict, copy) for verdict in self.verdicts),
            checks=(self._interrupted(),) if interrupted else (),
            baseline=terms.baseline.name if terms.baseline else None,
            notes=(*plan.notes, *_first_calls(self.verdicts), *self._unmeasured),
            copy_bandwidth=copy,
            matmul_rate=self._matmul,
        )
        run = _compared(run, terms, plan.workloads)
        return replace(run, duration_s=time.perf_counter() - self._clock)

    def _interrupted(self) -> CheckResult:
        done = len(self.verdicts)
        return CheckResult(
            check=INTERRUPTED,
            outcome=Outcome.INCONCLUSIVE,
            summary=f"interrupted after {done} of {done + len(self.left)} cases",
            evidence="the cases in this report were finished before"
            if done
            else "no case was finished",
            next_step="run again for the rest",
        )


def _first_calls(verdicts: Sequence[Verdict]) -> list[str]:
    """A word on every cold call over its budget: harmless once, unless every batch is a first."""
    return [
        f"{verdict.key}: {detail}"
        for verdict in verdicts
        for result in verdict.checks
        for detail in result.details
        if detail.startswith(FIRST_CALL)
    ]


def _compared(run: Run, terms: Terms, workloads: Sequence[PlannedWorkload]) -> Run:
    if terms.baseline is None:
        return run
    asked, left_out = _asked_for(terms.baseline, workloads, run)
    comparison = compare_run(run, asked, terms.policy)
    soft = terms.baseline.environment.soft
    seen = tuple(canary(run.copy_bandwidth, soft)) if run.copy_bandwidth is not None else ()
    verdicts = [
        _with_checks(verdict, _beside(comparison.cases.get(verdict.key, ()), seen))
        for verdict in run.verdicts
    ]
    cases = count_text(left_out, "case")
    notes = (
        [f"baseline {asked.name!r} has {cases} that this run did not ask for"] if left_out else []
    )
    return replace(
        run,
        verdicts=tuple(verdicts),
        checks=(*run.checks, *comparison.run),
        notes=(*run.notes, *notes),
        baseline_environment=terms.baseline.environment,
    )


def _asked_for(
    baseline: Baseline, workloads: Sequence[PlannedWorkload], run: Run
) -> tuple[Baseline, int]:
    """The baseline without the cases that nobody asked to run, and how many those are.

    A case that vanished from a workload which ran whole was asked for, and stays to be found missing.
    """
    ran = {verdict.key for verdict in run.verdicts}
    whole = {workload.name for workload in workloads if workload.whole}
    asked = [
        case for case in baseline.cases if case.key in ran or case.key.partition("/")[0] in whole
    ]
    return replace(baseline, cases=tuple(asked)), len(baseline.cases) - len(asked)


def _beside(checks: Sequence[CheckResult], seen: tuple[str, ...]) -> list[CheckResult]:
    """The checks; where speeds were compared, with what the canary saw as a detail, whatever the outcome."""
    return [
        replace(result, details=(*result.details, *seen))
        if result.check == THROUGHPUT_CHECK and result.evidence
        else result
        for result in checks
    ]


def _with_checks(verdict: Verdict, checks: Sequence[CheckResult]) -> Verdict:
    return replace(verdict, checks=(*verdict.checks, *checks))
