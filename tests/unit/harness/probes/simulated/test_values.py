"""Operations on device arrays compute what NumPy computes on host copies, and never warn."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from harness.probes.simulated import DeviceArray, namespace

_DTYPES = ["bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64"]
_BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.lshift,
    operator.lt,
    operator.le,
    operator.eq,
    operator.ne,
    operator.gt,
    operator.ge,
    np.maximum,
    np.arctan2,
    np.copysign,
    np.logaddexp,
    divmod,
]
_UNARY = [operator.neg, operator.abs, operator.invert, np.exp, np.log, np.sqrt, np.isnan, np.sign]
_REDUCTIONS = ["sum", "prod", "max", "min", "mean", "var", "argmax", "all", "any", "cumsum"]


def host(result: Any) -> Any:
    if isinstance(result, tuple | list):
        return tuple(host(part) for part in result)
    assert isinstance(result, DeviceArray), f"{type(result)} is not a device array"
    return result.get()


def on_device(array: np.ndarray[Any, Any]) -> Any:
    # Not as a 0-d array: CuPy makes that by a fill, which turns -0.0 into 0.0.
    return namespace.asarray(np.atleast_1d(array)).reshape(array.shape)


def outcome(compute: Any) -> Any:
    """The value, or the kind of error: both sides must agree on either."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return compute()
        except (TypeError, ValueError, OverflowError) as error:
            return type(error)


def assert_same(expected: Any, observed: Any) -> None:
    if isinstance(expected, type):
        assert isinstance(observed, type)
        assert issubclass(observed, expected) or issubclass(expected, observed)
        return
    assert not isinstance(observed, type), observed
    if isinstance(expected, tuple | list):
        assert len(expected) == len(observed)
        for left, right in zip(expected, observed, strict=True):
            assert_same(left, right)
        return
    expected = np.asarray(expected)
    assert observed.dtype == expected.dtype
    np.testing.assert_array_equal(observed, expected, strict=True)


arrays = st.sampled_from(_DTYPES).flatmap(
    lambda dtype: hnp.arrays(
        dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    )
)
scalars = st.one_of(
    st.booleans(),
    st.integers(-100, 100),
    st.floats(-100, 100),
    st.integers(-100, 100).map(np.int16),
    st.floats(-100, 100, width=32).map(np.float32),
)


@settings(max_examples=150)
@given(arrays, st.one_of(arrays, scalars), st.sampled_from(_BINARY))
def test_binary_operations_equal_numpy(left: Any, right: Any, operation: Any) -> None:
    # CuPy 14.2 squares booleans in the default integer type, NumPy in int8.
    assume(not (operation is operator.pow and left.dtype == bool))
    device_left = on_device(left)
    device_right = on_device(right) if isinstance(right, np.ndarray) else right
    expected = outcome(lambda: operation(left, right))
    observed = outcome(lambda: host(operation(device_left, device_right)))
    assert_same(expected, observed)


@settings(max_examples=60)
@given(arrays, scalars, st.sampled_from(_BINARY[:10]))
def test_reflected_operations_equal_numpy(right: Any, left: Any, operation: Any) -> None:
    expected = outcome(lambda: operation(left, right))
    observed = outcome(lambda: host(operation(left, on_device(right))))
    assert_same(expected, observed)


@settings(max_examples=80)
@given(arrays, st.one_of(arrays, scalars), st.sampled_from(["add", "sub", "mul", "and", "or"]))
def test_in_place_operations_equal_numpy(target: Any, value: Any, name: str) -> None:
    method = getattr(operator, f"i{name}")
    device = on_device(target)
    operand = on_device(value) if isinstance(value, np.ndarray) else value
    in_place = np.array(target)
    expected = outcome(lambda: method(in_place, value))
    observed = outcome(lambda: method(device, operand))
    if isinstance(expected, type):
        assert isinstance(observed, type)
    else:
        assert observed is device
        np.testing.assert_array_equal(device.get(), in_place, strict=True)


@settings(max_examples=60)
@given(arrays, st.sampled_from(_UNARY))
def test_unary_operations_equal_numpy(array: Any, operation: Any) -> None:
    expected = outcome(lambda: operation(array))
    assert_same(expected, outcome(lambda: host(operation(on_device(array)))))


@settings(max_examples=100)
@given(arrays, st.sampled_from(_REDUCTIONS), st.sampled_from([None, 0, -1]), st.booleans())
def test_reductions_equal_numpy_and_stay_on_the_device(
    array: Any, name: str, axis: int | None, keepdims: bool
) -> None:
    options = {} if name == "cumsum" else {"keepdims": keepdims}
    expected = outcome(lambda: getattr(np, name)(array, axis=axis, **options))
    device = on_device(array)
    assert_same(expected, outcome(lambda: host(getattr(device, name)(axis=axis, **options))))
    assert_same(expected, outcome(lambda: host(getattr(np, name)(device, axis=axis, **options))))


