"""The copy bandwidth of a device: the roof that every op which only moves data works under.

A copy of memory is no reference for code under test: it is slowed by other things than an op is, and dividing by it
can hide a regression. It says how near an op is to the roof, and whether the machine was slow.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from harness.errors import UnavailableError
from harness.model.measurement import CopyRate
from harness.timers.base import Timer

__all__ = ["copy_size_bytes", "measure_copy"]

_LEAST_BYTES = 64 << 20
"""A source and a target of this size are together four times a last-level cache of 32 MiB, so that neither is still
there when its turn comes again."""

_MOST_BYTES = 256 << 20
"""The largest caches are of this order; a source and a target of it cost half a second to make on a slow host."""

_BUDGET_NS = 0.1e9
"""Seven copies of 64 MiB at 10 GB/s. Making the buffers costs 0.15 s on top, page fault by page fault."""

_FEWEST, _MOST = 3, 20
"""A median needs three; twenty copies on a GPU take a few milliseconds."""


def copy_size_bytes(cache_bytes: int | None) -> int:
    """How much to copy beside a last-level cache of this size: as much again, within bounds."""
    return min(_MOST_BYTES, max(_LEAST_BYTES, cache_bytes or 0))


def measure_copy(copy: Callable[[], object], size_bytes: int, *, timer: Timer) -> CopyRate:
    """Time ``copy``, which reads ``size_bytes`` and writes as many, over and over for a tenth of a second.

    The first copy is not counted: it may touch its target for the first time. Raises ``UnavailableError`` when the
    clock stands still or runs backwards; what ``copy`` raises passes through.
    """
    timer.measure(copy, 1)
    times: list[float] = []
    started_ns = timer.now_ns()
    while len(times) < _FEWEST or (len(times) < _MOST and timer.now_ns() - started_ns < _BUDGET_NS):
        elapsed = timer.measure(copy, 1)
        if elapsed <= 0:
            raise UnavailableError(
                f"timer {timer.name!r} read {elapsed:g} ns for a copy of {size_bytes:,} B; "
                "check the machine's clock source"
            )
        times.append(elapsed)
    moved = 2.0 * size_bytes * 1e9
    return CopyRate(best=moved / min(times), median=moved / median(times), copies=len(times))
