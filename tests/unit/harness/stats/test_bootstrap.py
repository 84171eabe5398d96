"""Bootstrap intervals: the right law, honest small samples, clear words for bad input."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.measurement import Estimate
from harness.stats.bootstrap import (
    attainable_confidence,
    fewest_values,
    median_interval,
    median_places,
)

POSITIVE = st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=60)


def literal_bootstrap(values: Sequence[float], resamples: int) -> tuple[float, float]:
    """What the percentile bootstrap is defined as: draw with replacement, sort, repeat."""
    rng = np.random.default_rng(99)
    array = np.asarray(values)
    drawn = array[rng.integers(0, array.size, (resamples, array.size))]
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return float(low), float(high)


@pytest.mark.parametrize("count", [101, 200, 201, 500])
def test_drawing_order_statistics_equals_resampling_the_values(count: int) -> None:
    values = np.random.default_rng(count).lognormal(0, 0.2, count).tolist()
    low, high = literal_bootstrap(values, 8_000)
    found = median_interval(values)
    width = high - low
    assert found.low == pytest.approx(low, abs=0.04 * width)
    assert found.high == pytest.approx(high, abs=0.04 * width)
    assert found.value == float(np.median(values))


@pytest.mark.parametrize("count", [6, 7, 11, 20, 99, 150])
def test_the_interval_covers_the_true_median_as_often_as_it_says(count: int) -> None:
    rng = np.random.default_rng(count)
    covered = 0
    for _ in range(400):
        found = median_interval(rng.lognormal(0, 0.3, count).tolist())
        covered += found.low <= 1.0 <= found.high
    assert covered >= 367  # 95 % nominal: fewer than 367 of 400 has probability 0.002


@given(POSITIVE)
@settings(max_examples=60)
def test_an_interval_holds_its_point_and_stays_within_the_sample(values: list[float]) -> None:
    found = median_interval(values)
    assert min(values) <= found.low <= found.value <= found.high <= max(values)
    assert found == median_interval(values)


@given(POSITIVE, st.floats(0.5, 2.0))
@settings(max_examples=30)
def test_scaling_the_times_scales_the_interval(values: list[float], factor: float) -> None:
    plain = median_interval(values)
    scaled = median_interval([factor * value for value in values])
    assert scaled.low == pytest.approx(factor * plain.low)
    assert scaled.high == pytest.approx(factor * plain.high)


def test_few_values_carry_the_confidence_they_can_have() -> None:
    assert median_interval([3.0]) == Estimate(value=3.0, low=3.0, high=3.0, confidence=0.0)
    assert median_interval([3.0, 1.0, 2.0]) == Estimate(
        value=2.0, low=1.0, high=3.0, confidence=0.75
    )
    assert median_interval([1.0] * 5).confidence == attainable_confidence(5) < 0.95
    assert median_interval([1.0] * 6).confidence == 0.95


def test_a_constant_sample_has_a_point_for_an_interval() -> None:
    assert median_interval([7.0] * 30) == Estimate(value=7.0, low=7.0, high=7.0, confidence=0.95)


def test_another_confidence_gives_another_width() -> None:
    values = np.random.default_rng(0).lognormal(0, 0.2, 50).tolist()
    wide, narrow = median_interval(values, confidence=0.99), median_interval(values, confidence=0.5)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_named(bad: float) -> None:
    with pytest.raises(ValueError, match=rf"values: value 2 of 3 is {bad}; give finite numbers"):
        median_interval([1.0, bad, 2.0])


def test_no_values_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="values: no values given"):
        median_interval([])


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, math.nan])
def test_a_confidence_that_is_no_probability_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        median_interval([1.0], confidence=confidence)


@pytest.mark.parametrize(("confidence", "count"), [(0.95, 6), (0.99, 8)])
def test_the_fewest_values_attain_the_confidence_and_one_less_does_not(
    confidence: float, count: int
) -> None:
    assert fewest_values(confidence) == count
    assert attainable_confidence(count) >= confidence > attainable_confidence(count - 1)


def test_the_places_of_an_interval_are_those_of_the_beta_law_and_never_inside_the_sign_tests() -> (
    None
):
    low, high = median_places(1000, 0.95)
    assert low + high == 1.0
    assert 0.5 - low == pytest.approx(1.96 / math.sqrt(4 * 1000), rel=0.01)
    assert median_places(7, 0.95)[0] == pytest.approx(0.5 / 7)  # minimum to maximum of seven
    assert median_places(5, 0.95) == (0.0, 1.0)
