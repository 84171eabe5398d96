"""How long a call takes, on the device where time means something."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.devices.base import Device
from harness.environment.gpu_monitor import GpuMonitor
from harness.errors import WorkloadError
from harness.model.measurement import Estimate, Sample, Throughput
from harness.model.verdict import CheckResult
from harness.model.workload import Case
from harness.session.foreign import foreign
from harness.session.observe import HostArrays, to_device, unwatched
from harness.stats.bootstrap import median_interval

__all__ = ["Timing", "throughput_of", "time_case"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Raw timings, their median, and what the GPU's own sensors say about the conditions meanwhile."""

    sample: Sample
    call_time: Estimate
    conditions: tuple[CheckResult, ...] = ()


def time_case(
    case: Case, inputs: HostArrays, device: Device, *, seconds: float, seed: int
) -> Timing:
    """Time the case on its device, interleaved with its frozen peer where both run on the host.

    Nothing is recorded meanwhile. A GPU is watched through NVML where that can be read.
    """
    arrays = to_device(inputs, device)
    peer = getattr(case, "peer", None) if device.is_host else None
    with foreign(f"timing {case.name} on {device.name}"), _watched(device) as monitor:
        sample = measure(
            lambda: case.run(arrays, unwatched),
            None if peer is None else lambda: peer(inputs, unwatched),
            timer=device.timer(),
            seed=seed,
            rule=StoppingRule(time_cap_ns=seconds * 1e9),
            change_layout=device.change_layout,
        )
    conditions = monitor.check() if monitor is not None else None
    return Timing(
        sample=sample,
        call_time=median_interval(sample.call_ns),
        conditions=() if conditions is None else (conditions,),
    )


def _watched(device: Device) -> AbstractContextManager[GpuMonitor | None]:
    return nullcontext() if device.identity is None else GpuMonitor(device.identity)


def throughput_of(case: Case) -> Throughput:
    """The case's declared work per call; ``WorkloadError`` when it is not a unit and two positive numbers."""
    declared: object = case.throughput
    match declared:
        case (str(unit), int() | float() as units, int(size_bytes)) if (
            unit and 0 < units < math.inf and size_bytes >= 0
        ):
            return Throughput(unit=unit, units_per_call=float(units), bytes_per_call=size_bytes)
    raise WorkloadError(
        f"{case.name}: throughput is {declared!r}; give (unit, units per call, bytes per call)"
    )
