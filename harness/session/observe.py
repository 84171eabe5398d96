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
from harness.session.foreign import foreign
from harness.session.timeline import timeline_of

__all__ = [
    "Observation",
    "observe",
    "positive_control",
    "same_bits",
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

    ``results`` are the host copies of the outputs of each call, equal bits only once: one entry when every
    call gave the same. ``strays`` names outputs that were not on the device, ``overwritten`` inputs that a
    call changed. Without a probe there is no trace.
    """

    calls: int
    results: tuple[HostArrays, ...]
    strays: tuple[str, ...]
    overwritten: tuple[str, ...]
    cold: Trace | None
    warm: tuple[Trace, ...]


def observe(case: Case, inputs: HostArrays, device: Device, *, repeats: int) -> Observation:
    """Call ``case.run`` once cold and ``repeats`` times warm, each under its own recording.

    Every call gets arrays of its own, as in a training loop: an op that looks once at each array it meets
    must not look innocent because it met this one before. A call that takes longer than ``_LONG_CALL_S`` is
    repeated ``_LONG_CALL_REPEATS`` times at most. Moving arrays to and fro happens outside the recordings.
    """
    seen = _Seen(inputs, device)
    start = time.perf_counter()
    cold = seen.call(case)
    long = time.perf_counter() - start > _LONG_CALL_S
    warm = [seen.call(case) for _ in range(min(repeats, _LONG_CALL_REPEATS) if long else repeats)]
    return Observation(
        calls=1 + len(warm),
        results=tuple(seen.results),
        strays=tuple(seen.strays),
        overwritten=tuple(seen.overwritten),
        cold=cold,
        warm=tuple(trace for trace in warm if trace is not None),
    )


class _Seen:
    """What the calls of one case have shown so far."""

    def __init__(self, inputs: HostArrays, device: Device) -> None:
        self._inputs, self._device = inputs, device
        self._arrays: Mapping[str, Any] = {}
        self.results: list[HostArrays] = []
        self.strays: dict[str, None] = {}
        self.overwritten: dict[str, None] = {}

    def call(self, case: Case) -> Trace | None:
        """One call on new arrays, and its trace; the arrays of the call before live until these exist."""
        arrays = to_device(self._inputs, self._device)
        self._arrays = arrays
        outputs, trace = _recorded(case, dict(arrays), self._device)
        self._note_results(outputs)
        for name, original in self._inputs.items():
            if not same_bits(self._device.to_host(arrays[name]), original):
                self.overwritten[name] = None
        return trace

    def _note_results(self, outputs: Mapping[str, Any]) -> None:
        host = {}
        for name, value in outputs.items():
            if self._device.owns(value):
                host[name] = self._device.to_host(value)
                continue
            self.strays[f"output {name!r} is a host {type(value).__name__}"] = None
            with foreign(f"output {name!r} ({type(value).__name__}) as an array"):
                host[name] = np.asarray(value)
        if not any(_same_results(host, known) for known in self.results):
            self.results.append(host)


def same_bits(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays are equal to the bit, NaN included."""
    if left.dtype.kind == "O" or left.shape != right.shape or left.dtype != right.dtype:
        return False
    words = f"u{left.dtype.itemsize}" if left.dtype.itemsize in (1, 2, 4, 8) else "u1"
    return bool(
        np.array_equal(
            np.ascontiguousarray(left).reshape(-1).view(words),
            np.ascontiguousarray(right).reshape(-1).view(words),
        )
    )


def _same_results(left: HostArrays, right: HostArrays) -> bool:
    return left.keys() == right.keys() and all(same_bits(left[name], right[name]) for name in left)


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
        timeline=timeline_of(last),
    )


def unwatched(region: str) -> nullcontext[None]:
    """A region for calls that nobody watches."""
    return _UNWATCHED


def _recorded(
    case: Case, inputs: Mapping[str, Any], device: Device
) -> tuple[Mapping[str, Any], Trace | None]:
    if device.probe is None:
        with foreign(f"{case.name} on {device.name}"):
            return _named_outputs(case, case.run(inputs, unwatched)), None
    with device.probe.record() as recording:
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
