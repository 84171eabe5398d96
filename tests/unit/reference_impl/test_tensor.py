import numpy as np
import pytest

from reference_impl.tensor import Tensor


def test_a_tensor_shows_shape_and_dtype_of_its_array():
    tensor = Tensor(np.zeros((2, 3), dtype=np.float16))
    assert (tensor.shape, tensor.dtype, tensor.ndim, tensor.size) == ((2, 3), np.float16, 2, 6)


def test_a_tensor_made_by_nobody_is_a_leaf_that_requires_its_gradient_but_does_not_store_it():
    tensor = Tensor(np.zeros(1))
    assert tensor.is_leaf
    assert tensor.requires_grad
    assert not tensor.stores_grad


def test_printing_a_tensor_looks_at_no_value(device):
    assert repr(Tensor(device.array([[1.0]]), name="w0")) == "<Tensor 'w0' float64[1, 1]>"
    assert device.reads == []


def test_tensors_with_equal_values_are_different_keys():
    data = np.zeros(1)
    assert len({Tensor(data), Tensor(data)}) == 2


def test_storing_a_gradient_that_is_not_required_is_refused():
    with pytest.raises(ValueError, match="must require"):
        Tensor(np.zeros(1), requires_grad=False, stores_grad=True)
