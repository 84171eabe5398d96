import numpy as np
import pytest

from reference_impl.autograd import gradients, training
from reference_impl.ops import add_bias
from reference_impl.tensor import Tensor


@pytest.mark.parametrize("bias_shape", [(3,), (1, 3)])
def test_the_bias_gradient_is_the_sum_of_rows_in_the_shape_of_the_bias(bias_shape):
    x = Tensor(np.ones((2, 3)), stores_grad=True)
    b = Tensor(np.arange(3.0).reshape(bias_shape), stores_grad=True)
    with training():
        y = add_bias(x, b)
    dy = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    found = gradients(y, dy)
    assert y.data.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert found[b].data.tolist() == np.array([11.0, 22.0, 33.0]).reshape(bias_shape).tolist()
    assert found[x].data.tolist() == dy.tolist()


def test_the_input_is_left_as_it_was():
    x = np.ones((2, 3))
    add_bias(Tensor(x), Tensor(np.ones(3)))
    assert (x == 1).all()


def test_a_float16_bias_gradient_is_summed_in_float32():
    # Row by row in float16 a sum of ones sticks at 2048, where the next number is 2050.
    rows = 4096
    b = Tensor(np.zeros(2, dtype=np.float16), stores_grad=True)
    with training():
        y = add_bias(Tensor(np.zeros((rows, 2), dtype=np.float16)), b)
    found = gradients(y, np.ones((rows, 2), dtype=np.float16))[b]
    assert found.dtype == np.float16
    assert found.data.tolist() == [rows, rows]


def test_a_bias_that_requires_no_gradient_costs_none():
    x = Tensor(np.ones((2, 1)), stores_grad=True)
    with training():
        y = add_bias(x, Tensor(np.ones(1), requires_grad=False))
    assert list(gradients(y, np.ones((2, 1)))) == [x]


@pytest.mark.parametrize("bias_shape", [(2,), (3, 1), (), (2, 3)])
def test_a_bias_of_another_shape_is_refused(bias_shape):
    with pytest.raises(ValueError, match=r"\(N, C\) and \(C,\) or \(1, C\)"):
        add_bias(Tensor(np.ones((2, 3))), Tensor(np.ones(bias_shape)))


def test_on_a_device_nothing_is_read(device):
    b = Tensor(device.array(np.ones(2)), stores_grad=True)
    with training():
        y = add_bias(Tensor(device.array(np.ones((3, 2)))), b)
    found = gradients(y, device.array(np.ones((3, 2))))
    assert device.fetch(found[b].data).tolist() == [3, 3]
    assert device.reads == []
