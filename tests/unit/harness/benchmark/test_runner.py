"""The whole measurement on a simulated clock, where the truth is known exactly."""

import random
import statistics

import pytest

from harness.benchmark.runner import measure
from harness.benchmark.stopping import DECIDABLE_ROUNDS, StoppingRule
from harness.errors import UnavailableError
from harness.stats.change import Decision, compare_pairs
from harness.stats.pairs import pair_ratio_interval
from harness.timers.host import HostTimer
from harness.timers.simulated import SimulatedClock


def no_change(_chance: random.Random) -> None:
    """Leave the layout as it is."""


def test_a_quiet_operation_is_measured_exactly_and_stops_on_precision() -> None:
    clock = SimulatedClock()
    sample = measure(clock.operation(5e4), timer=clock, seed=7, change_layout=no_change)
    assert set(sample.call_ns) == {5e4}
    assert sample.peer_ns == ()
    assert sample.calls_per_value == 22
    assert sample.timer == "simulated clock"
    assert sample.seed == 7
    assert 0.2e9 <= clock.now_ns() < 0.3e9


def test_a_noisy_operation_stops_at_the_time_cap() -> None:
    clock = SimulatedClock(noise=0.5)
    measure(clock.operation(5e6), timer=clock, seed=0, change_layout=no_change)
    assert 0.75e9 < clock.now_ns() < 0.85e9


def test_the_true_ratio_to_a_peer_is_found_under_noise_drift_and_layout_bias() -> None:
    covered = 0
    for seed in range(40):
        clock = SimulatedClock(seed=seed, noise=0.02, drift=0.5, layout_noise=0.05)
        sample = measure(
            clock.operation(1.03e6),
            clock.operation(1e6),
            timer=clock,
            seed=seed,
            change_layout=clock.change_layout,
        )
        interval = pair_ratio_interval(sample.call_ns, sample.peer_ns)
        covered += interval.low <= 1.03 <= interval.high
        assert interval.value == pytest.approx(1.03, abs=0.04)
    assert covered >= 34  # 95 % nominal: fewer than 34 of 40 has probability 0.001


def test_without_layout_changes_a_biased_pair_is_measured_precisely_wrong() -> None:
    """The planted defect of the layout change: one placement, however many rounds."""
    clock = SimulatedClock(seed=1, noise=0.01, layout_noise=0.1)
    subjects = clock.operation(1e6), clock.operation(1e6)
    fixed = measure(*subjects, timer=clock, seed=0, change_layout=no_change)
    wrong = pair_ratio_interval(fixed.call_ns, fixed.peer_ns)
    assert not wrong.low <= 1.0 <= wrong.high
    moved = measure(*subjects, timer=clock, seed=0, change_layout=clock.change_layout)
    right = pair_ratio_interval(moved.call_ns, moved.peer_ns)
    assert right.low <= 1.0 <= right.high


def test_cold_calls_are_left_to_the_warm_up() -> None:
    clock = SimulatedClock()
    call = clock.operation(1e6, warm_up_calls=8, cold_factor=4.0)
    sample = measure(call, timer=clock, seed=0, change_layout=no_change)
    assert set(sample.call_ns) == {1e6}
    assert sample.warmup_calls >= 8


def test_the_rounds_that_showed_it_to_be_warm_are_values() -> None:
    clock = SimulatedClock()
    first: list[int] = []
    call = clock.operation(1e6, warm_up_calls=8, cold_factor=4.0)
    sample = measure(
        call,
        timer=clock,
        seed=0,
        change_layout=no_change,
        progress=lambda rounds, _: first.append(rounds),
    )
    assert first[0] == 4  # a window of three, and one more
    assert set(sample.call_ns) == {1e6}


def test_a_warm_up_that_never_settles_leaves_time_for_values() -> None:
    clock = SimulatedClock(drift=-0.9)
    sample = measure(clock.operation(1e7), timer=clock, seed=0, change_layout=no_change)
    assert len(sample.call_ns) >= 10


