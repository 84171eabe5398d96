"""One case from inputs to verdict: watched, judged, compared with what is known to be bad, timed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from harness.devices.base import Device
from harness.devices.cuda_faults import DeviceFaultError
from harness.devices.registry import Devices
from harness.errors import UnavailableError, WorkloadError
from harness.model.error_map import ErrorMap
from harness.model.outcome import Outcome
from harness.model.training import Training
from harness.model.verdict import CheckResult, TrafficRecord, Verdict
from harness.model.workload import Case
from harness.session.catalogue import Selection
from harness.session.declared import Declared, declared_by
from harness.session.defects import run_controls
from harness.session.foreign import CannotTellError, foreign
from harness.session.gradients import check_gradients
from harness.session.numbers import (
    check_inputs,
    check_placement,
    error_maps,
    expected_outputs,
    judge_values,
)
from harness.session.observe import (
    HostArrays,
    Observation,
    observe,
    positive_control,
    traffic_record,
)
from harness.session.timing import Timing, time_case
from harness.session.traffic import judge_traffic, with_second_view
from harness.session.training import offers_training, training_offered
from harness.session.witness import check_witness

__all__ = ["OnFault", "OnPart", "OnStage", "Settings", "faulty", "verify_case"]

OnFault = Callable[[Exception], None]
"""Told the exception behind a failed ``run`` check, with its cause attached."""


OnPart = Callable[[Verdict], None]
"""Told what has been found about a case before a step that may never come back."""


OnStage = Callable[[str], None]
"""Told what is done about a case now."""


def _ignore(found: Exception | Verdict | str) -> None:
    """The verdict says it all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a case is verified: seed of its inputs, watched warm runs, and time to benchmark it."""

    seed: int = 0
    repeats: int = 5
    benchmark: bool = True
    seconds_per_case: float = 0.8


def verify_case(
    selection: Selection,
    case: Case,
    *,
    devices: Devices,
    settings: Settings,
    on_fault: OnFault = _ignore,
    on_part: OnPart = _ignore,
    on_stage: OnStage = _ignore,
) -> Verdict:
    """Verify one case and return everything found about it.

    A case that breaks its contract gets a failed ``run`` check with one line that says how, and ``on_fault``
    is told the exception; whatever was found before stays. Errors of the harness itself are not caught.
    ``on_part`` is told what is known before the first call, and again before the case is timed, ``on_stage`` what
    is done now.
    """
    findings = _Findings(stage=on_stage)
    try:
        findings.declared = declared_by(case)
        on_stage("computing what is expected")
        subject = _subject(selection, case, findings.declared, settings)
        on_part(findings.verdict(selection, case, devices))
        _watch(findings, subject, devices.traffic)
        if offers_training(case):
            on_stage("training")
            findings.training = training_offered(case, subject.inputs)
        if devices.timing is not None:
            on_part(findings.verdict(selection, case, devices))
            _time(findings, subject, devices)
    except (CannotTellError, DeviceFaultError, MemoryError, UnavailableError) as error:
        on_fault(error)
        findings.checks.append(_broken(error, Outcome.INCONCLUSIVE, selection.given(case.name)))
    except WorkloadError as error:
        on_fault(error)
        findings.checks.append(_broken(error, Outcome.FAILED, selection.given(case.name)))
    return findings.verdict(selection, case, devices)


def faulty(workload: str, fault: str) -> Verdict:
    """The verdict of a workload that could not even be listed."""
    broken = _broken(WorkloadError(fault), Outcome.FAILED, workload)
    return Verdict(workload=workload, case="-", parameters={}, checks=(broken,))


@dataclass(slots=True)
class _Findings:
    """What has been found so far, kept when a later step breaks."""

    checks: list[CheckResult] = field(default_factory=list)
    declared: Declared | None = None
    traffic: TrafficRecord | None = None
    controls: list[TrafficRecord] = field(default_factory=list)
    timing: Timing | None = None
    errors: tuple[ErrorMap, ...] = ()
    training: Training | None = None
    stage: OnStage = _ignore

    def verdict(self, selection: Selection, case: Case, devices: Devices) -> Verdict:
        """Freeze the findings."""
        declared, timing = self.declared, self.timing
        return Verdict(
            workload=selection.name,
            case=case.name,
            parameters=declared.parameters if declared is not None else {},
            checks=tuple(self.checks),
            traffic_device=devices.traffic.name,
            timing_device=devices.timing.name if devices.timing is not None else "",
            traffic=self.traffic,
            controls=tuple(self.controls),
            training=self.training,
            sample=timing.sample if timing is not None else None,
            call_time=timing.call_time if timing is not None else None,
            throughput=declared.throughput if declared is not None else None,
            margin=declared.margin if declared is not None else None,
            flops_per_call=declared.flops if declared is not None else None,
            errors=self.errors,
            conditions=timing.readings if timing is not None else (),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """One case with its inputs and their truth, ready to be run on any device."""

    selection: Selection
    case: Case
    declared: Declared
    inputs: HostArrays
    expected: HostArrays
    settings: Settings


def _subject(selection: Selection, case: Case, declared: Declared, settings: Settings) -> _Subject:
    inputs = _inputs(case, settings.seed)
    return _Subject(
        selection=selection,
        case=case,
        declared=declared,
        inputs=inputs,
        expected=expected_outputs(case, inputs),
        settings=settings,
    )


def _watch(findings: _Findings, subject: _Subject, device: Device) -> None:
    """Traffic, placement, values, inputs and gradients where the probe is, then the known defects."""
    case, declared, inputs = subject.case, subject.declared, subject.inputs
    control = positive_control(device)
    findings.checks.extend([control] if control is not None else [])
    findings.stage("watching")
    seen = observe(case, inputs, device, repeats=subject.settings.repeats)
    traffic = judge_traffic(seen, declared.budget, control, device)
    second = check_witness(
        case, declared.budget, inputs, device, probe_passed=traffic.outcome is Outcome.PASSED
    )
    findings.checks.extend(with_second_view(traffic, second))
    findings.traffic = traffic_record(declared.name, device, seen, declared.budget)
    findings.checks.append(check_placement(seen, device))
    _judge(findings, subject, seen, device)
    findings.stage("checking gradients")
    gradients = check_gradients(
        case, declared, inputs, seen.results[0], seed=subject.settings.seed, device=device.name
    )
    findings.checks.extend([gradients] if gradients is not None else [])
    if subject.selection.workload is not None:
        findings.stage("trying the known defects")
        first = case is subject.selection.cases[0]
        results, records = run_controls(
            subject.selection.workload, case, inputs, device, fallback=first
        )
        findings.checks.extend(results)
        findings.controls.extend(records)


def _judge(findings: _Findings, subject: _Subject, seen: Observation, device: Device) -> None:
    """Are the outputs right, where are they not, and are the inputs as they were."""
    declared, expected = subject.declared, subject.expected
    values = judge_values(declared, seen, expected, device=device)
    findings.checks.append(values.check)
    findings.errors = error_maps(declared, values, expected, known=findings.errors)
    findings.checks.append(check_inputs(seen, subject.inputs, device))


def _time(findings: _Findings, subject: _Subject, devices: Devices) -> None:
    """Values where the clock is, if that is elsewhere, and how long a call takes there."""
    case, declared, device = subject.case, subject.declared, devices.timing
    assert device is not None
    if device is not devices.traffic:
        findings.stage(f"checking values on {device.name}")
        seen = observe(case, subject.inputs, device, repeats=1)
        _judge(findings, subject, seen, device)
    if subject.settings.benchmark and declared.timed:
        findings.stage("timing")
        findings.timing = time_case(
            case,
            declared,
            subject.inputs,
            subject.expected,
            device,
            seconds=subject.settings.seconds_per_case,
            seed=subject.settings.seed,
        )
        findings.checks.extend(findings.timing.conditions)


def _inputs(case: Case, seed: int) -> HostArrays:
    with foreign(f"the inputs of {case.name}"):
        inputs = case.inputs(seed)
    if not isinstance(inputs, Mapping):
        raise WorkloadError(
            f"{case.name}: inputs() returned {type(inputs).__name__}; return a mapping of names to arrays"
        )
    for name, value in inputs.items():
        if not isinstance(value, np.ndarray):
            raise WorkloadError(
                f"{case.name}: input {name!r} is {type(value).__name__}; give a NumPy array"
            )
    return inputs


def _broken(error: Exception, outcome: Outcome, given: str) -> CheckResult:
    """The result of what could not be run; ``given`` is how the command line calls it."""
    raised = error.__cause__ is not None
    return CheckResult(
        check="run",
        outcome=outcome,
        summary=str(error),
        evidence="an exception of the workload"
        if raised
        else "what the workload declares or returns",
        next_step=f"for the traceback: harness run --debug {shlex.quote(given)}"
        if raised
        else "correct it; harness/model/workload.py says what a workload must give",
    )
