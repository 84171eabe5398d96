"""Rounds: side by side, in random order, in one layout."""

import random
from collections.abc import Callable, Sequence

import pytest

from harness.benchmark.interleave import time_round
from harness.benchmark.placement import Placement
from harness.errors import UnavailableError
from harness.timers.simulated import SimulatedClock


def rounds(
    clock: SimulatedClock, subjects: Sequence[Callable[[], object]], *, seed: int, calls: int = 1
) -> Callable[[], list[float]]:
    chance = random.Random(seed)
    placement = Placement(clock.change_layout, timer=clock, chance=chance)
    return lambda: time_round(
        subjects, calls=calls, timer=clock, chance=chance, placement=placement
    )


def test_times_come_back_in_the_subjects_order_whatever_order_they_ran_in() -> None:
    clock = SimulatedClock()
    subjects = [clock.operation(100.0), clock.operation(300.0)]
    for seed in range(10):
        assert rounds(clock, subjects, seed=seed, calls=7)() == [100.0, 300.0]


def test_either_goes_first_about_as_often() -> None:
    clock = SimulatedClock()
    order: list[int] = []

    def subject(index: int) -> Callable[[], None]:
        spend = clock.operation(1.0)

        def call() -> None:
            order.append(index)
            spend()

        return call

    take = rounds(clock, [subject(0), subject(1)], seed=0, calls=20)
    for _ in range(200):
        take()
    firsts = [order[at] for at in range(len(order) - 20) if order[at : at + 20] == [order[at]] * 20]
    assert 0.3 < firsts.count(0) / len(firsts) < 0.7


def test_a_clock_that_jumps_back_is_named() -> None:
    clock = SimulatedClock(resolution_ns=1e6)
    with pytest.raises(UnavailableError, match=r"'simulated clock' read 0 ns .* run again"):
        rounds(clock, [clock.operation(1.0)], seed=0)()