@settings(max_examples=60)
@given(
    hnp.arrays("float32", (4, 5), elements=st.floats(-9, 9, width=32)),
    hnp.arrays("int64", (4,), elements=st.integers(-5, 4)),
    hnp.arrays("bool", (4, 5)),
)
def test_indexing_equals_numpy(array: Any, columns: Any, mask: Any) -> None:
    device = on_device(array)
    rows = np.arange(4)
    keys = [on_device(index) for index in (rows, columns, mask)]
    np.testing.assert_array_equal(device[keys[0], keys[1]].get(), array[rows, columns], strict=True)
    np.testing.assert_array_equal(device[keys[2]].get(), array[mask], strict=True)
    np.testing.assert_array_equal(device[:, keys[1]].get(), array[:, columns], strict=True)
    np.testing.assert_array_equal(
        device[None, keys[1][:2] % 4, 1:3].get(),
        array[None, columns[:2] % 4, 1:3],
        strict=True,
    )
    expected = array.copy()
    expected[rows, columns] -= 1
    expected[mask] = 0
    device[keys[0], keys[1]] -= 1
    device[keys[2]] = 0
    np.testing.assert_array_equal(device.get(), expected, strict=True)


def test_zero_dimensional_results_stay_on_the_device_and_promote_like_arrays() -> None:
    total = namespace.ones(3, "float32").sum()
    assert isinstance(total, DeviceArray)
    assert total.shape == ()
    assert isinstance(total + 1, DeviceArray)
    assert (namespace.ones(3, "float16") * total).dtype == np.float32
    assert (namespace.ones(3, "float16") * 2.0).dtype == np.float16
    assert (namespace.ones(3, "float16") * np.float64(2)).dtype == np.float64


def test_a_host_scalar_through_the_namespace_becomes_a_device_array() -> None:
    assert isinstance(namespace.exp(1.0), DeviceArray)
    assert isinstance(namespace.add(1, 2), DeviceArray)


@pytest.mark.filterwarnings("error")
def test_no_operation_warns_about_infinities_or_nans() -> None:
    a = namespace.asarray(np.array([0.0, -1.0, 3e38], "float32"))
    _ = 1 / a, namespace.log(a), a * a, a / 0, (a * 1e30).astype("int32"), a % 0
    _ = a[:0].mean(), a[:1].var(ddof=1), namespace.nanmean(a * np.nan), namespace.median(a[:0])
    b = a.copy()
    b *= 1e30
    b[namespace.asarray([0, 1])] = np.nan
    assert np.isinf(b.get()[2])


def test_numpy_error_state_outside_is_left_as_it_was() -> None:
    with np.errstate(divide="raise"):
        _ = 1 / namespace.zeros(2)
        with pytest.raises(FloatingPointError):
            _ = 1 / np.zeros(2)


def test_bfloat16_arrays_work_through_the_operations_of_a_loss() -> None:
    bf16 = np.dtype(ml_dtypes.bfloat16)
    logits = np.linspace(-3, 3, 12).reshape(3, 4).astype(bf16)
    x = namespace.asarray(logits)
    labels = namespace.asarray([0, 3, 1])
    rows = namespace.arange(3)
    assert x.dtype == bf16
    m = x.max(axis=1, keepdims=True)
    e = namespace.exp((x - m).astype("float32"))
    s = e.sum(axis=1, keepdims=True)
    loss = (namespace.log(s)[:, 0] - (x - m)[rows, labels].astype("float32")).sum() / 3
    shifted = (logits - logits.max(axis=1, keepdims=True)).astype("float32")
    expected = np.log(np.exp(shifted).sum(1)) - shifted[np.arange(3), [0, 3, 1]]
    assert float(loss) == pytest.approx(float(expected.mean()), rel=1e-6)
    grad = (e / s).astype(bf16)
    grad[rows, labels] -= 1
    picked = namespace.take_along_axis(x, labels[:, None], 1)
    chosen = namespace.where(x > 0, x, namespace.zeros_like(x))
    for made in (grad, picked, chosen, namespace.full(2, 1.5, bf16), namespace.empty_like(x)):
        assert made.dtype == bf16
    assert bool(namespace.isfinite(grad).all())
    assert (x.copy().ravel().reshape(2, 6) * namespace.ones((2, 6), bf16)).dtype == bf16
