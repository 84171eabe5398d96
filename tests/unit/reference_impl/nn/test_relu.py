import numpy as np

from reference_impl.nn import ReLU
from reference_impl.tensor import Tensor


def test_the_memory_layout_of_images_is_kept():
    x = np.moveaxis(np.random.default_rng(10).normal(size=(3, 4, 5, 2)), -1, 0)
    y = ReLU()(Tensor(x)).data
    assert y.strides == x.strides
    np.testing.assert_array_equal(y, np.maximum(x, 0))
