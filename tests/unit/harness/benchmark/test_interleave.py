"""Rounds: side by side, in random order, in a fresh layout."""

import random
from collections.abc import Callable

import numpy as np
import pytest

from harness.benchmark.interleave import time_round
from harness.devices.host_layout import change_host_layout
from harness.errors import UnavailableError
from harness.timers.simulated import SimulatedClock


def no_change(_chance: random.Random) -> None:
    """Leave the layout as it is."""


def test_times_come_back_in_the_subjects_order_whatever_order_they_ran_in() -> None:
    clock = SimulatedClock()
    subjects = [clock.operation(100.0), clock.operation(300.0)]
    for seed in range(10):
        times = time_round(
            subjects, calls=7, timer=clock, chance=random.Random(seed), change_layout=no_change
        )
        assert times == [100.0, 300.0]


def test_either_goes_first_about_as_often() -> None:
    clock = SimulatedClock()
    order: list[int] = []

    def subject(index: int) -> Callable[[], None]:
        spend = clock.operation(1.0)

        def call() -> None:
            order.append(index)
            spend()

        return call

    chance = random.Random(0)
    for _ in range(200):
        time_round(
            [subject(0), subject(1)], calls=1, timer=clock, chance=chance, change_layout=no_change
        )
    assert 70 < order[::2].count(0) < 130


def test_the_layout_changes_before_every_round_and_is_held_during_it() -> None:
    events: list[str] = []

    class Held:
        def __del__(self) -> None:
            events.append("released")

    def change(_chance: random.Random) -> Held:
        events.append("changed")
        return Held()

    clock = SimulatedClock()
    spend = clock.operation(1.0)

    def call() -> None:
        events.append("called")
        spend()

    for _ in range(2):
        time_round([call], calls=1, timer=clock, chance=random.Random(0), change_layout=change)
    assert events == ["changed", "called", "released"] * 2


def test_host_layouts_are_live_blocks_of_random_size() -> None:
    chance = random.Random(0)
    first, second = change_host_layout(chance), change_host_layout(chance)
    assert isinstance(first, list)
    assert isinstance(second, list)
    sizes = [block.nbytes for block in first + second if isinstance(block, np.ndarray)]
    assert len(set(sizes)) == 6
    assert all(1 << 20 <= size <= 4 << 20 for size in sizes)


def test_a_clock_that_jumps_back_is_named() -> None:
    clock = SimulatedClock(resolution_ns=1e6)
    with pytest.raises(UnavailableError, match=r"'simulated clock' read 0 ns .* run again"):
        time_round(
            [clock.operation(1.0)],
            calls=1,
            timer=clock,
            chance=random.Random(0),
            change_layout=no_change,
        )
