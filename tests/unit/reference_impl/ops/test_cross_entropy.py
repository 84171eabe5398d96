import math

import numpy as np
import pytest

from reference_impl.autograd import gradients, training
from reference_impl.ops import cross_entropy
from reference_impl.tensor import Tensor


def forward_and_gradient(p, t, dy=1.0):
    tensor = Tensor(p, stores_grad=True)
    with training():
        loss = cross_entropy(tensor, t)
    return loss.data, gradients(loss, dy)[tensor].data


def single(rows):
    return np.array(rows, dtype=np.float32)


@pytest.mark.parametrize("dy", [1.0, -3.0, 0.0])
def test_loss_and_gradient_are_those_of_the_definition(dy):
    p, t = single([[0.25, 0.75], [0.5, 0.5]]), single([[1, 0], [0.5, 0.5]])
    loss, dx = forward_and_gradient(p, t, dy)
    assert loss == pytest.approx([(math.log(4) + math.log(2)) / 2], rel=1e-7)
    assert dx == pytest.approx(np.array([[-4, 0], [-1, -1]]) / 2 * dy)


def test_the_gradient_matches_central_differences(numeric_gradient):
    p, t = single([[0.25, 0.75], [0.5, 0.5]]), single([[1, 0], [0.5, 0.5]])
    _, dx = forward_and_gradient(p, t)
    numeric = numeric_gradient(lambda v: -(t * np.log(v)).sum() / 2, p.astype(np.float64))
    assert dx == pytest.approx(numeric, rel=1e-6, abs=1e-6)


def test_a_probability_of_zero_is_named_on_the_host():
    with pytest.raises(ValueError, match=r"class 1 in row 0 is 0\.0"):
        cross_entropy(Tensor(single([[1, 0]])), single([[1, 0]]))


def test_a_probability_of_zero_is_not_looked_for_on_a_device(device):
    p, t = device.array(single([[1, 0]])), device.array(single([[0, 1]]))
    loss, _ = forward_and_gradient(p, t)
    assert device.fetch(loss).tolist() == [math.inf]
    assert device.reads == []


@pytest.mark.parametrize(
    ("p", "t", "error"),
    [
        (np.ones((1, 2)), single([[1, 0]]), TypeError),
        (single([[1, 0]]), np.array([[1, 0]]), TypeError),
        (single([[1, 0]]), single([1, 0]), ValueError),
        (np.empty((0, 2), np.float32), np.empty((0, 2), np.float32), ValueError),
    ],
)
def test_other_dtypes_and_shapes_are_refused(p, t, error):
    with pytest.raises(error, match=r"must be float32|one shape"):
        cross_entropy(Tensor(p), t)
