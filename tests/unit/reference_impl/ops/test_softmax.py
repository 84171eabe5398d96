import numpy as np
import pytest

from reference_impl.autograd import gradients, training
from reference_impl.ops import softmax
from reference_impl.tensor import Tensor


def forward_and_gradient(x, dy):
    tensor = Tensor(x, stores_grad=True)
    with training():
        p = softmax(tensor)
    return p.data, gradients(p, dy)[tensor].data


def test_the_gradient_matches_central_differences(numeric_gradient):
    rng = np.random.default_rng(3)
    x, dy = rng.standard_normal((2, 4)), rng.standard_normal((2, 4))

    def function(v):
        e = np.exp(v)
        return (e / e.sum(1, keepdims=True) * dy).sum()

    _, dx = forward_and_gradient(x, dy)
    assert dx == pytest.approx(numeric_gradient(function, x), abs=1e-8)


def test_an_offset_of_ten_thousand_changes_nothing():
    x = np.array([[0, 1, 2, 3], [1e4, 10001, 10002, 10003]], dtype=np.float32)
    p, _ = forward_and_gradient(x, np.ones((2, 4), dtype=np.float32))
    expected = [0.0320586, 0.08714432, 0.23688284, 0.64391428]
    assert p == pytest.approx(np.array([expected, expected]), abs=1e-7)


def test_a_float16_row_of_many_classes_is_summed_in_float32():
    p, dx = forward_and_gradient(np.zeros((1, 70000), np.float16), np.ones((1, 70000), np.float16))
    assert p.dtype == dx.dtype == np.float16
    assert p[0, 0] == np.float16(1 / 70000)


def test_a_row_that_is_not_finite_is_nan_alone_and_warns_nobody():
    p, dx = forward_and_gradient(np.array([[np.nan, 1.0], [0.0, 0.0]]), np.ones((2, 2)))
    assert np.isnan(p[0]).all()
    assert np.isnan(dx[0]).all()
    assert p[1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("shape", [(3,), (2, 0), (2, 2, 2)])
def test_logits_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"\(N, C\)"):
        softmax(Tensor(np.zeros(shape)))


def test_on_a_device_nothing_is_read(device):
    forward_and_gradient(device.array([[1.0, 2.0]]), device.array([[1.0, 0.0]]))
    assert device.reads == []
