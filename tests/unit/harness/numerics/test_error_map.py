"""The map of an output: it decides as the comparison does, and every block holds the worst of its entries."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from harness.model.error_map import ERROR_PROBABILITIES, ErrorMap
from harness.numerics.compare import compare
from harness.numerics.error_map import error_map
from harness.numerics.tolerance import Tolerance

NAN, INF = math.nan, math.inf
TOLERANCE = Tolerance(absolute=0.5, relative=0.25, because="test")
EXACT = Tolerance(absolute=0.0, relative=0.0, because="test")

SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=14)
VALUES = st.sampled_from([0.0, 1.0, -1.0, 1.5, 2.0, 4.0, 1e308, -1e308, 7e4, NAN, INF, -INF])


def map_of(got: Any, expected: Any, tolerance: Tolerance = TOLERANCE) -> ErrorMap:
    found = error_map(got, expected, tolerance, output="out")
    assert found is not None
    return found


def quotient(got: float, expected: float) -> float:
    """The definition, for one entry of a float64 output and ``TOLERANCE``."""
    if got == expected or (math.isnan(got) and math.isnan(expected)):
        return 0.0
    if math.isnan(got) or math.isnan(expected):
        return NAN
    allowed = TOLERANCE.absolute + TOLERANCE.relative * abs(expected)
    return abs(got - expected) / allowed if math.isfinite(expected) else INF


@settings(max_examples=100)
@given(st.data())
def test_nothing_is_wrong_just_where_the_comparison_passes(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([np.float16, np.float32, np.float64, np.int32, np.bool_]))
    shape = data.draw(SHAPES)
    plain = st.sampled_from([0.0, 1.0, 2.0]) if dtype in (np.int32, np.bool_) else VALUES
    expected = data.draw(arrays.arrays(np.float64, shape, elements=plain))
    with np.errstate(all="ignore"):
        got = data.draw(arrays.arrays(np.float64, shape, elements=plain)).astype(dtype)
    if np.dtype(dtype).kind in "bi":
        expected = expected.astype(dtype)
    named = {"absolute": 0.5, "relative": 0.25, "because": "test", "dtype": got.dtype.name}
    for tolerance in (EXACT, Tolerance(**named)):
        comparison = compare(got, expected, tolerance)
        found = map_of(got, expected, tolerance)
        others = sum(mismatch.count for mismatch in comparison.mismatches)
        assert (found.wrong == 0) is comparison.passed
        assert (found.wrong, found.not_finite) == (comparison.beyond + others, others)
        if not others:
            assert found.worst == comparison.worst_ratio


@settings(max_examples=50)
@given(st.data())
def test_a_block_holds_the_largest_quotient_of_its_entries(data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=1, max_dims=3, max_side=70))
    pick = st.sampled_from([0.0, 1.0, 2.0, 64.0, NAN, INF])
    expected = data.draw(arrays.arrays(np.float64, shape, elements=pick, fill=st.just(1.0)))
    got = data.draw(arrays.arrays(np.float64, shape, elements=pick, fill=st.just(1.0)))
    found = map_of(got, expected)
    truth = np.array([quotient(*pair) for pair in zip(got.flat, expected.flat, strict=True)])
    rows = truth.reshape(-1, shape[-1])
    height, width = found.block
    assert len(found.grid) == -(-rows.shape[0] // height) <= 12
    assert len(found.grid[0]) == -(-rows.shape[1] // width) <= 32
    for i, row in enumerate(found.grid):
        for j, cell in enumerate(row):
            largest = rows[i * height : (i + 1) * height, j * width : (j + 1) * width].max()
            assert cell == pytest.approx(largest, rel=0.005, nan_ok=True)
    assert math.isnan(found.worst) == math.isnan(truth.max())
    worst = truth.reshape(shape)[found.worst_index]
    assert worst == pytest.approx(truth.max(), nan_ok=True)


@pytest.mark.parametrize("shape", [(7, 9001), (3, 40_000), (70_000,), (50_000, 3), (9, 11, 13, 17)])
def test_one_planted_error_is_found_where_it_is(shape: tuple[int, ...]) -> None:
    expected = np.zeros(shape)
    got = expected.copy()
    assert map_of(got, expected).wrong == 0
    index = tuple(2 * size // 3 for size in shape)
    got[index] = -3.0
    found = map_of(got, expected)
    assert (found.wrong, found.worst_index, found.got, found.worst) == (1, index, -3.0, 6.0)
    flat = int(np.ravel_multi_index(index, shape))
    row, column = divmod(flat, shape[-1])
    hot = [(i, j) for i, cells in enumerate(found.grid) for j, cell in enumerate(cells) if cell > 0]
    assert hot == [(row // found.block[0], column // found.block[1])]


def test_a_map_that_passed_is_coarser() -> None:
    expected = np.zeros((1200, 3200))
    passed = map_of(expected, expected)
    assert (passed.block, len(passed.grid), len(passed.grid[0])) == ((200, 200), 6, 16)
    wrong = expected.copy()
    wrong[0, 0] = 1.0
    failed = map_of(wrong, expected)
    assert (failed.block, len(failed.grid), len(failed.grid[0])) == ((100, 100), 12, 32)


def test_one_number_is_one_block_and_no_entries_are_none() -> None:
    one = map_of(np.array(2.0), np.array(1.0))
    assert (one.shape, one.worst_index, one.grid, one.wrong) == ((), (), ((1.33,),), 1)
    assert (one.got, one.expected) == (2.0, 1.0)
    for shape in ((0,), (0, 4), (4, 0), (2, 0, 3)):
        empty = map_of(np.zeros(shape), np.zeros(shape))
        assert (empty.wrong, empty.quantiles) == (0, ())
        assert not any(empty.grid)


def test_what_agrees_without_being_finite_is_right_and_what_does_not_is_wrong() -> None:
    got = np.array([NAN, INF, -INF, NAN, INF, 1.0])
    same = map_of(got, got.copy(), EXACT)
    assert (same.wrong, same.worst) == (0, 0.0)
    other = map_of(got, np.array([NAN, INF, INF, 1.0, NAN, INF]), EXACT)
    assert (other.wrong, other.not_finite, other.worst_index) == (4, 4, (3,))
    (cells,) = other.grid
    assert cells[:3] == (0.0, 0.0, INF)
    assert math.isnan(cells[3])
    assert math.isnan(cells[4])
    assert cells[5] == INF


def test_infinity_is_right_where_the_dtype_ends() -> None:
    half = Tolerance(absolute=0.0, relative=1e-3, because="test", dtype="float16")
    assert map_of(np.array([INF], np.float16), np.array([7e4]), half).wrong == 0
    assert map_of(np.array([INF], np.float16), np.array([6e4]), half).wrong == 1


def test_integers_bool_and_bfloat16_have_maps_and_complex_numbers_none() -> None:
    big = np.array([2**53 + 1])
    assert map_of(big, big - 1, EXACT).wrong == 1
    assert map_of(np.array([True, False]), np.array([True, True]), EXACT).wrong == 1
    assert map_of(np.array([1.0], ml_dtypes.bfloat16), np.array([1.0])).dtype == "bfloat16"
    assert error_map(np.array([1j]), np.array([1.0]), TOLERANCE, output="z") is None
    assert error_map(np.zeros(3), np.zeros(4), TOLERANCE, output="z") is None


def test_rounding_never_makes_right_of_wrong() -> None:
    just = map_of(np.array([0.5 * (1 + 1e-9)]), np.array([0.0]))
    assert just.wrong == 1
    assert just.grid[0][0] > 1
    assert just.quantiles[-1] > 1
    assert map_of(np.array([0.5]), np.array([0.0])).grid == ((1.0,),)


def test_quantiles_are_those_of_all_entries_and_of_a_large_output_nearly() -> None:
    got = np.arange(1000.0)
    small = map_of(got, np.zeros(1000))
    shares = dict(zip(ERROR_PROBABILITIES, small.quantiles, strict=True))
    assert (shares[0.0], shares[0.5], shares[1.0]) == (0.0, 998.0, 2000.0)
    large = np.random.default_rng(0).uniform(size=(1024, 1024))
    found = map_of(large, np.zeros(large.shape))
    for share, value in zip(ERROR_PROBABILITIES, found.quantiles, strict=True):
        assert value / 2 == pytest.approx(np.quantile(large, share), abs=0.01)


def test_the_sample_of_a_large_output_sees_every_column() -> None:
    got = np.zeros((4096, 64))
    got[:, 63] = 10.0
    quantiles = dict(
        zip(ERROR_PROBABILITIES, map_of(got, np.zeros(got.shape)).quantiles, strict=True)
    )
    assert (quantiles[0.9], quantiles[0.99]) == (0.0, 20.0)


def test_the_order_in_memory_does_not_matter() -> None:
    expected = np.random.default_rng(1).standard_normal((40, 50))
    got = expected + 0.6
    assert map_of(np.asfortranarray(got), expected) == map_of(got, expected)
