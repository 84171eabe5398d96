import numpy as np
import pytest

from reference_impl.nn import Conv2d, flatten
from reference_impl.tensor import Tensor


def test_pixels_come_channel_by_channel_and_row_by_row():
    x = np.arange(24.0).reshape(2, 3, 2, 2)
    np.testing.assert_array_equal(flatten(Tensor(x)).data, x.reshape(2, 12))


def test_behind_a_convolution_it_copies_nothing():
    x = np.random.default_rng(9).normal(size=(4, 1, 5, 5))
    y = Conv2d(np.ones((2, 1, 2, 2)))(Tensor(x))
    flat = flatten(y)
    assert np.shares_memory(flat.data, y.data)
    np.testing.assert_array_equal(flat.data, np.ascontiguousarray(y.data).reshape(4, -1))


def test_no_images_are_no_rows_of_the_same_length():
    assert flatten(Tensor(np.zeros((0, 3, 2, 2)))).shape == (0, 12)


def test_what_has_no_second_axis_is_refused():
    with pytest.raises(ValueError, match="needs an axis behind the first"):
        flatten(Tensor(np.zeros(3)))
