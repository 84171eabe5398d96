import numpy as np
import pytest

from reference_impl.autograd import gradients, training
from reference_impl.ops import Matmul, matmul
from reference_impl.tensor import Tensor


def parameters(*shapes):
    rng = np.random.default_rng(1)
    return [Tensor(rng.standard_normal(shape), stores_grad=True) for shape in shapes]


def test_each_gradient_matches_central_differences(numeric_gradient):
    x, w = parameters((3, 4), (4, 2))
    dy = np.random.default_rng(2).standard_normal((3, 2))
    with training():
        y = matmul(x, w)
    found = gradients(y, dy)
    for p, function in (
        (x, lambda v: ((v @ w.data) * dy).sum()),
        (w, lambda v: ((x.data @ v) * dy).sum()),
    ):
        assert found[p].data == pytest.approx(numeric_gradient(function, p.data), abs=1e-8)


def test_the_gradient_of_an_input_that_needs_none_is_not_computed():
    (w,) = parameters((4, 2))
    operation = Matmul()
    with training():
        operation(Tensor(np.ones((3, 4)), requires_grad=False), w)
    dx, dw = operation.backward(np.ones((3, 2)))
    assert dx is None
    assert dw.shape == (4, 2)


@pytest.mark.parametrize("shapes", [((3, 4), (5, 2)), ((4,), (4, 2)), ((3, 4), (4,))])
def test_shapes_that_do_not_fit_are_refused_with_both(shapes):
    x, w = parameters(*shapes)
    with pytest.raises(ValueError, match="needs"):
        matmul(x, w)


def test_on_a_device_nothing_is_read(device):
    x, w = (Tensor(device.array(np.ones((2, 2))), stores_grad=True) for _ in range(2))
    with training():
        y = matmul(x, w)
    assert len(gradients(y, device.array(np.ones((2, 2))))) == 2
    assert device.reads == []
