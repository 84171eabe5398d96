"""The implementations known to be bad, run beside the good one: a harness that misses them is blind."""

from __future__ import annotations

from collections.abc import Mapping

from harness.checks.control import check_known_defect
from harness.devices.base import Device
from harness.errors import WorkloadError
from harness.model.budget import Quantity
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, TrafficRecord
from harness.model.workload import Case, Workload
from harness.session.declared import declared_by
from harness.session.observe import HostArrays, observe, traffic_record

__all__ = ["run_controls"]

_REPEATS = 1
"""After the cold call: counts are compared exactly with what the control must show, so one is enough."""


def run_controls(
    workload: Workload, case: Case, inputs: HostArrays, device: Device, *, fallback: bool
) -> tuple[list[CheckResult], list[TrafficRecord]]:
    """Run the control of each label on the case of the same name, and judge that its defect shows.

    A control may have fewer cases than the workload. ``fallback`` asks for its first case where it lacks this
    one, so that every run of a workload sees each control at least once. A control that raises shows
    nothing and is inconclusive.
    """
    results, records = [], []
    for label, control in _controls(workload).items():
        bad_case = _case_of(control, case.name, fallback=fallback)
        if bad_case is None or device.probe is None:
            continue
        bad_inputs = inputs if bad_case.name == case.name else bad_case.inputs(0)
        try:
            budget = declared_by(bad_case).budget
            seen = observe(bad_case, bad_inputs, device, repeats=_REPEATS)
        except WorkloadError as error:
            results.append(_broken(label, str(error)))
            continue
        results.append(check_known_defect(label, _expected(control, label), seen.warm[-1]))
        record = traffic_record(label, device, seen, budget)
        records.extend([record] if record is not None else [])
    return results, records


def _controls(workload: Workload) -> Mapping[str, Workload]:
    controls = getattr(workload, "controls", {})
    if not isinstance(controls, Mapping) or not all(
        isinstance(control, Workload) for control in controls.values()
    ):
        raise WorkloadError(
            f"{workload.name}: controls must map labels to workloads, got {type(controls).__name__}"
        )
    return controls


def _case_of(control: Workload, name: str, *, fallback: bool) -> Case | None:
    cases = {case.name: case for case in control.cases()}
    if name in cases:
        return cases[name]
    return next(iter(cases.values()), None) if fallback else None


def _expected(control: Workload, label: str) -> Mapping[str, Mapping[Quantity, int]]:
    plain = getattr(control, "control_expects", {})
    try:
        return {
            region: {Quantity(key): int(count) for key, count in counts.items()}
            for region, counts in plain.items()
        }
    except (ValueError, AttributeError, TypeError) as error:
        raise WorkloadError(
            f"control {label!r}: control_expects must be {{region: {{'d2h': 1}}}}: {error}"
        ) from error


def _broken(label: str, why: str) -> CheckResult:
    return CheckResult(
        check="known defect",
        outcome=Outcome.INCONCLUSIVE,
        summary=f"{label} could not be run, so the harness was not seen to catch it: {why}",
        evidence="no control",
        next_step="repair the control",
    )
