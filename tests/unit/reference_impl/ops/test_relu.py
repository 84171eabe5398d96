import ml_dtypes
import numpy as np
import pytest

from reference_impl.autograd import gradients, training
from reference_impl.ops import relu
from reference_impl.tensor import Tensor


def forward_and_gradient(x, dy):
    tensor = Tensor(x, stores_grad=True)
    with training():
        y = relu(tensor)
    return y.data, gradients(y, dy)[tensor].data


def test_only_positive_inputs_pass_and_only_they_get_a_gradient():
    y, dx = forward_and_gradient(np.array([[-1.0, 0.0, -0.0, 2.0]]), np.full((1, 4), 3.0))
    assert y.tolist() == [[0, 0, 0, 2]]
    assert dx.tolist() == [[0, 0, 0, 3]]


def test_a_stopped_gradient_is_exactly_zero_even_if_it_was_not_finite():
    _, dx = forward_and_gradient(np.array([[-1.0, 1.0]]), np.array([[np.inf, np.inf]]))
    assert dx.tolist() == [[0, np.inf]]


def test_nan_is_not_hidden():
    y, _ = forward_and_gradient(np.array([[np.nan]]), np.ones((1, 1)))
    assert np.isnan(y).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_the_dtype_is_kept_both_ways(dtype):
    y, dx = forward_and_gradient(np.array([[1, -1]], dtype=dtype), np.ones((1, 2), dtype=dtype))
    assert y.dtype == dx.dtype == np.dtype(dtype)


def test_the_input_is_left_as_it_was():
    x = np.array([[-1.0]])
    forward_and_gradient(x, np.ones((1, 1)))
    assert x.tolist() == [[-1]]


def test_on_a_device_nothing_is_read(device):
    y, dx = forward_and_gradient(device.array([[-1.0, 1.0]]), device.array([[1.0, 1.0]]))
    assert (device.fetch(y).tolist(), device.fetch(dx).tolist()) == ([[0, 1]], [[0, 1]])
    assert device.reads == []
