"""A known slowdown is exact on a clock whose truth is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.benchmark.injection import InjectingTimer
from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.timers.simulated import SimulatedClock


@given(
    calls=st.integers(1, 200),
    slowdown=st.floats(0, 1),
    cost_ns=st.integers(1_000, 10_000_000),
)
def test_the_injected_slowdown_is_exact(calls: int, slowdown: float, cost_ns: int) -> None:
    clock = SimulatedClock(resolution_ns=1e-3)
    op = clock.operation(cost_ns)
    timer = InjectingTimer(clock, op, slowdown)
    assert timer.measure(op, calls) == pytest.approx(calls * cost_ns * (1 + slowdown), rel=1e-6)


def test_two_per_cent_of_fifty_calls_is_one_real_call_more() -> None:
    made = 0

    def op() -> None:
        nonlocal made
        made += 1
        spend()

    clock = SimulatedClock()
    spend = clock.operation(1000)
    timer = InjectingTimer(clock, op, 0.02)
    for calls, real in ((50, 51), (100, 102), (49, 49), (99, 100)):
        made = 0
        timer.measure(op, calls)
        assert made == real


def test_only_the_one_callable_is_slowed() -> None:
    clock = SimulatedClock()
    op, other = clock.operation(1000), clock.operation(1000)
    timer = InjectingTimer(clock, op, 0.5)
    assert timer.measure(other, 10) == 10_000
    assert timer.measure(op, 10) == 15_000


def test_time_that_was_only_added_still_counts_towards_a_cap() -> None:
    clock = SimulatedClock()
    op = clock.operation(1000)
    timer = InjectingTimer(clock, op, 0.5)
    before = timer.now_ns()
    elapsed = timer.measure(op, 1)
    assert timer.now_ns() - before == elapsed == 1500
    assert clock.now_ns() == 1000


def test_a_whole_measurement_sees_it() -> None:
    clock = SimulatedClock(resolution_ns=0.01)
    slowed, other = clock.operation(30_000), clock.operation(30_000)
    sample = measure(
        slowed,
        other,
        timer=InjectingTimer(clock, slowed, 0.02),
        seed=1,
        rule=StoppingRule(time_cap_ns=5e7, least_time_ns=0),
        change_layout=clock.change_layout,
    )
    ratios = [call / peer for call, peer in zip(sample.call_ns, sample.peer_ns, strict=True)]
    assert ratios == pytest.approx([1.02] * len(ratios), rel=1e-6)
    assert sample.timer == "simulated clock"


@pytest.mark.parametrize("slowdown", [-0.01, float("nan"), float("inf")])
def test_a_slowdown_that_is_none_is_refused(slowdown: float) -> None:
    clock = SimulatedClock()
    with pytest.raises(ValueError, match="slowdown is"):
        InjectingTimer(clock, clock.operation(1), slowdown)
