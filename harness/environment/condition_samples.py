"""What the sensors of a GPU said while it was timed, short enough for a run file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.environment.gpu_conditions import GpuSample, Limiter
from harness.model.conditions import ConditionSample

__all__ = ["condition_samples"]

_MOST = 120
"""Three seconds at forty samples a second, 12 kB of a run file; of a longer measurement each reading stands for some
that follow each other."""


def condition_samples(samples: Sequence[GpuSample]) -> tuple[ConditionSample, ...]:
    """The readings in order; of more than 120, those with the lowest clock among their neighbours.

    ``limited`` names what a sample itself shows and what the GPU's counters say acted since the sample before; of
    neighbours, all of it. A sample of a lost GPU holds no reading and is left out; nothing is left where none was read.
    """
    readings = [
        ConditionSample(
            at_s=round((sample.at_ns - samples[0].at_ns) / 1e9, 4),
            sm_clock_mhz=sample.sm_clock,
            power_w=None if sample.power is None else sample.power / 1000,
            temperature_c=sample.temperature,
            limited=tuple(limiter.text for limiter in _limiters(sample, before)),
        )
        for before, sample in zip([None, *samples], samples, strict=False)
        if not sample.lost
    ]
    if not any(_read(reading) for reading in readings):
        return ()
    size = -(-len(readings) // _MOST)
    return tuple(_slowest(readings[at : at + size]) for at in range(0, len(readings), size))


def _limiters(sample: GpuSample, before: GpuSample | None) -> Iterator[Limiter]:
    earlier = before.held_ns if before is not None else {}
    for limiter in Limiter:
        counted = sample.held_ns.get(limiter, 0) > earlier.get(
            limiter, sample.held_ns.get(limiter, 0)
        )
        if counted or (sample.reasons or 0) & limiter.value:
            yield limiter


def _read(reading: ConditionSample) -> bool:
    known = (reading.sm_clock_mhz, reading.power_w, reading.temperature_c)
    return bool(reading.limited) or any(value is not None for value in known)


def _slowest(neighbours: Sequence[ConditionSample]) -> ConditionSample:
    slowest = min(
        neighbours,
        key=lambda each: math.inf if each.sm_clock_mhz is None else each.sm_clock_mhz,
    )
    limited = dict.fromkeys(text for each in neighbours for text in each.limited)
    return ConditionSample(
        at_s=slowest.at_s,
        sm_clock_mhz=slowest.sm_clock_mhz,
        power_w=slowest.power_w,
        temperature_c=slowest.temperature_c,
        limited=tuple(limited),
    )
