"""Comparison of an output with its truth: what is counted, located and said."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from harness.numerics.compare import Comparison, Mismatch, compare, comparison_text
from harness.numerics.tolerance import Tolerance

NAN, INF = math.nan, math.inf
TOLERANCE = Tolerance(absolute=0.5, relative=0.25, because="test")
EXACT = Tolerance(absolute=0.0, relative=0.0, because="test")


def test_an_entry_may_be_off_by_absolute_plus_relative() -> None:
    assert compare(np.array([2.0 + 0.5 + 0.5]), np.array([2.0]), TOLERANCE).passed
    beyond = compare(np.array([2.0 + 1.01]), np.array([2.0]), TOLERANCE)
    assert not beyond.passed
    assert beyond.beyond == 1
    assert beyond.worst_ratio == pytest.approx(1.01)


def test_the_worst_entry_is_located_by_its_share_of_what_is_allowed() -> None:
    expected = np.array([[0.0, 100.0], [0.0, 0.0]])
    observed = expected + np.array([[0.0, 2.0], [0.4, 0.0]])
    comparison = compare(observed, expected, TOLERANCE)
    assert comparison.passed
    assert comparison.worst is not None
    assert comparison.worst.index == (1, 0)
    assert comparison.worst_ratio == pytest.approx(0.8)


def test_entries_are_counted_over_all_chunks() -> None:
    expected = np.zeros((7, 9001))
    observed = expected.astype(np.float32)
    observed[::2, ::1000] = 1.0
    observed[6, 8999] = -9.0
    comparison = compare(observed, expected, TOLERANCE)
    assert comparison.beyond == 4 * 10 + 1
    assert comparison.worst is not None
    assert comparison.worst.index == (6, 8999)
    assert comparison.finite == comparison.entries == 7 * 9001


def test_a_transposed_output_is_caught_though_its_shape_agrees() -> None:
    expected = np.arange(9.0).reshape(3, 3)
    assert not compare(expected.T, expected, TOLERANCE).passed
    assert compare(expected.T.copy().T, expected, TOLERANCE).passed


def test_nan_agrees_with_nan_and_infinity_with_the_same_infinity() -> None:
    values = np.array([NAN, INF, -INF, 1.0])
    comparison = compare(values, values.copy(), EXACT)
    assert comparison.passed
    assert comparison.finite == 1
    assert comparison.entries == 4


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (NAN, 1.0),
        (1.0, NAN),
        (INF, 1.0),
        (-INF, 1.0),
        (1.0, INF),
        (INF, -INF),
        (-INF, INF),
        (NAN, INF),
        (INF, NAN),
    ],
)
def test_any_other_pair_with_a_non_finite_side_is_a_mismatch(
    observed: float, expected: float
) -> None:
    loose = Tolerance(absolute=1e300, relative=0.5, because="test")
    good = np.zeros((2, 3))
    bad, truth = good.copy(), good.copy()
    bad[1, 2], truth[1, 2] = observed, expected
    comparison = compare(bad, truth, loose)
    assert not comparison.passed
    (mismatch,) = comparison.mismatches
    names = [str(value) if not math.isfinite(value) else "finite" for value in (observed, expected)]
    assert mismatch == Mismatch(observed=names[0], expected=names[1], count=1, first=(1, 2))
    assert compare(truth, truth, loose).passed


def test_mismatches_of_a_kind_are_counted_and_the_first_is_kept() -> None:
    expected = np.zeros(40_000)
    observed = expected.copy()
    observed[[5, 30_000]] = NAN
    (mismatch,) = compare(observed, expected, TOLERANCE).mismatches
    assert (mismatch.count, mismatch.first) == (2, (5,))


def test_a_number_beside_nan_is_still_compared() -> None:
    observed, expected = np.array([NAN, 9.0, 0.1]), np.array([NAN, 0.0, 0.0])
    comparison = compare(observed, expected, TOLERANCE)
    assert comparison.beyond == 1
    assert comparison.worst is not None
    assert comparison.worst.index == (1,)


def test_infinity_is_right_where_the_dtype_cannot_hold_the_value() -> None:
    half = Tolerance(absolute=0.0, relative=1e-3, because="test", dtype="float16")
    expected = np.array([7e4, -7e4, 1e4])
    with np.errstate(over="ignore"):
        stored = expected.astype(np.float16)
    assert compare(stored, expected, half).passed
    wrong_sign = np.array([-INF, -INF, 1e4], np.float16)
    assert not compare(wrong_sign, expected, half).passed
    too_early = np.array([INF, -INF, INF], np.float16)
    assert compare(too_early, expected, half).mismatches[0].first == (2,)
    anything = Tolerance(absolute=0.0, relative=1e-3, because="test")
    assert not compare(stored, expected, anything).passed


def test_the_largest_numbers_beside_infinity_are_compared_without_overflow() -> None:
    largest = np.finfo(np.float64).max
    comparison = compare(np.array([INF, largest]), np.array([largest, largest]), TOLERANCE)
    assert comparison.mismatches[0].first == (0,)
    assert comparison.beyond == 0


def test_without_any_allowance_only_equal_values_agree() -> None:
    assert compare(np.array([1.5, 0.0]), np.array([1.5, -0.0]), EXACT).passed
    comparison = compare(np.array([1.5 + 2**-52]), np.array([1.5]), EXACT)
    assert comparison.beyond == 1
    assert comparison.worst_ratio == INF
    assert "beyond any multiple of" in comparison_text(comparison, output="x")


def test_large_integers_are_compared_beyond_the_digits_of_float64() -> None:
    big = np.array([2**60], np.int64)
    assert not compare(big + 1, big, EXACT).passed
    assert compare(big, big, EXACT).passed


def test_a_huge_difference_does_not_hide_the_rest_of_its_chunk() -> None:
    with np.errstate(over="raise"):
        comparison = compare(np.array([1e308, 3.0]), np.array([-1e308, 0.0]), TOLERANCE)
    assert comparison.beyond == 2


def test_an_infinite_allowance_allows_that_entry_only() -> None:
    absurd = Tolerance(absolute=0.0, relative=1e10, because="test")
    comparison = compare(np.array([-1e308, 3.0]), np.array([1e308, 0.0]), absurd)
    assert comparison.beyond == 1


@pytest.mark.parametrize(
    ("observed", "expected", "said"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2)), "shape (2, 3) where (3, 2) was expected"),
        (np.zeros((2, 1)), np.zeros(2), "shape (2, 1) where (2,) was expected"),
        (np.zeros(2, complex), np.zeros(2), "the output has dtype complex128"),
        (np.zeros(2), np.array(["a", "b"]), "the oracle has dtype <U1"),
        (None, np.zeros(()), "the output has dtype object"),
        (np.zeros(2, np.int32), np.zeros(2), "dtype int32 where a floating-point dtype"),
    ],
)
def test_what_cannot_be_compared_is_a_problem_and_not_a_pass(
    observed: Any, expected: Any, said: str
) -> None:
    comparison = compare(observed, expected, TOLERANCE)
    assert not comparison.passed
    assert said in comparison_text(comparison, output="loss")


def test_the_declared_dtype_is_demanded() -> None:
    declared = Tolerance(absolute=1.0, relative=0.0, because="test", dtype="float32")
    assert compare(np.zeros(2, np.float16), np.zeros(2), declared).problem == (
        "dtype float16 where float32 was declared"
    )
    assert compare(np.zeros(2, np.float32), np.zeros(2), declared).passed


def test_bfloat16_outputs_are_compared_by_value() -> None:
    values = np.array([1.0, 2.0, NAN]).astype(ml_dtypes.bfloat16)
    assert compare(values, np.array([1.0, 2.0, NAN]), EXACT).passed
    assert not compare(values, np.array([1.0, 2.5, NAN]), EXACT).passed


def test_a_scalar_is_compared_and_located_as_one() -> None:
    comparison = compare(np.float32(1.0), 9.0, TOLERANCE)
    assert comparison.worst is not None
    assert comparison.worst.index == ()
    assert "at the scalar: 1 where 9 was expected" in comparison_text(comparison, output="loss")


def test_no_entries_agree_and_the_sentence_says_so() -> None:
    comparison = compare(np.zeros((0, 3)), np.zeros((0, 3)), TOLERANCE)
    assert comparison.passed
    assert comparison.worst is None
    assert "no entries" in comparison_text(comparison, output="x")


def test_the_sentence_of_an_agreement_says_how_close_it_was() -> None:
    near = compare(np.array([0.25, NAN]), np.array([0.0, NAN]), TOLERANCE)
    assert comparison_text(near, output="x") == (
        "x: 2 entries agree (1 of them not finite), worst error 0.5 times what is allowed"
    )
    nothing = compare(np.array([NAN]), np.array([NAN]), TOLERANCE)
    assert comparison_text(nothing, output="x") == "x: 1 entry agrees, none of them finite"


def test_the_sentence_of_a_failure_names_value_place_and_allowance() -> None:
    observed = np.zeros((2, 3))
    observed[0, 1], observed[1, 2] = 2.0, NAN
    text = comparison_text(compare(observed, np.zeros((2, 3)), TOLERANCE), output="dx")
    assert text == (
        "dx: 1 of 6 entries beyond tolerance, worst 4 times the allowed 0.5 at [0, 1]: 2 where 0 was "
        "expected; 1 entry nan where a finite number was expected, first at [1, 2]"
    )


def test_the_sentence_of_a_mismatch_alone_names_no_worst_entry() -> None:
    text = comparison_text(compare(np.array([NAN, 0.1]), np.zeros(2), TOLERANCE), output="dx")
    assert text == "dx: 1 entry nan where a finite number was expected, first at [0]"


@settings(max_examples=60)
@given(
    arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(width=64)),
    arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(width=64)),
    st.floats(0, 1e3),
    st.floats(0, 0.9),
)
def test_it_decides_as_the_definition_does_entry_by_entry(
    observed: Any, expected: Any, absolute: float, relative: float
) -> None:
    size = min(observed.size, expected.size)
    tolerance = Tolerance(absolute=absolute, relative=relative, because="test")
    comparison = compare(observed[:size], expected[:size], tolerance)

    def agrees(seen: float, truth: float) -> bool:
        if math.isfinite(seen) and math.isfinite(truth):
            return abs(seen - truth) <= absolute + relative * abs(truth)
        return seen == truth or (math.isnan(seen) and math.isnan(truth))

    verdicts = [agrees(float(a), float(b)) for a, b in zip(observed, expected, strict=False)]
    assert comparison.passed == all(verdicts)
    counted = comparison.beyond + sum(mismatch.count for mismatch in comparison.mismatches)
    assert counted == verdicts.count(False)


def test_a_comparison_with_a_problem_has_no_worst_entry() -> None:
    assert not Comparison(tolerance=EXACT, entries=1, problem="x").passed


@pytest.mark.parametrize(
    ("ratio", "says"), [(1_224.4, "worst 1,220 times"), (3.456, "worst 3.46 times")]
)
def test_how_far_off_is_written_in_plain_digits(ratio: float, says: str) -> None:
    far = compare(np.array([ratio / 2]), np.zeros(1), TOLERANCE)  # which allows 0.5
    assert says in comparison_text(far, output="x")


@pytest.mark.parametrize(
    ("expected", "absolute", "vacuous"),
    [
        ([1.0, -2.0], 1e30, True),
        ([1.0, -2.0], 1.5, False),
        ([0.0, 0.0], 1e30, False),
        ([], 1e30, False),
        ([math.nan, 1.0], 1e30, True),
        ([math.inf, 1.0], 0.5, False),
        ([math.nan, math.inf], 1e30, False),
        ([1.0] * (1 << 14) + [3.0], 2.0, False),
    ],
)
def test_a_tolerance_that_lets_zeros_pass_for_numbers_is_vacuous(
    expected: list[float], absolute: float, vacuous: bool
) -> None:
    truth = np.array(expected)
    tolerance = Tolerance(absolute=absolute, relative=0.0, because="as declared", dtype=None)
    assert compare(truth, truth, tolerance).vacuous is vacuous
