"""A self-check on a simulated clock, where it is known what is true."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.benchmark.selfcheck import ARMS, Op, Plan, check_op, rate_bound
from harness.errors import UsageError
from harness.model.selfcheck import POWER
from harness.timers.simulated import SimulatedClock

QUICK = Plan(seconds=0.5, decisions=10)


def an_op(
    cost_ns: float, *, other_ns: float | None = None, margin: float | None = None, **clock_of: Any
) -> Op:
    """An op of this cost beside its copy, of the same cost unless said otherwise."""
    clock = SimulatedClock(**({"seed": 1} | clock_of))
    return Op(
        key="toys/op",
        device="simulated clock",
        pair=lambda: (clock.operation(cost_ns), clock.operation(other_ns or cost_ns)),
        timer=lambda: clock,
        change_layout=clock.change_layout,
        margin=margin,
    )


def test_where_there_is_little_noise_what_is_asked_for_is_found_and_nothing_else() -> None:
    found = check_op(an_op(1e6, noise=0.01), QUICK)
    assert found.false_alarms == 0
    assert found.asked.found == found.asked.decisions == 10
    assert found.asked.measured == pytest.approx(0.02, abs=0.003)
    assert found.smallest is not None
    assert 0.01 < found.smallest < 0.02
    assert found.spread is not None
    assert found.spread < 0.003


def test_where_there_is_much_noise_it_is_not_found_but_a_larger_one_is() -> None:
    found = check_op(an_op(1e7, noise=0.06), QUICK)
    assert found.asked.share < POWER
    assert found.smallest is not None
    assert found.smallest > 0.03
    tried = next(each for each in found.injections if each.slowdown == found.smallest)
    assert tried.measured == pytest.approx(found.smallest, abs=0.03)


def test_the_smallest_slowdown_is_near_where_theory_puts_it() -> None:
    """The interval's half-width shrinks with the root of the number of pairs, whatever decides on when to stop."""
    found = check_op(an_op(1e6, noise=0.03), replace(QUICK, decisions=20))
    assert found.estimated is not None
    assert found.computed is not None
    assert found.estimated == pytest.approx(found.computed, abs=0.006)


def test_a_copy_that_is_no_copy_raises_alarms() -> None:
    """Which of the two is the candidate changes, so a placement worth 4 % is called slower and faster in turn."""
    found = check_op(an_op(1e6, other_ns=1.04e6, noise=0.005), QUICK)
    assert found.false_alarms == 10
    assert found.false_alarm_bound == 1.0


def test_every_decision_is_made_on_inputs_of_its_own() -> None:
    made = []
    op = an_op(1e6, noise=0.01)

    def pair() -> Any:
        made.append(1)
        return op.pair()

    told: list[int] = []
    check_op(replace(op, pair=pair), QUICK, told=lambda: told.append(1))
    assert len(made) == len(told) == 3 * QUICK.decisions <= ARMS * QUICK.decisions


def test_nothing_more_is_tried_where_the_smallest_is_what_was_asked_for() -> None:
    plan = replace(QUICK, find=0.011)
    found = check_op(an_op(1e6, noise=0.001), plan)
    assert [each.slowdown for each in found.injections] == [0.011]
    assert found.smallest == 0.011


def test_an_op_too_slow_for_the_time_is_sure_of_nothing() -> None:
    found = check_op(an_op(2e9, noise=0.01), QUICK)
    assert found.unsure == found.decisions + found.asked.decisions
    assert found.smallest is None
    assert found.estimated is None
    assert found.false_alarms == 0


def test_an_op_with_a_margin_of_its_own_is_asked_for_as_many_times_that() -> None:
    assert QUICK.for_margin(None) == (0.01, 0.02)
    assert QUICK.for_margin(0.05) == (0.05, pytest.approx(0.1))
    assert QUICK.for_margin(0.005) == (0.005, 0.02)
    found = check_op(an_op(1e6, noise=0.01, margin=0.05), QUICK)
    assert found.asked.slowdown == pytest.approx(0.1)
    assert found.estimated is not None
    assert 0.05 < found.estimated < 0.07


def test_a_slowdown_within_the_margin_cannot_be_asked_for() -> None:
    with pytest.raises(UsageError, match=r"2\.0 % is not beyond the margin of 2\.0 %"):
        Plan(find=0.02, margin=0.02)


@pytest.mark.parametrize(
    ("events", "trials", "bound"),
    [(0, 20, 0.1391), (0, 60, 0.0487), (1, 20, 0.2161), (20, 20, 1.0), (0, 0, 1.0)],
)
def test_the_bound_of_a_rate_is_the_exact_one(events: int, trials: int, bound: float) -> None:
    """``1 - 0.05 ** (1 / n)`` where nothing was seen; the others as tables of Clopper and Pearson have them."""
    assert rate_bound(events, trials) == pytest.approx(bound, abs=1e-4)
