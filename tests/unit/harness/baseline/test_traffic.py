"""Counts against a baseline: growth fails, a gain is told, what only one side knows is not passed over."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.baseline.traffic import TRAFFIC_CHECK, compare_traffic
from harness.model.baseline import BaselineCase
from harness.model.outcome import Outcome
from harness.model.trace import TrafficCounts
from harness.model.verdict import CheckResult

_NOT_JUDGED = {"kernels", "memsets"}
_CLEAN = TrafficCounts(kernels=2)
_ROUND_TRIP = TrafficCounts(kernels=2, d2h=1, d2h_bytes=4, syncs=1)


def _case(**traffic: TrafficCounts) -> BaselineCase:
    return BaselineCase(
        key="softmax_cross_entropy/64x10",
        parameters={},
        traffic_device="simulated",
        timing_device="cpu",
        traffic=traffic,
    )


def _compared(then: BaselineCase, now: BaselineCase) -> CheckResult:
    result = compare_traffic(then, now, name="main")
    assert result.check == TRAFFIC_CHECK
    return result


def test_a_host_read_that_came_back_fails_and_is_counted_by_region() -> None:
    then, now = _case(run=_CLEAN, forward=_CLEAN), _case(run=_ROUND_TRIP, forward=_ROUND_TRIP)
    result = _compared(then, now)
    assert result.outcome is Outcome.FAILED
    assert result.summary == (
        "more traffic than in baseline 'main': D2H copies 0 -> 1 in the whole call and 5 more"
    )
    assert "D2H bytes 0 -> 4 within 'forward'" in result.details
    assert "host waits 0 -> 1 within 'forward'" in result.details
    assert result.evidence == "exact counts on simulated, then and now"


def test_its_fixed_twin_passes() -> None:
    result = _compared(_case(run=_CLEAN, forward=_CLEAN), _case(run=_CLEAN, forward=_CLEAN))
    assert result.outcome is Outcome.PASSED
    assert result.summary == "same traffic as in baseline 'main' in 2 regions"
    assert (result.details, result.next_step) == ((), "")


def test_less_traffic_passes_and_says_how_to_keep_the_gain() -> None:
    result = _compared(_case(forward=_ROUND_TRIP), _case(forward=_CLEAN))
    assert result.outcome is Outcome.PASSED
    assert result.summary.startswith("less traffic than in baseline 'main': D2H copies 1 -> 0")
    assert "save the baseline again" in result.next_step


def test_more_in_one_region_is_not_paid_for_by_less_in_another() -> None:
    then = _case(run=_ROUND_TRIP, forward=_ROUND_TRIP, backward=_CLEAN)
    now = _case(run=_ROUND_TRIP, forward=_CLEAN, backward=_ROUND_TRIP)
    assert _compared(then, now).outcome is Outcome.FAILED


@pytest.mark.parametrize("field", [field.name for field in fields(TrafficCounts)])
def test_each_count_fails_on_growth_or_is_told_without_judging(field: str) -> None:
    then, now = TrafficCounts(d2h=1, h2d=1), replace(TrafficCounts(d2h=1, h2d=1), **{field: 7})
    result = _compared(_case(forward=then), _case(forward=now))
    expected = Outcome.PASSED if field in _NOT_JUDGED else Outcome.FAILED
    assert result.outcome is expected
    assert len(result.details) == 1


@pytest.mark.parametrize(
    ("then", "now", "says"),
    [
        (_case(), _case(), "baseline 'main' holds no traffic of this case"),
        (_case(), _case(run=_CLEAN), "baseline 'main' holds no traffic of this case"),
        (_case(run=_CLEAN), _case(), "no traffic was counted now, so it cannot be compared"),
        (_case(run=_CLEAN, loss=_CLEAN), _case(run=_CLEAN), "region 'loss' of baseline 'main' was"),
        (_case(run=_CLEAN), _case(run=_CLEAN, loss=_CLEAN), "region 'loss' is not in baseline"),
    ],
    ids=["neither", "not then", "not now", "region gone", "region new"],
)
def test_what_only_one_side_knows_is_inconclusive(
    then: BaselineCase, now: BaselineCase, says: str
) -> None:
    result = _compared(then, now)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert result.summary.startswith(says)
    assert result.next_step


def test_growth_in_a_shared_region_fails_though_another_region_is_new() -> None:
    result = _compared(_case(run=_CLEAN), _case(run=_ROUND_TRIP, loss=_CLEAN))
    assert result.outcome is Outcome.FAILED
    assert "region 'loss' is not in baseline 'main'" in result.details


_counts = st.builds(
    TrafficCounts,
    **{field.name: st.integers(0, 3) for field in fields(TrafficCounts)},
)


@given(_counts, _counts)
def test_a_pass_means_that_no_judged_count_grew(then: TrafficCounts, now: TrafficCounts) -> None:
    grew = any(
        getattr(now, field.name) > getattr(then, field.name)
        for field in fields(TrafficCounts)
        if field.name not in _NOT_JUDGED
    )
    result = _compared(_case(run=then), _case(run=now))
    assert result.outcome is (Outcome.FAILED if grew else Outcome.PASSED)
