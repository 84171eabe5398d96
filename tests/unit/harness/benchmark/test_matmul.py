"""The matrix product: the best of growing sizes, within its time, whatever the first call loads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.benchmark.matmul import measure_matmul
from harness.errors import UnavailableError
from harness.timers.simulated import SimulatedClock


class Device:
    """Multiplies at ``rate`` operations per second, and slower by half below ``full`` rows; loads once for a second."""

    def __init__(self, rate: float, *, full: int = 0) -> None:
        self.clock, self.rate, self.full = SimulatedClock(), rate, full
        self.sizes: list[int] = []
        self._loaded = False

    def make(self, size: int) -> Callable[[], object]:
        rate = self.rate / (2 if size < self.full else 1)
        multiply = self.clock.operation(2.0 * size**3 / rate * 1e9)
        loading = self.clock.operation(0.0 if self._loaded else 1e9)
        self._loaded = True
        self.sizes.append(size)

        def call() -> None:
            multiply()
            loading()

        return call


def test_a_multiply_add_is_two_operations_and_loading_is_not_counted() -> None:
    device = Device(1e11)
    speed = measure_matmul(device.make, timer=device.clock)
    assert speed.flops_per_second == pytest.approx(1e11)


def test_a_fast_device_is_given_matrices_that_fill_it() -> None:
    device = Device(5e13, full=2048)
    speed = measure_matmul(device.make, timer=device.clock)
    assert speed.size >= 2048
    assert speed.flops_per_second == pytest.approx(5e13, rel=1e-4)


def test_a_slow_device_gets_the_smallest_and_no_size_that_cannot_fit() -> None:
    device = Device(1e9)
    assert measure_matmul(device.make, timer=device.clock).size == 256
    assert set(device.sizes) == {256}
    device = Device(5e10)
    measure_matmul(device.make, timer=device.clock)
    assert max(device.sizes) == 512
    assert device.clock.now_ns() - 1e9 < 0.15e9


def test_a_clock_that_stands_still_is_refused() -> None:
    clock = SimulatedClock()
    with pytest.raises(UnavailableError, match="read 0 ns for a product of 256 rows"):
        measure_matmul(lambda size: print, timer=clock)
