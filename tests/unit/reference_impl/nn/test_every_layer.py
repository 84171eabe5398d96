"""What holds of every layer: slopes, no traffic, the same bits anywhere, any memory layout, nothing overwritten."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_impl.autograd import Operation
from reference_impl.nn import Module
from reference_impl.tensor import Tensor


def test_gradients_are_the_slopes_of_the_output(specimen: Any, numeric_gradient: Any) -> None:
    arrays = specimen.arrays()
    weights = specimen.weights(arrays)
    found = specimen.pass_through(arrays, weights)
    assert set(found) >= {"y", "x"} | {name for name in arrays if name[-1] in "Wb"}
    for name in found.keys() - {"y"}:

        def loss(moved: Any, name: str = name) -> Any:
            return (specimen.pass_through({**arrays, name: moved})["y"] * weights).sum()

        slopes = numeric_gradient(loss, arrays[name])
        np.testing.assert_allclose(found[name], slopes, rtol=1e-6, atol=1e-8, err_msg=name)


def test_on_a_device_nothing_is_copied_and_nobody_waits(specimen: Any, watch: Any) -> None:
    host = specimen.arrays("float32")
    arrays, weights = watch.put(host), watch.device.to_device(specimen.weights(host))
    _, trace = watch.over(lambda: specimen.pass_through(arrays, weights))
    counts = trace.counts()
    assert (counts.d2h, counts.h2d, counts.syncs) == (0, 0, 0)
    assert not trace.doubts


def test_a_device_gives_the_bits_of_the_host(specimen: Any, watch: Any) -> None:
    host = specimen.arrays("float32")
    weights = specimen.weights(host)
    expected = specimen.pass_through(host, weights)
    found = watch.fetch(
        specimen.pass_through(watch.put(host), watch.device.to_device(weights)),
    )
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_outputs_and_gradients_keep_the_dtype(specimen: Any, dtype: str) -> None:
    arrays = specimen.arrays(dtype)
    found = specimen.pass_through(arrays, specimen.weights(arrays))
    assert {values.dtype.name for values in found.values()} == {dtype}


def test_a_gradient_has_the_shape_of_what_it_belongs_to(specimen: Any) -> None:
    arrays = specimen.arrays()
    found = specimen.pass_through(arrays, specimen.weights(arrays))
    for name in found.keys() - {"y"}:
        assert found[name].shape == arrays[name].shape


def batch_last(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 0, -1)), -1, 0)


def every_other(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.repeat(array, 2, axis=-1)[..., ::2]


def backwards(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array[::-1])[::-1]


@pytest.mark.parametrize("lay", [np.asfortranarray, batch_last, every_other, backwards])
def test_the_memory_layout_of_an_input_does_not_matter(specimen: Any, lay: Any) -> None:
    arrays = specimen.arrays()
    weights = specimen.weights(arrays)
    expected = specimen.pass_through(arrays, weights)
    found = specimen.pass_through(
        {name: lay(array) for name, array in arrays.items()}, lay(weights)
    )
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-13, atol=1e-13, err_msg=name)


def test_inputs_and_the_upstream_gradient_are_only_read(specimen: Any) -> None:
    arrays = specimen.arrays()
    weights = specimen.weights(arrays)
    before = {name: array.copy() for name, array in arrays.items()}
    specimen.pass_through(arrays, weights)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    np.testing.assert_array_equal(weights, specimen.weights(arrays))


class ReadsItsInput(Operation):
    """The planted defect: a layer that looks at a value."""

    def forward(self, x: Any) -> Any:
        return x * (2.0 if float(x.max()) > 1e9 else 1.0)

    def backward(self, dy: Any) -> Any:
        return dy


class Halves(ReadsItsInput):
    """The other planted defect: a gradient that is not the slope."""

    def forward(self, x: Any) -> Any:
        return x * 0.5


class Planted(Module):
    def __init__(self, operation: type[Operation]) -> None:
        self.operation = operation

    def __call__(self, x: Tensor) -> Tensor:
        return self.operation()(x)[0]


def test_a_layer_that_looks_at_a_value_is_caught(of_layer: Any, watch: Any) -> None:
    planted = of_layer("planted", lambda a: Planted(ReadsItsInput), {"x": (2, 2)})
    arrays = watch.put(planted.arrays("float32"))
    _, trace = watch.over(lambda: planted.pass_through(arrays, arrays["x"]))
    assert (trace.counts().d2h, trace.counts().syncs) == (1, 1)


def test_a_gradient_that_is_not_the_slope_is_caught(of_layer: Any, numeric_gradient: Any) -> None:
    planted = of_layer("planted", lambda a: Planted(Halves), {"x": (2, 2)})
    with pytest.raises(AssertionError):
        test_gradients_are_the_slopes_of_the_output(planted, numeric_gradient)
