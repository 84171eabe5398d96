"""One case from inputs to verdict: watched, judged, compared with what is known to be bad, timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from harness.checks.traffic import check_traffic
from harness.devices.base import Device
from harness.devices.cuda_faults import DeviceFaultError
from harness.devices.registry import Devices
from harness.errors import UnavailableError, WorkloadError
from harness.model.budget import Budget
from harness.model.measurement import Estimate, Sample, Throughput
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, TrafficRecord, Verdict
from harness.model.workload import Case
from harness.session.catalogue import Selection
from harness.session.defects import run_controls
from harness.session.foreign import CannotTellError, foreign
from harness.session.gradients import check_gradients
from harness.session.numbers import (
    check_inputs,
    check_placement,
    check_values,
    expected_outputs,
    host_outputs,
)
from harness.session.observe import HostArrays, observe, positive_control, traffic_record
from harness.session.timing import throughput_of, time_case

__all__ = ["OnFault", "Settings", "faulty", "verify_case"]

OnFault = Callable[[Exception], None]
"""Told the exception behind a failed ``run`` check, with its cause attached."""


def _ignore(error: Exception) -> None:
    """The result says it all."""


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
) -> Verdict:
    """Verify one case and return everything found about it.

    A case that breaks its contract gets a failed ``run`` check with one line that says how, and ``on_fault``
    is told the exception; whatever was found before stays. Errors of the harness itself are not caught.
    """
    parameters: dict[str, str] = {}
    findings = _Findings()
    try:
        parameters = {str(key): str(value) for key, value in case.parameters.items()}
        inputs = _inputs(case, settings.seed)
        _judge(findings, selection, case, inputs, devices, settings)
        if settings.benchmark and case.timed and devices.timing is not None:
            findings.throughput = throughput_of(case)
            timing = time_case(
                case,
                inputs,
                devices.timing,
                seconds=settings.seconds_per_case,
                seed=settings.seed,
            )
            findings.sample, findings.call_time = timing.sample, timing.call_time
            findings.checks.extend(timing.conditions)
    except (CannotTellError, DeviceFaultError, MemoryError, UnavailableError) as error:
        on_fault(error)
        findings.checks.append(_broken(str(error), Outcome.INCONCLUSIVE))
    except WorkloadError as error:
        on_fault(error)
        findings.checks.append(_broken(str(error), Outcome.FAILED))
    return findings.verdict(selection, case, parameters, devices)


def faulty(workload: str, fault: str) -> Verdict:
    """The verdict of a workload that could not even be listed."""
    return Verdict(
        workload=workload, case="-", parameters={}, checks=(_broken(fault, Outcome.FAILED),)
    )


@dataclass(slots=True)
class _Findings:
    """What has been found so far, kept when a later step breaks."""

    checks: list[CheckResult] = field(default_factory=list)
    traffic: TrafficRecord | None = None
    controls: list[TrafficRecord] = field(default_factory=list)
    sample: Sample | None = None
    call_time: Estimate | None = None
    throughput: Throughput | None = None

    def verdict(
        self, selection: Selection, case: Case, parameters: Mapping[str, str], devices: Devices
    ) -> Verdict:
        """Freeze the findings."""
        return Verdict(
            workload=selection.name,
            case=case.name,
            parameters=parameters,
            checks=tuple(self.checks),
            traffic_device=devices.traffic.name,
            timing_device=devices.timing.name if devices.timing is not None else "",
            traffic=self.traffic,
            controls=tuple(self.controls),
            sample=self.sample,
            call_time=self.call_time,
            throughput=self.throughput,
        )


def _judge(
    findings: _Findings,
    selection: Selection,
    case: Case,
    inputs: HostArrays,
    devices: Devices,
    settings: Settings,
) -> None:
    expected = expected_outputs(case, inputs)
    for device in devices.all:
        watched = device is devices.traffic
        _judge_on(
            findings, case, inputs, expected, device=device, settings=settings, watched=watched
        )
    if selection.workload is not None:
        results, records = run_controls(
            selection.workload,
            case,
            inputs,
            devices.traffic,
            fallback=case is selection.cases[0],
        )
        findings.checks.extend(results)
        findings.controls.extend(records)


def _judge_on(
    findings: _Findings,
    case: Case,
    inputs: HostArrays,
    expected: HostArrays,
    *,
    device: Device,
    settings: Settings,
    watched: bool,
) -> None:
    """Placement, traffic, values, gradients and inputs on one device; traffic only where it is watched."""
    control = positive_control(device) if watched else None
    seen = observe(case, inputs, device, repeats=settings.repeats if watched else 0)
    if watched:
        budget = Budget.from_plain(case.budget)
        if control is not None:
            findings.checks.append(control)
        findings.checks.append(_traffic(check_traffic(seen.warm, budget, control=control), device))
        findings.traffic = traffic_record(case.name, device, seen, budget)
        findings.checks.append(check_placement(seen.outputs, device))
    outputs = host_outputs(seen, device)
    findings.checks.append(check_values(case, outputs, expected, device=device))
    findings.checks.append(check_inputs(seen, inputs, device))
    if watched:
        gradients = check_gradients(case, inputs, outputs, seed=settings.seed, device=device.name)
        findings.checks.extend([gradients] if gradients is not None else [])


def _traffic(result: CheckResult, device: Device) -> CheckResult:
    if device.probe is not None:
        return result
    return replace(
        result,
        summary=f"{device.name} has no host/device boundary, so nothing can be said about traffic",
        evidence=f"no probe on {device.name}",
        next_step="use --device auto, which watches traffic on a simulated device and times on the CPU",
    )


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


def _broken(why: str, outcome: Outcome) -> CheckResult:
    return CheckResult(
        check="run",
        outcome=outcome,
        summary=why,
        evidence="the workload's own exception",
        next_step="run again with --debug for the traceback",
    )
