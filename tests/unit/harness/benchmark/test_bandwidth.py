"""Copy bandwidth: bytes read and written, from copies after the first, in a tenth of a second."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.benchmark.bandwidth import copy_size_bytes, measure_copy
from harness.errors import UnavailableError
from harness.timers.simulated import SimulatedClock

GB = 1_000_000_000
MIB = 1 << 20


class Scripted:
    """A timer that reads these times, one after the other."""

    name = "scripted"
    resolution_ns = 1.0

    def __init__(self, *times_ns: float) -> None:
        self._left = list(times_ns)
        self._now = 0.0

    def measure(self, call: Callable[[], object], calls: int) -> float:
        elapsed = self._left.pop(0)
        self._now += elapsed
        return elapsed

    def now_ns(self) -> float:
        return self._now


def test_what_is_read_and_what_is_written_both_count() -> None:
    clock = SimulatedClock()
    rate = measure_copy(clock.operation(1e9), GB, timer=clock)
    assert rate.best == rate.median == pytest.approx(2 * GB)


def test_the_first_copy_is_not_counted_and_best_and_median_are_of_the_rest() -> None:
    rate = measure_copy(print, GB, timer=Scripted(9e9, 2e9, 1e9, 4e9))
    assert (rate.best, rate.median, rate.copies) == (2 * GB, GB, 3)


def test_fast_copies_are_repeated_for_a_tenth_of_a_second_and_no_more_than_twenty_times() -> None:
    clock = SimulatedClock()
    assert measure_copy(clock.operation(1e4), GB, timer=clock).copies == 20
    clock = SimulatedClock()
    assert measure_copy(clock.operation(2e7), GB, timer=clock).copies == 5


def test_a_clock_that_stands_still_is_no_bandwidth() -> None:
    with pytest.raises(UnavailableError, match=r"scripted.* read 0 ns"):
        measure_copy(print, GB, timer=Scripted(1.0, 0.0))


@pytest.mark.parametrize(
    ("cache", "size"),
    [(None, 64 * MIB), (32 * MIB, 64 * MIB), (105 * MIB, 105 * MIB), (1 << 40, 256 * MIB)],
)
def test_a_copy_is_larger_than_the_cache_within_bounds(cache: int | None, size: int) -> None:
    assert copy_size_bytes(cache) == size