@pytest.mark.parametrize(("cost_ns", "fewest", "most"), [(1.5e8, 8, DECIDABLE_ROUNDS), (9e9, 1, 1)])
def test_an_operation_too_slow_for_the_cap_gets_enough_values_to_decide_while_patience_lasts(
    cost_ns: float, fewest: int, most: int
) -> None:
    clock = SimulatedClock()
    sample = measure(clock.operation(cost_ns), timer=clock, seed=0, change_layout=no_change)
    assert fewest <= len(sample.call_ns) <= most
    assert set(sample.call_ns) == {cost_ns}


def test_a_peer_much_slower_than_the_case_does_not_eat_the_cap() -> None:
    clock = SimulatedClock()
    sample = measure(
        clock.operation(1e3), clock.operation(1e6), timer=clock, seed=0, change_layout=no_change
    )
    assert len(sample.call_ns) >= 6
    assert clock.now_ns() < 1.0e9


def test_the_same_seed_gives_the_same_sample() -> None:
    def once(seed: int) -> tuple[float, ...]:
        clock = SimulatedClock(noise=0.1)
        return measure(
            clock.operation(1e6),
            clock.operation(1e6),
            timer=clock,
            seed=seed,
            change_layout=no_change,
        ).call_ns

    assert once(1) == once(1)
    assert once(1) != once(2)


def test_progress_is_told_after_each_round_and_ends_at_the_cap() -> None:
    clock = SimulatedClock(noise=0.5)
    told: list[tuple[int, float]] = []
    sample = measure(
        clock.operation(5e6),
        timer=clock,
        seed=0,
        change_layout=no_change,
        progress=lambda rounds, fraction: told.append((rounds, fraction)),
    )
    first, last = told[0][0], len(sample.call_ns)
    assert [rounds for rounds, _ in told] == list(range(first, last + 1))
    assert 0.9 < told[-1][1] <= 1.0
    assert told == sorted(told)


def test_what_the_case_raises_passes_through() -> None:
    def broken() -> None:
        raise RuntimeError("op broke")

    with pytest.raises(RuntimeError, match="op broke"):
        measure(broken, timer=HostTimer(), seed=0)


def test_it_measures_a_real_operation_on_the_host_beside_itself() -> None:
    values = list(range(2000))
    rule = StoppingRule(time_cap_ns=0.15e9, least_time_ns=0.0)
    sample = measure(lambda: sum(values), lambda: sum(values), timer=HostTimer(), seed=0, rule=rule)
    assert len(sample.call_ns) == len(sample.peer_ns) >= 10
    ratio = statistics.median(sample.call_ns) / statistics.median(sample.peer_ns)
    assert ratio == pytest.approx(1.0, abs=0.3)


@pytest.mark.parametrize("when", ["between rounds", "while moving"])
def test_a_clock_that_goes_back_ends_the_measurement_instead_of_prolonging_it(when: str) -> None:
    clock = SimulatedClock(noise=0.05)
    moves = 0

    def change_layout(chance: random.Random) -> None:
        nonlocal moves
        moves += 1
        if moves == 3 and when == "while moving":
            clock.jump(-3600e9)
        clock.change_layout(chance)

    def progress(rounds: int, _used: float) -> None:
        if rounds == 5 and when == "between rounds":
            clock.jump(-3600e9)

    with pytest.raises(UnavailableError, match=r"went back from \d+ ns .* clock jumped, run again"):
        measure(
            clock.operation(1e6),
            timer=clock,
            seed=0,
            rule=StoppingRule(half_width=1e-9),
            change_layout=change_layout,
            progress=progress,
        )


def test_a_clock_that_jumps_ahead_leaves_a_value_that_decides_nothing() -> None:
    clock = SimulatedClock(noise=0.01)
    spend = clock.operation(1e6)
    calls = 0

    def call() -> None:
        nonlocal calls
        calls += 1
        spend()
        if calls == 100:
            clock.jump(5e7)

    sample = measure(
        call,
        clock.operation(1e6),
        timer=clock,
        seed=0,
        rule=StoppingRule(half_width=1e-9),
        change_layout=clock.change_layout,
    )
    assert max(sample.call_ns) > 2e7
    found = compare_pairs(sample.call_ns, sample.peer_ns, margin=0.01)
    assert found.decision is Decision.UNCHANGED
