"""Run a case on a device while its probe watches: the first call apart, then repeats."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.checks.control import Planted, check_positive_control
from harness.checks.traffic import region_counts
from harness.devices.base import Device
from harness.errors import WorkloadError
from harness.model.budget import Budget
from harness.model.trace import Trace
from harness.model.traffic import traffic_lines
from harness.model.verdict import CheckResult, TrafficRecord
from harness.model.workload import Case, Region
from harness.probes.base import Probe
from harness.session.foreign import foreign

__all__ = [
    "Observation",
    "observe",
    "positive_control",
    "run_once",
    "to_device",
    "traffic_record",
    "unwatched",
]

HostArrays = Mapping[str, np.ndarray[Any, Any]]
_UNWATCHED = nullcontext()

_LONG_CALL_S = 0.5
"""A call this long is a program with a loop of its own, such as a training run."""

_LONG_CALL_REPEATS = 2
"""Two, to see that such a program repeats itself; the evidence says how many there were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What came out of repeated calls of one case, and what was seen meanwhile.

    ``inputs`` and ``outputs`` are arrays of the device, the latter of the last call. ``warm`` is empty on a
    device without a probe.
    """

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    cold: Trace | None
    warm: tuple[Trace, ...]


def observe(case: Case, inputs: HostArrays, device: Device, *, repeats: int) -> Observation:
    """Call ``case.run`` once cold and ``repeats`` times warm, each under its own recording.

    A call that takes longer than ``_LONG_CALL_S`` is repeated ``_LONG_CALL_REPEATS`` times at most. Moving
    inputs to the device happens before the first recording and is nobody's traffic.
    """
    arrays = to_device(inputs, device)
    if device.probe is None:
        return Observation(
            inputs=arrays, outputs=run_once(case, arrays, device), cold=None, warm=()
        )
    start = time.perf_counter()
    outputs, cold = _recorded(case, arrays, device, device.probe)
    long = time.perf_counter() - start > _LONG_CALL_S
    warm = []
    for _ in range(min(repeats, _LONG_CALL_REPEATS) if long else repeats):
        outputs, trace = _recorded(case, arrays, device, device.probe)
        warm.append(trace)
    return Observation(inputs=arrays, outputs=outputs, cold=cold, warm=tuple(warm))


def run_once(case: Case, inputs: Mapping[str, Any], device: Device) -> Mapping[str, Any]:
    """One call that nobody watches."""
    with foreign(f"{case.name} on {device.name}"):
        outputs = case.run(inputs, unwatched)
    return _named_outputs(case, outputs)


def to_device(inputs: HostArrays, device: Device) -> Mapping[str, Any]:
    """Device copies of all inputs."""
    with foreign(f"moving inputs to {device.name}"):
        return {name: device.to_device(array) for name, array in inputs.items()}


def positive_control(device: Device) -> CheckResult | None:
    """Plant this device's controls and see whether its probe finds them; ``None`` without a probe."""
    if device.probe is None:
        return None
    planted = []
    for plant in device.plants():
        with device.probe.record() as recording:
            plant.action()
        planted.append(Planted(name=plant.name, expected=plant.expected, trace=recording.trace()))
    return check_positive_control(tuple(planted))


def traffic_record(
    label: str, device: Device, observation: Observation, budget: Budget
) -> TrafficRecord | None:
    """The part of an observation worth keeping in the run file; ``None`` where nothing was watched."""
    if observation.cold is None or not observation.warm:
        return None
    last = observation.warm[-1]
    return TrafficRecord(
        label=label,
        device=device.name,
        probe=last.probe,
        evidence=last.evidence,
        runs=len(observation.warm),
        regions=region_counts(last),
        first_call=region_counts(observation.cold),
        limits=budget.regions,
        lines=traffic_lines(last.events),
    )


def unwatched(region: str) -> nullcontext[None]:
    """A region for calls that nobody watches."""
    return _UNWATCHED


def _recorded(
    case: Case, inputs: Mapping[str, Any], device: Device, probe: Probe
) -> tuple[Mapping[str, Any], Trace]:
    with probe.record() as recording:
        region: Region = recording.region
        with foreign(f"{case.name} on {device.name}"):
            outputs = case.run(inputs, region)
    return _named_outputs(case, outputs), recording.trace()


def _named_outputs(case: Case, outputs: object) -> Mapping[str, Any]:
    if not isinstance(outputs, Mapping) or not all(isinstance(name, str) for name in outputs):
        raise WorkloadError(
            f"{case.name}: run() returned {type(outputs).__name__}; return a mapping of names to arrays"
        )
    return outputs
