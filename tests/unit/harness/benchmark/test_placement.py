"""Layouts: changed at random, settled before anything is timed, and never most of the time spent."""

import os
import platform
import random
import subprocess
import sys
from collections.abc import Callable

import pytest

from harness.benchmark.interleave import time_round
from harness.benchmark.placement import Placement
from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.timers.simulated import SimulatedClock


class FreshPages:
    """A clock on a machine where whatever runs first after a move pays for the pages it touches."""

    def __init__(self, *, fault_ns: float, move_ns: float = 0.0, noise: float = 0.0) -> None:
        self.clock = SimulatedClock(noise=noise)
        self.moves = 0
        self._fault, self._move = self.clock.operation(fault_ns), self.clock.operation(move_ns)
        self._mapped = False

    def change_layout(self, _chance: random.Random) -> None:
        self.moves += 1
        self._mapped = False
        self._move()

    def operation(self, cost_ns: float) -> Callable[[], None]:
        spend = self.clock.operation(cost_ns)

        def call() -> None:
            if not self._mapped:
                self._mapped = True
                self._fault()
            spend()

        return call


def test_no_timed_call_pays_for_the_pages_of_a_new_layout() -> None:
    machine = FreshPages(fault_ns=3e6)
    sample = measure(
        machine.operation(1e6),
        machine.operation(1e6),
        timer=machine.clock,
        seed=0,
        change_layout=machine.change_layout,
    )
    assert machine.moves >= 4
    assert set(sample.call_ns) == set(sample.peer_ns) == {1e6}


def test_without_settling_whoever_runs_first_is_four_times_slower() -> None:
    """The planted defect: the same rounds, with the layout changed behind the placement's back."""
    machine = FreshPages(fault_ns=3e6)
    chance = random.Random(0)
    placement = Placement(lambda _chance: None, timer=machine.clock, chance=chance)
    subjects = [machine.operation(1e6), machine.operation(1e6)]
    seen = set()
    for _ in range(20):
        machine.change_layout(chance)
        seen |= set(
            time_round(subjects, calls=1, timer=machine.clock, chance=chance, placement=placement)
        )
    assert seen == {1e6, 4e6}


@pytest.mark.parametrize(("cost_ns", "fault_ns"), [(2e4, 0), (1e6, 3e6), (6e7, 3e6)])
def test_moving_takes_a_fifth_of_the_time_at_most(cost_ns: float, fault_ns: float) -> None:
    machine = FreshPages(fault_ns=fault_ns, move_ns=1e4, noise=0.05)
    sample = measure(
        machine.operation(cost_ns),
        timer=machine.clock,
        seed=0,
        rule=StoppingRule(half_width=1e-6, time_cap_ns=3e9),
        change_layout=machine.change_layout,
    )
    timed_ns = sum(sample.call_ns) * sample.calls_per_value
    warm_up_ns = sample.warmup_calls * cost_ns
    assert timed_ns + warm_up_ns > 0.79 * machine.clock.now_ns()


def test_an_operation_of_microseconds_gets_a_layout_per_round_and_a_slow_one_does_not() -> None:
    def layouts_per_round(cost_ns: float) -> float:
        machine = FreshPages(fault_ns=1e3, move_ns=1e4, noise=0.05)
        sample = measure(
            machine.operation(cost_ns),
            timer=machine.clock,
            seed=0,
            rule=StoppingRule(half_width=1e-6),
            change_layout=machine.change_layout,
        )
        return machine.moves / len(sample.call_ns)

    assert layouts_per_round(2e4) >= 1.0
    assert 0.15 < layouts_per_round(1e7) < 0.3


def test_the_old_layout_is_given_up_before_the_new_one_is_made() -> None:
    events: list[str] = []

    class Held:
        def __init__(self) -> None:
            events.append("made")

        def __del__(self) -> None:
            events.append("released")

    clock = SimulatedClock()
    placement = Placement(lambda _chance: Held(), timer=clock, chance=random.Random(0))
    for _ in range(2):
        placement.before_round([])
    del placement
    assert events == ["made", "released"] * 3


def test_each_subject_is_settled_once_in_the_order_it_will_be_timed_in() -> None:
    clock = SimulatedClock()
    called: list[str] = []
    subjects = [lambda name=name: called.append(name) for name in "ba"]
    placement = Placement(clock.change_layout, timer=clock, chance=random.Random(0))
    placement.before_round(subjects)
    assert called == ["b", "a"]


_FAULTS = """
import resource
import numpy as np
from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.timers.host import HostTimer

class Counting(HostTimer):
    resolution_ns = 3000.0  # values of 3 ms, so that a single call is always a settling one
    def __init__(self):
        self.faults, self.passed_ns = [], 0.0
    def now_ns(self):
        return self.passed_ns
    def measure(self, call, calls):  # a call takes 1 ms here, however busy the machine
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(calls):
            call()
        self.faults.append((calls, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before))
        self.passed_ns += calls * 1e6
        return calls * 1e6

x = np.ones((256, 1000), np.float32)

def op():
    return np.exp(x - x.max(axis=1, keepdims=True)) * 2

timer = Counting()
sample = measure(op, op, timer=timer, seed=0, rule=StoppingRule(half_width=1e-9, time_cap_ns=0.8e9))
timed = [faults for calls, faults in timer.faults if calls == sample.calls_per_value][8:88]
most = max(faults for calls, faults in timer.faults[4:])
print(sample.calls_per_value, sum(faults > 20 for faults in timed), most)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="counts the faults of glibc's heap")
def test_the_page_faults_of_a_new_layout_fall_on_untimed_calls() -> None:
    """In a process of its own, since the heap's thresholds depend on what ran before."""
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    done = subprocess.run(
        [sys.executable, "-c", _FAULTS],
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    calls, disturbed, most = map(int, done.stdout.split())
    if most < 200:
        pytest.skip(f"a new layout costs {most} faults at most on this machine")
    assert calls == 3
    assert disturbed <= 8  # of 80 values, half of which would pay without settling
