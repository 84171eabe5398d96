"""Changes of level over commits: found where they are, and in noise no more often than stated."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from work import calls_of

from harness.stats.changepoints import change_points

Noise = Callable[[np.random.Generator, int], np.ndarray]

LAWS: dict[str, Noise] = {
    "normal": lambda rng, count: rng.normal(size=count),
    "skewed": lambda rng, count: rng.lognormal(0, 1, count),
    "heavy": lambda rng, count: rng.standard_t(2, count),
    "even": lambda rng, count: rng.random(count),
    "outliers": lambda rng, count: rng.normal(size=count) + 40.0 * (rng.random(count) < 0.05),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("count", [10, 50, 200])
def test_noise_of_any_law_has_a_change_no_more_often_than_stated(law: str, count: int) -> None:
    rng = np.random.default_rng(count)
    found = sum(bool(change_points(LAWS[law](rng, count), p=0.05)) for _ in range(400))
    assert found <= 33  # nominal 20 of 400; more than 33 have probability 0.002


def test_two_per_cent_in_fifty_points_of_half_a_per_cent_of_noise_are_found_in_place() -> None:
    rng = np.random.default_rng(0)
    exact = 0
    for _ in range(100):
        values = 1e6 * rng.normal(1, 0.005, 50)
        values[30:] *= 1.02
        (found,) = change_points(values)
        assert abs(found.index - 30) <= 2
        assert found.before == pytest.approx(1e6, rel=0.004)
        assert found.after == pytest.approx(1.02e6, rel=0.004)
        assert found.p <= 0.001
        exact += found.index == 30
    assert exact >= 85


def test_a_single_wild_run_is_no_change_and_three_in_a_row_at_a_new_level_are() -> None:
    values = np.random.default_rng(1).normal(1, 0.005, 50)
    values[20], values[33] = 3.0, 0.2
    assert change_points(values) == ()
    values[-4:] = values[-4:] * 1.05
    (found,) = change_points(values)
    assert found.index == 46


def test_ten_changes_in_a_row_are_all_found() -> None:
    rng = np.random.default_rng(2)
    level = np.repeat(1.02 ** np.array([0, 1, 2, 1, 0, 3, 4, 2, 1, 5, 6]), 30)
    found = change_points(level * rng.normal(1, 0.004, level.size))
    assert len(found) == 10
    assert all(abs(each.index - 30 * step) <= 3 for step, each in enumerate(found, 1))


def test_a_creep_of_one_per_cent_a_commit_is_seen_as_changes() -> None:
    """Each step is twice the noise of its values: the gate between neighbours sees none of them."""
    rng = np.random.default_rng(3)
    values = np.concatenate([np.ones(20), 1.01 ** np.arange(1, 11), np.full(10, 1.01**10)])
    found = change_points(values * rng.normal(1, 0.005, 40))
    assert found
    assert found[-1].after > 1.08 * found[0].before


def test_levels_without_noise_are_told_apart_and_constant_series_have_none() -> None:
    (found,) = change_points([1.0] * 20 + [2.0] * 20)
    assert (found.index, found.before, found.after) == (20, 1.0, 2.0)
    assert found.p < 1e-100
    assert change_points([1.0] * 40) == ()
    assert change_points([1.0] * 20 + [5.0] + [1.0] * 20) == ()


@pytest.mark.parametrize("count", [0, 1, 5])
def test_too_few_values_have_no_change(count: int) -> None:
    assert change_points([float(index) for index in range(count)]) == ()


@given(st.lists(st.floats(0.5, 2.0), max_size=80), st.floats(0.1, 10))
@settings(max_examples=60)
def test_scale_does_not_matter_and_levels_are_long_enough(
    values: list[float], scale: float
) -> None:
    found = change_points(values, p=0.05)
    assert len(change_points([4.0 * value for value in values], p=0.05)) == len(found)
    edges = [0, *(each.index for each in found), len(values)]
    assert all(high - low >= 3 or not found for low, high in itertools.pairwise(edges))


def test_a_change_that_only_its_neighbour_made_clear_is_dropped() -> None:
    """A bump of four values: what split the whole series is tested again between its neighbours."""
    rng = np.random.default_rng(5)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = rng.normal(0, 1, 60)
        values[20:26] += 4
        for each in change_points(values, p=0.01):
            assert each.p <= 0.01


def test_a_long_and_busy_series_is_searched_in_proportion_to_its_length() -> None:
    quiet = np.random.default_rng(4).normal(1, 0.005, 10_000)
    busy = quiet * (1 + 0.02 * (np.arange(10_000) // 50 % 7))
    assert len(change_points(quiet)) == 0
    assert 150 <= len(change_points(busy)) <= 210
    assert calls_of(lambda: change_points(busy)) < 2.5 * calls_of(
        lambda: change_points(busy[:5000])
    )


@pytest.mark.parametrize("p", [0.0, 1.0, 5.0])
def test_a_chance_that_is_no_probability_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="p is"):
        change_points([1.0] * 10, p=p)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_named(bad: float) -> None:
    with pytest.raises(ValueError, match="value 3 is not a finite number"):
        change_points([1.0, 2.0, bad])
