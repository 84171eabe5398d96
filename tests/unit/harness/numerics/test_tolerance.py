"""Derived tolerances: tight enough to catch a planted error, never beaten by a correct implementation."""

import re
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from harness.errors import WorkloadError
from harness.numerics.compare import compare
from harness.numerics.tolerance import Tolerance

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype("float16"), BFLOAT16, np.dtype("float32"), np.dtype("float64")]


def derived(**plain: object) -> Tolerance:
    return Tolerance.from_plain(plain, output="loss")


def cross_entropy(x: npt.NDArray[Any], labels: npt.NDArray[Any]) -> tuple[Any, Any, Any]:
    """Row losses, mean and gradient of the mean, all kept in the dtype of ``x``."""
    rows = np.arange(len(labels))
    maxima = x.max(axis=1, keepdims=True)
    exponentials = np.exp(x - maxima)
    sums = exponentials.sum(axis=1, keepdims=True)
    losses = np.log(sums[:, 0]) - (x[rows, labels] - maxima[:, 0])
    gradient = exponentials / sums
    gradient[rows, labels] -= 1
    gradient /= x.dtype.type(len(labels))
    return losses, losses.mean(), gradient


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (64, 10), (256, 1000), (24, 32000)], ids=str)
@pytest.mark.parametrize("spread", [0.01, 1.0, 10.0, 100.0])
def test_a_correct_implementation_is_never_out_of_tolerance(
    dtype: np.dtype[Any], shape: tuple[int, int], spread: float
) -> None:
    rng = np.random.default_rng(int(spread * 100) + shape[1])
    accumulate = np.dtype("float64" if dtype == "float64" else "float32")
    offset = 1e4 if accumulate == dtype else 0.0
    x = (rng.standard_normal(shape) * spread + offset).astype(dtype)
    labels = rng.integers(0, shape[1], shape[0])
    labels[: shape[0] // 2] = x.astype(np.float64).argmax(axis=1)[: shape[0] // 2]  # confident rows
    truth = cross_entropy(x.astype(np.float64), labels)
    found = cross_entropy(x.astype(accumulate), labels)
    for scale, observed, expected in zip((1, 1, 1 / shape[0]), found, truth, strict=True):
        tolerance = derived(dtype=dtype.name, reduction_length=shape[1], scale=scale)
        comparison = compare(observed.astype(dtype), expected, tolerance)
        assert comparison.passed, comparison


@pytest.mark.parametrize("length", [1, 10, 1000, 32000])
@pytest.mark.parametrize("value", [1.0, -1.0, 11.0])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_error_of_sixteen_ulps_is_caught_at_every_length(
    length: int, value: float, dtype: np.dtype[Any]
) -> None:
    info = ml_dtypes.finfo(dtype)
    wrong = np.array([value + 16 * float(info.eps) * value]).astype(dtype)
    right = np.array([value]).astype(dtype)
    tolerance = derived(dtype=dtype.name, reduction_length=length)
    assert not compare(wrong, np.array([value]), tolerance).passed
    assert compare(right, np.array([value]), tolerance).passed


def test_the_unsafe_form_of_the_loss_is_caught_where_it_loses_digits() -> None:
    """m + log s - x_t with a common offset of 1e4 is off by 5e-4, log s - (x_t - m) is not."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((64, 10)) + 1e4).astype(np.float32)
    labels = rng.integers(0, 10, 64)
    rows = np.arange(64)
    maxima = x.max(axis=1)
    sums = np.exp(x - maxima[:, None]).sum(axis=1)
    unsafe = maxima + np.log(sums) - x[rows, labels]
    expected, _, _ = cross_entropy(x.astype(np.float64), labels)
    tolerance = derived(dtype="float32", reduction_length=10)
    assert not compare(unsafe, expected, tolerance).passed
    assert compare(cross_entropy(x, labels)[0], expected, tolerance).passed


def test_a_serial_float32_sum_is_caught_and_a_pairwise_one_passes() -> None:
    terms = np.full(1 << 16, np.float32(0.1))
    exact = float(terms.astype(np.float64).sum())
    tolerance = derived(dtype="float32", reduction_length=terms.size, scale=exact)
    assert not compare(np.cumsum(terms, dtype=np.float32)[-1], exact, tolerance).passed
    assert compare(terms.sum(dtype=np.float32), exact, tolerance).passed


def test_a_gradient_needs_the_scale_of_its_terms() -> None:
    """An entry of 1/N/C that is lost entirely passes at scale 1 and is caught at the gradient's scale."""
    rows, classes = 4096, 10
    expected = np.full(classes, 1 / rows / classes)
    lost = np.zeros(classes, np.float32)
    at_scale = derived(dtype="float32", reduction_length=classes, scale=1 / rows)
    assert not compare(lost, expected, at_scale).passed
    assert compare(expected.astype(np.float32), expected, at_scale).passed


def test_values_below_the_smallest_half_may_be_flushed_to_zero() -> None:
    tolerance = derived(dtype="float16", reduction_length=32000, scale=1 / 4096)
    assert compare(np.zeros(1, np.float16), np.array([2.0**-25]), tolerance).passed
    assert not compare(np.zeros(1, np.float16), np.array([2.0**-20]), tolerance).passed


def test_sixteen_bit_outputs_accumulate_in_float32_unless_said_otherwise() -> None:
    wide = derived(dtype="float16", reduction_length=1000)
    assert wide == derived(dtype="float16", reduction_length=1000, accumulate="float32")
    assert derived(dtype="float16", accumulate="float16").absolute > 100 * wide.absolute


def test_a_narrower_output_adds_its_own_rounding_once() -> None:
    narrowed = derived(dtype="float32", accumulate="float64")
    assert narrowed.relative == pytest.approx(2.0**-24, rel=1e-6)


def test_the_reason_names_dtype_length_and_scale() -> None:
    because = derived(dtype="bfloat16", reduction_length=1000, scale=0.5).because
    assert "float32" in because
    assert "1,000" in because
    assert "0.5" in because
    assert "rounding to bfloat16" in because


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_integers_are_exact(dtype: str) -> None:
    tolerance = derived(dtype=dtype)
    assert (tolerance.absolute, tolerance.relative, tolerance.dtype) == (0.0, 0.0, dtype)


def test_an_explicit_tolerance_is_taken_as_given() -> None:
    plain = {
        "relative": 1e-6,
        "absolute": 0,
        "because": "published to six digits",
        "dtype": "float32",
    }
    tolerance = Tolerance.from_plain(plain, output="losses")
    assert tolerance == Tolerance(
        absolute=0.0, relative=1e-6, because="published to six digits", dtype="float32"
    )
    del plain["dtype"]
    assert Tolerance.from_plain(plain, output="losses").dtype is None


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ({}, "gives no dtype"),
        ({"reduction_length": 3}, "gives 'reduction_length', no dtype"),
        ({"dtype": "float8"}, "dtype 'float8'"),
        ({"dtype": np.float32}, "dtype <class 'numpy.float32'>"),
        ({"dtype": "float32", "reduction_lenght": 3}, "key 'reduction_lenght'"),
        ({"dtype": "float32", "reduction_length": 0}, "reduction_length 0"),
        ({"dtype": "float32", "reduction_length": 2.5}, "reduction_length 2.5"),
        ({"dtype": "float32", "reduction_length": True}, "reduction_length True"),
        ({"dtype": "float32", "scale": -1.0}, "scale -1.0"),
        ({"dtype": "float32", "scale": float("nan")}, "scale nan"),
        ({"dtype": "float32", "scale": float("inf")}, "scale inf"),
        ({"dtype": "float32", "scale": 10**400}, "scale 1000"),
        ({"dtype": "float32", "scale": "1"}, "scale '1'"),
        ({"dtype": "float32", "scale": True}, "scale True"),
        ({"dtype": "float32", "accumulate": "float16"}, "accumulates in float16"),
        ({"dtype": "float32", "accumulate": "int64"}, "accumulates in int64"),
        ({"relative": 1e-6, "absolute": 0.0}, "gives no reason"),
        ({"relative": 1e-6, "absolute": 0.0, "because": " "}, "gives no reason"),
        ({"relative": 1e-6, "because": "x"}, "absolute None"),
        ({"absolute": 1e-6, "because": "x"}, "relative None"),
        ({"absolute": 1e-6, "relative": 0.0, "because": "x", "scale": 1}, "key 'scale'"),
    ],
)
def test_a_malformed_tolerance_is_one_line_naming_output_and_key(
    plain: Mapping[str, object], said: str
) -> None:
    with pytest.raises(WorkloadError, match=re.escape(said)) as raised:
        Tolerance.from_plain(plain, output="loss")
    assert "output 'loss'" in str(raised.value)
    assert "\n" not in str(raised.value)
