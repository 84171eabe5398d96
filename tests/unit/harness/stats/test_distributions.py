"""Beta, binomial and Student against SciPy, and against what they are defined as."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.stats.distributions import (
    beta_cdf,
    beta_quantile,
    student_cdf,
    student_quantile,
)

SHAPE = st.floats(0.3, 5e4)


@given(st.floats(1e-6, 1 - 1e-6), SHAPE, SHAPE)
def test_the_incomplete_beta_function_is_scipys(place: float, a: float, b: float) -> None:
    x = float(stats.beta.ppf(place, a, b))
    assert beta_cdf(x, a, b) == pytest.approx(float(stats.beta.cdf(x, a, b)), abs=1e-9)


@pytest.mark.parametrize("place", [1e-6, 0.005, 0.025, 0.5, 0.9, 0.999])
@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 1), (3.7, 900), (51, 51), (4e4, 2e4)])
def test_a_quantile_is_where_the_law_has_that_much_below(place: float, a: float, b: float) -> None:
    assert beta_cdf(beta_quantile(place, a, b), a, b) == pytest.approx(place, rel=1e-6)


@pytest.mark.parametrize("freedom", [1, 2, 3.5, 30, 1e4])
@pytest.mark.parametrize("place", [0.001, 0.025, 0.3, 0.975, 0.995])
def test_student_is_scipys(freedom: float, place: float) -> None:
    expected = float(stats.t.ppf(place, freedom))
    assert student_quantile(place, freedom) == pytest.approx(expected, rel=1e-8)
    assert student_cdf(expected, freedom) == pytest.approx(place, rel=1e-8)


def test_student_of_endless_freedom_is_normal() -> None:
    assert student_quantile(0.975, math.inf) == pytest.approx(1.959964, abs=1e-6)


def test_the_ends_of_the_law_hold_nothing_beyond() -> None:
    assert beta_cdf(0.0, 2, 3) == 0.0
    assert beta_cdf(1.0, 2, 3) == 1.0
    assert beta_cdf(0.5, 5e-324, 1.0) == 1.0
