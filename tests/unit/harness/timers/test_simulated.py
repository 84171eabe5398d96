"""The simulated clock: time that passes exactly as told."""

import random
import statistics

import pytest

from harness.benchmark.calibration import calibrate
from harness.errors import UnavailableError
from harness.timers.simulated import Interrupts, SimulatedClock, Throttle

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


def times(clock: SimulatedClock, cost_ns: float, calls: int) -> list[float]:
    call = clock.operation(cost_ns)
    return [clock.measure(call, 1) for _ in range(calls)]


def test_interrupts_come_as_often_and_last_as_long_as_told() -> None:
    clock = SimulatedClock(seed=1, interrupts=Interrupts(per_second=20, mean_ns=5e6))
    taken = times(clock, 1e6, 20_000)
    held_up = [taken_ns - 1e6 for taken_ns in taken if taken_ns > 1e6]
    assert len(held_up) / 20 == pytest.approx(20, rel=0.15)  # 20 s of work
    assert statistics.mean(held_up) == pytest.approx(5e6, rel=0.15)


def test_throttling_slows_everything_for_its_share_of_the_time() -> None:
    throttle = Throttle(per_second=2, mean_ns=100e6, factor=2.0)
    clock = SimulatedClock(seed=1, throttle=throttle, resolution_ns=1e-3)
    taken = times(clock, 1e6, 60_000)
    assert set(taken) > {1e6, 2e6}
    assert min(taken) == pytest.approx(1e6)
    assert max(taken) == pytest.approx(2e6)
    between = sum(1.000001e6 < taken_ns < 1.999999e6 for taken_ns in taken)
    assert between < 600  # only calls that an episode begins or ends in
    share = sum(taken_ns for taken_ns in taken if taken_ns > 1.9e6) / sum(taken)
    assert share == pytest.approx(0.1 / 0.6, abs=0.04)  # 0.1 s in every 0.5 + 0.1 s


def test_an_episode_slows_only_the_part_of_a_call_within_it() -> None:
    throttle = Throttle(per_second=1000, mean_ns=1e5, factor=3.0)
    clock = SimulatedClock(seed=2, throttle=throttle)
    (long,) = times(clock, 1e9, 1)
    # of every ms of time 0.1 / 1.1 is slowed, in which a third of the work is done
    assert long == pytest.approx(1e9 * 1.1 / (1.0 + 0.1 / 3.0), rel=0.05)


def test_long_interrupts_pass_over_whole_episodes() -> None:
    clock = SimulatedClock(
        seed=1,
        interrupts=Interrupts(per_second=50, mean_ns=1e9),
        throttle=Throttle(per_second=5, mean_ns=1e6, factor=2.0),
    )
    assert all(taken_ns >= 1e6 - 1 for taken_ns in times(clock, 1e6, 500))


@pytest.mark.parametrize("of", ["layout", "process"])
def test_a_bias_stays_within_its_reach_and_is_drawn_anew_when_told(of: str) -> None:
    clock = SimulatedClock(
        seed=4, layout_bias=0.11 * (of == "layout"), process_bias=0.11 * (of == "process")
    )
    one, other = clock.operation(1e6), clock.operation(1e6)
    ratios, seen = [], []
    for _ in range(500):
        if of == "layout":
            clock.change_layout(CHANCE)
        else:
            clock.new_process()
        first = clock.measure(one, 1)
        assert clock.measure(one, 1) == pytest.approx(first, abs=2)
        seen.append(first)
        ratios.append(first / clock.measure(other, 1))
    assert 0.89e6 - 2 <= min(seen) < 0.9e6
    assert 1.1e6 < max(seen) <= 1.11e6 + 2
    assert statistics.geometric_mean(ratios) == pytest.approx(1.0, abs=0.015)


def test_a_process_keeps_its_bias_when_the_layout_changes_and_a_new_one_has_a_new_layout() -> None:
    clock = SimulatedClock(seed=5, process_bias=0.1, resolution_ns=1e-6)
    call = clock.operation(1e6)
    before = clock.measure(call, 1)
    clock.change_layout(CHANCE)
    assert clock.measure(call, 1) == pytest.approx(before)
    clock.new_process()
    assert clock.measure(call, 1) != pytest.approx(before, rel=1e-4)
    moved = SimulatedClock(seed=6, layout_bias=0.1, resolution_ns=1e-6)
    call = moved.operation(1e6)
    before = moved.measure(call, 1)
    moved.new_process()
    assert moved.measure(call, 1) != pytest.approx(before, rel=1e-4)


def test_the_clock_jumps_and_stands_still_when_told() -> None:
    clock = SimulatedClock()
    call = clock.operation(1e6)

    def interrupted() -> None:
        call()
        clock.jump(-5e6)

    assert clock.measure(interrupted, 1) == -4e6
    clock.jump(1e7)
    assert clock.measure(call, 1) == 1e6
    clock.stop()
    assert clock.measure(call, 1) == 0.0
    with pytest.raises(UnavailableError, match=r"'simulated clock' read 0 ns .* clock source"):
        calibrate(call, clock)
