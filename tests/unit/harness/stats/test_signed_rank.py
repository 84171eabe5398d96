"""The Hodges-Lehmann estimate with its interval and p-values, against SciPy, by counting, and by simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.stats.signed_rank import attainable_confidence, signed_rank

VALUES = st.lists(st.floats(-100, 100).map(lambda value: round(value, 3)), min_size=1, max_size=60)


def test_the_middle_is_the_median_of_the_averages_of_all_pairs() -> None:
    values = [0.3, 1.1, 9.0, 2.5]
    averages = [
        (one + other) / 2 for one, other in itertools.combinations_with_replacement(values, 2)
    ]
    assert signed_rank(np.array(values)).middle == pytest.approx(float(np.median(averages)))


@pytest.mark.parametrize("count", [1, 6, 9, 29])
@pytest.mark.parametrize("bound", [-0.7, 0.0, 0.4])
def test_few_values_have_the_exact_p_value(count: int, bound: float) -> None:
    values = np.random.default_rng(count).normal(0.3, 1, count)
    exact = stats.wilcoxon(values - bound, alternative="greater", method="exact").pvalue
    assert signed_rank(values).p_above(bound) == pytest.approx(float(exact), rel=1e-9)
    exact = stats.wilcoxon(values - bound, alternative="less", method="exact").pvalue
    assert signed_rank(values).p_below(bound) == pytest.approx(float(exact), rel=1e-9)


def test_six_values_can_be_95_per_cent_sure_and_five_cannot() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert signed_rank(values).interval(0.95) == (1.0, 6.0)
    assert attainable_confidence(6) >= 0.95 > attainable_confidence(5)
    assert signed_rank(values[:5]).interval(0.95) == (1.0, 5.0)


@given(
    VALUES,
    st.floats(-100, 100).map(lambda value: round(value, 3)),
    st.sampled_from([0.9, 0.95, 0.99]),
)
def test_interval_and_p_value_never_contradict_each_other(
    values: list[float], bound: float, confidence: float
) -> None:
    found = signed_rank(np.array(values))
    low, high = found.interval(confidence)
    assert min(values) <= low <= found.middle <= high <= max(values)
    if attainable_confidence(len(values)) >= confidence:
        tail = (1 - confidence) / 2
        if low > bound:
            assert found.p_above(bound, confidence=confidence) <= tail * (1 + 1e-6)
        elif low < bound:
            assert found.p_above(bound, confidence=confidence) > tail * (1 - 1e-6)


@pytest.mark.parametrize("count", [8, 20, 30, 50, 150])
@pytest.mark.parametrize("tails", ["normal", "heavy"])
def test_it_alarms_as_often_as_it_says(count: int, tails: str) -> None:
    rng = np.random.default_rng(count)
    repeats = 1200
    alarms = 0
    for _ in range(repeats):
        values = rng.normal(size=count) if tails == "normal" else rng.standard_t(2, count)
        alarms += signed_rank(values).p_above(0.0) <= 0.025
    assert alarms / repeats <= 0.025 + 3 * math.sqrt(0.025 / repeats)
    if count >= 50:
        assert alarms / repeats >= 0.025 - 3.5 * math.sqrt(0.025 / repeats)


@pytest.mark.parametrize("size", [2, 4, 6])
def test_values_that_come_in_clusters_alarm_no_more_often(size: int) -> None:
    """Within a point of the nominal 2.5 %; taken as independent they would alarm in 7 to 13 %."""
    rng = np.random.default_rng(size)
    repeats, alarms, blind = 800, 0, 0
    for _ in range(repeats):
        shared = np.repeat(rng.uniform(-1, 1, -(-100 // size)), size)[:100]
        values = shared + rng.normal(0, 0.1, 100)
        alarms += signed_rank(values).p_above(0.0) <= 0.025
        blind += signed_rank(rng.permutation(values)).p_above(0.0) <= 0.025
    assert alarms / repeats <= 0.04  # nominal 20 of 800; more than 32 have probability 0.004
    assert blind / repeats >= 0.07


def test_a_third_of_wild_values_does_not_carry_the_estimate_away() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=90)
    wild = np.where(np.arange(90) % 4, values, 1e6)
    assert abs(signed_rank(wild).middle) < 1.5
    assert math.isfinite(signed_rank(wild).interval(0.95)[0])


def test_the_smallest_p_value_is_that_of_all_values_lying_above() -> None:
    values = 1.0 + 1e-6 * np.random.default_rng(0).normal(size=40)
    found = signed_rank(values)
    assert found.p_above(0.0) == 2.0**-40
    assert found.p_below(0.0) == pytest.approx(1.0)


def test_constant_values_have_a_point_for_an_interval() -> None:
    found = signed_rank(np.full(40, 0.5))
    assert (found.middle, *found.interval(0.95)) == (0.5, 0.5, 0.5)
    assert found.p_above(0.4) == 2.0**-40
    assert found.p_above(0.5) == 1.0
