"""What the checks found: one result per check, one verdict per case, one record per run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.errors import ExitCode
from harness.model.budget import Limit, Violation
from harness.model.conditions import ConditionSample, MatmulRate
from harness.model.environment import Environment
from harness.model.error_map import ErrorMap
from harness.model.history import CaseHistory
from harness.model.measurement import (
    CopyBandwidth,
    Estimate,
    Rates,
    Sample,
    SpeedChange,
    Throughput,
)
from harness.model.outcome import Evidence, Outcome, worst
from harness.model.selfcheck import SelfCheck
from harness.model.timeline import Timeline
from harness.model.trace import TrafficCounts
from harness.model.traffic import TrafficLine
from harness.model.training import Training
from harness.model.waiver import Waiver

__all__ = [
    "INTERRUPTED",
    "SCHEMA_VERSION",
    "TIMING_CONDITIONS",
    "CheckResult",
    "Run",
    "TrafficRecord",
    "Verdict",
]

INTERRUPTED = "interrupted"
"""The check by which a run says that it was stopped before its end."""

TIMING_CONDITIONS = "timing conditions"
"""The check of whether a GPU was held back or shared while it was timed; where it did not pass, slow timings may be
the machine's."""

SCHEMA_VERSION = 1
"""Raised whenever a field changes meaning or disappears; an older file loads or fails by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check found.

    ``check`` names it (``"traffic"``, ``"values"``), ``summary`` is one sentence a person can act on,
    ``evidence`` says what it rests on, ``next_step`` what to do when it did not pass. ``change`` is the number behind
    a decision on speed. ``waiver`` accepted what was found: the outcome is then SKIPPED, whatever it would have been.
    """

    check: str
    outcome: Outcome
    summary: str
    evidence: str
    violations: tuple[Violation, ...] = ()
    details: tuple[str, ...] = ()
    next_step: str = ""
    change: SpeedChange | None = None
    waiver: Waiver | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficRecord:
    """What crossed the boundary in one call of one implementation.

    ``regions`` and ``first_call`` hold counts per region (``"run"`` is the whole call): of each of the
    ``runs`` warm calls, and of the cold call before them. ``limits`` are those it was held against.
    ``lines`` are the copies and waits of one warm call, ``timeline`` all its events in order. ``label`` names the
    implementation.
    """

    label: str
    device: str
    probe: str
    evidence: Evidence
    runs: int
    regions: Mapping[str, TrafficCounts]
    first_call: Mapping[str, TrafficCounts]
    limits: Mapping[str, tuple[Limit, ...]]
    lines: tuple[TrafficLine, ...]
    timeline: Timeline | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """All that was found about one case of one workload.

    ``traffic`` and ``controls`` (the known-bad implementations run beside it) are empty where no probe could
    watch; ``sample`` and ``call_time`` (nanoseconds, the median of the sample) where it was not timed.
    ``rates`` are ``throughput`` over ``call_time``, for programs that read the file.
    ``margin`` is the slowdown the case declares to be too much, as a fraction. ``flops_per_call`` are the
    floating-point operations it declares. ``errors`` show where each compared output stands against its tolerance,
    ``conditions`` what the GPU's sensors said while it was timed, ``training`` what a program of many steps did.
    """

    workload: str
    case: str
    parameters: Mapping[str, str]
    checks: tuple[CheckResult, ...]
    traffic_device: str = ""
    timing_device: str = ""
    traffic: TrafficRecord | None = None
    controls: tuple[TrafficRecord, ...] = ()
    sample: Sample | None = None
    call_time: Estimate | None = None
    throughput: Throughput | None = None
    rates: Rates | None = None
    margin: float | None = None
    flops_per_call: float | None = None
    errors: tuple[ErrorMap, ...] = ()
    conditions: tuple[ConditionSample, ...] = ()
    training: Training | None = None

    @property
    def key(self) -> str:
        """``workload/case``: what a baseline knows this case by."""
        return f"{self.workload}/{self.case}"

    @property
    def outcome(self) -> Outcome:
        """The worst of the checks."""
        return worst(result.outcome for result in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything one ``harness run`` found. ``created`` is ISO 8601 in UTC, ``command`` can be copied.

    ``checks`` belong to the run and not to a case: the comparison with a baseline that lacks a case, for
    one. ``baseline`` is the stored baseline it was held against, or in words what it was ``paired_with`` in a
    comparison: there the peer of every sample is that, and no frozen copy. ``notes`` are facts a reader should know
    that are no findings. ``copy_bandwidth`` was measured around the timing, ``matmul_rate`` beside it, ``self_checks``
    are those stored for this machine. ``baseline_environment`` is where the baseline was saved, ``history`` what a store
    knew of the cases before, ``training`` what programs recorded that were run by themselves. ``ended_with`` is the exit
    status of a command that decides on it by more than what is in here, as pytest does.
    """

    run_id: str
    created: str
    command: str
    harness_version: str
    seed: int
    environment: Environment
    verdicts: tuple[Verdict, ...]
    checks: tuple[CheckResult, ...] = ()
    baseline: str | None = None
    paired_with: str = ""
    notes: tuple[str, ...] = ()
    duration_s: float = 0.0
    copy_bandwidth: CopyBandwidth | None = None
    matmul_rate: MatmulRate | None = None
    self_checks: tuple[SelfCheck, ...] = ()
    baseline_environment: Environment | None = None
    history: tuple[CaseHistory, ...] = ()
    training: tuple[Training, ...] = ()
    ended_with: int | None = None
    schema_version: int = SCHEMA_VERSION

    @property
    def outcome(self) -> Outcome:
        """The worst of all parts; a run that checked nothing is inconclusive."""
        parts = [verdict.outcome for verdict in self.verdicts]
        return worst([*parts, *(result.outcome for result in self.checks)])

    @property
    def exit_code(self) -> ExitCode:
        """The exit status of a harness command for what is in this run."""
        if any(result.check == INTERRUPTED for result in self.checks):
            return ExitCode.INTERRUPTED
        return self.outcome.exit_code

    @property
    def exit_status(self) -> int:
        """The exit status of the command that made this run."""
        return int(self.exit_code) if self.ended_with is None else self.ended_with
