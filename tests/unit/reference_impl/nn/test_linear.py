import numpy as np
import pytest

from reference_impl.autograd import backward, training
from reference_impl.nn import Linear
from reference_impl.tensor import Tensor


def test_it_is_x_w_plus_b():
    layer = Linear(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([10.0, 20.0, 30.0]))
    assert layer(Tensor(np.array([[1.0, -1.0]]))).data.tolist() == [[7.0, 17.0, 27.0]]


def test_the_bias_is_yielded_before_the_weight_as_by_singa():
    layer = Linear(np.zeros((2, 3)), np.zeros(3), name="linear1")
    with training():
        y = layer(Tensor(np.ones((1, 2)), requires_grad=False))
    yielded = [parameter.name for parameter, _ in backward(y, dy=np.ones(y.shape))]
    assert yielded == ["linear1.b", "linear1.W"]


def test_a_weight_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"a linear weight has shape \(inputs, outputs\)"):
        Linear(np.zeros(3))


def test_rows_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"\(1, 3\) and \(2, 4\)"):
        Linear(np.zeros((2, 4)))(Tensor(np.zeros((1, 3))))
