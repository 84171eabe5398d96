"""How long a call takes, on the device where time means something."""

from __future__ import annotations

import math

from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.devices.base import Device
from harness.errors import WorkloadError
from harness.model.measurement import Estimate, Sample, Throughput
from harness.model.workload import Case
from harness.session.foreign import foreign
from harness.session.observe import HostArrays, to_device, unwatched
from harness.stats.bootstrap import median_interval
from harness.timers.host import HostTimer

__all__ = ["throughput_of", "time_case"]


def time_case(
    case: Case, inputs: HostArrays, device: Device, *, seconds: float, seed: int
) -> tuple[Sample, Estimate]:
    """Raw timings of the case, interleaved with its frozen peer where it has one, and their median.

    The peer is plain NumPy and gets the host arrays; nothing is recorded meanwhile.
    """
    arrays = to_device(inputs, device)
    peer = getattr(case, "peer", None)
    with foreign(f"timing {case.name} on {device.name}"):
        sample = measure(
            lambda: case.run(arrays, unwatched),
            None if peer is None else lambda: peer(inputs, unwatched),
            timer=HostTimer(),
            seed=seed,
            rule=StoppingRule(time_cap_ns=seconds * 1e9),
        )
    return sample, median_interval(sample.call_ns)


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
