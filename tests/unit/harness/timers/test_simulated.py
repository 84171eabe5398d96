"""The simulated clock: time that passes exactly as told."""

import random
import statistics

import pytest

from harness.timers.simulated import SimulatedClock

CHANCE = random.Random(0)


def test_time_passes_only_by_simulated_work() -> None:
    clock = SimulatedClock()
    call = clock.operation(250.0)
    assert clock.now_ns() == 0.0
    assert clock.measure(call, 4) == 1000.0
    assert clock.now_ns() == 1000.0


def test_the_first_calls_may_cost_more() -> None:
    clock = SimulatedClock()
    call = clock.operation(100.0, warm_up_calls=2, cold_factor=3.0)
    assert [clock.measure(call, 1) for _ in range(4)] == [300.0, 300.0, 100.0, 100.0]


def test_it_is_read_in_steps_of_its_resolution() -> None:
    clock = SimulatedClock(resolution_ns=100.0)
    call = clock.operation(30.0)
    assert [clock.measure(call, 1) for _ in range(4)] == [0.0, 0.0, 0.0, 100.0]


def test_noise_has_the_stated_spread_and_the_same_seed_repeats_it() -> None:
    def times(seed: int) -> list[float]:
        clock = SimulatedClock(seed=seed, noise=0.05)
        call = clock.operation(1e6)
        return [clock.measure(call, 1) for _ in range(2000)]

    assert statistics.stdev(times(1)) == pytest.approx(0.05e6, rel=0.1)
    assert times(1) == times(1)
    assert times(1) != times(2)


def test_drift_slows_everything_by_its_rate_per_second() -> None:
    clock = SimulatedClock(drift=0.1)
    second = clock.operation(1e9)
    assert clock.measure(second, 1) == pytest.approx(1e9)
    assert clock.measure(second, 1) == pytest.approx(1.1e9)


def test_a_layout_holds_until_it_is_changed_and_differs_between_operations() -> None:
    clock = SimulatedClock(seed=3, layout_noise=0.1, resolution_ns=1e-6)
    one, other = clock.operation(1e6), clock.operation(1e6)
    first = clock.measure(one, 1)
    assert clock.measure(one, 1) == pytest.approx(first)
    assert clock.measure(other, 1) != pytest.approx(first, rel=1e-4)
    clock.change_layout(CHANCE)
    assert clock.measure(one, 1) != pytest.approx(first, rel=1e-4)
