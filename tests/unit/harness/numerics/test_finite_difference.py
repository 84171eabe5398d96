"""Slopes found by finite differences, against slopes known in closed form."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.numerics.finite_difference import LineSlope, refine_slope

ROUNDING = 2.0**-52


def steps(function: Callable[[float], float]) -> list[LineSlope]:
    return list(
        refine_slope(function, at_zero=function(0.0), first_step=2.0**-6, rounding=ROUNDING)
    )


@given(st.floats(-3, 3), st.floats(0.1, 4))
def test_a_smooth_slope_lies_within_its_stated_error(shift: float, pace: float) -> None:
    for function, slope in (
        (lambda t: math.exp(pace * t), pace),
        (lambda t: math.sin(pace * t + shift), pace * math.cos(shift)),
        (lambda t: shift * t + 1.0, shift),
    ):
        for found in steps(function):
            assert abs(found.value - slope) <= 2 * found.error
            assert abs(found.plain - slope) <= 2 * found.plain_error
            assert found.kink == 0.0


def test_a_few_steps_reach_eleven_digits() -> None:
    assert steps(math.exp)[2].error < 1e-11


def test_plain_differences_become_exact_once_a_kink_is_out_of_reach() -> None:
    for kink in (0.01, -0.001, 3e-6):
        last = steps(lambda t, kink=kink: 2 * t + abs(t - kink))[-1]  # type: ignore[misc]
        assert last.last
        assert abs(last.plain - (2 - math.copysign(1, kink))) <= 2 * last.plain_error
        assert last.plain_error < 1e-6
        assert last.kink == 0.0


def test_a_kink_at_the_point_shows_as_half_its_jump() -> None:
    last = steps(lambda t: max(0.0, t))[-1]
    assert last.kink == pytest.approx(0.5)
    assert steps(lambda t: t * t)[-1].kink == 0.0


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_function_that_is_not_finite_ends_the_search(value: float) -> None:
    (only,) = steps(lambda t: value if t > 0 else 0.0)
    assert only.last
    assert math.isnan(only.value)
    assert only.step == 2.0**-6


def test_only_the_last_step_says_so() -> None:
    assert [found.last for found in steps(math.exp)] == [False] * 9 + [True]
