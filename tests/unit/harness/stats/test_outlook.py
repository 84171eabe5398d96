"""Advice to time longer: given where it helps, with how much, and only there."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.measurement import Estimate
from harness.stats.outlook import time_factor, widened


def an_estimate(value: float, half_width: float) -> Estimate:
    """An interval of ``half_width`` on the log scale."""
    return Estimate(
        value=value,
        low=value * math.exp(-half_width),
        high=value * math.exp(half_width),
        confidence=0.99,
    )


def test_an_interval_that_clears_its_bounds_needs_no_more_time() -> None:
    assert time_factor(an_estimate(1.0, 0.02), 0.0, 1.05, 1 / 1.05) == 1.0
    assert time_factor(an_estimate(1.2, 0.02), 0.005, 1.05) == 1.0
    assert time_factor(an_estimate(1.2, 9.0), 0.0) == 1.0


def test_half_the_width_takes_four_times_as_long_and_a_standard_error_to_spare_twice_that() -> None:
    bound = 1.05
    factor = time_factor(an_estimate(1.0, 2 * math.log(bound)), 0.0, bound)
    assert factor == pytest.approx(4.0 * (1 + 1 / 2.576) ** 2, rel=1e-3)
    assert time_factor(an_estimate(1.0, 4 * math.log(bound)), 0.0, bound) == pytest.approx(
        4 * factor
    )


def test_what_runs_differ_by_anyway_has_to_be_made_up_for() -> None:
    alone = time_factor(an_estimate(1.0, 0.08), 0.0, 1.05)
    beside = time_factor(an_estimate(1.0, 0.08), 0.012, 1.05)
    assert beside > 1.5 * alone
    assert time_factor(an_estimate(1.0, 0.08), 0.02, 1.05) == math.inf


def test_a_ratio_on_the_margin_is_never_decided_by_time() -> None:
    assert time_factor(an_estimate(1.05, 0.01), 0.0, 1.05) == math.inf
    assert time_factor(an_estimate(1.048, 0.01), 0.005, 1.05) == math.inf


def test_an_estimate_known_no_better_than_the_margin_does_not_count_as_lying_on_it() -> None:
    assert time_factor(an_estimate(1.05, 0.1), 0.0058, 1.05) < 10


@given(st.floats(0.8, 1.3), st.floats(0.001, 0.5), st.floats(0, 0.02), st.floats(0.01, 0.2))
def test_so_much_more_time_does_clear_the_bound(
    value: float, width: float, between: float, margin: float
) -> None:
    bound = 1 + margin
    if width > math.log(bound):  # where the estimate itself is expected to move
        return
    factor = time_factor(an_estimate(value, width), between, bound)
    if math.isfinite(factor):
        longer = widened(an_estimate(value, width / math.sqrt(factor)), between)
        assert longer.high <= bound * (1 + 1e-9) or longer.low >= bound * (1 - 1e-9)
    if factor > 1.0:
        now = widened(an_estimate(value, width), between)
        assert now.low < bound < now.high
