"""Advice to time longer: given where it helps, with how much, and only there."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.measurement import Estimate
from harness.stats.outlook import narrows, time_factor, widened


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


@pytest.mark.parametrize("count", [64, 100, 250, 600])
def test_independent_values_narrow(count: int) -> None:
    rng = np.random.default_rng(count)
    seen = [narrows(rng.lognormal(0, 0.03, count).tolist()) for _ in range(100)]
    assert np.mean(seen) >= 0.95


def test_few_values_get_the_benefit_of_the_doubt() -> None:
    assert narrows([1.0, 2.0] * 31)
    assert narrows([1.0] * 100)
    assert narrows()


def test_a_machine_that_drifts_does_not_narrow() -> None:
    rng = np.random.default_rng(0)
    drift = np.linspace(1, 1.3, 200)
    assert not narrows((drift * rng.lognormal(0, 0.02, 200)).tolist())


def test_values_of_two_kinds_do_not_narrow() -> None:
    """Whoever ran first paid for page faults: pair ratios of a third, or of three."""
    rng = np.random.default_rng(0)
    calm = rng.lognormal(0, 0.03, 400).tolist()
    seen = []
    for _ in range(20):
        kinds = rng.permutation(np.where(np.arange(400) % 2, 0.34, 2.9))
        seen.append(narrows((kinds * rng.lognormal(0, 0.03, 400)).tolist(), calm))
    assert np.mean(seen) < 0.2
