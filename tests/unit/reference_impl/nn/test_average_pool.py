import numpy as np
import pytest

from reference_impl.nn import AvgPool2d
from reference_impl.tensor import Tensor


def by_loops(x, kernel, stride, padding):
    """The mean over the pixels of the image that a window sees, as SINGA's (the border does not count)."""
    _, _, height, width = x.shape
    rows = (height + 2 * padding[0] - kernel[0]) // stride[0] + 1
    columns = (width + 2 * padding[1] - kernel[1]) // stride[1] + 1
    y = np.empty((*x.shape[:2], rows, columns))
    for n, c, i, j in np.ndindex(y.shape):
        top, left = i * stride[0] - padding[0], j * stride[1] - padding[1]
        seen = x[n, c, max(top, 0) : top + kernel[0], max(left, 0) : left + kernel[1]]
        y[n, c, i, j] = seen.mean()
    return y


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [
        ((2, 2), (2, 2), (0, 0)),
        ((3, 3), (2, 2), (1, 1)),
        ((2, 3), (1, 2), (1, 0)),
        ((7, 6), (1, 1), (0, 0)),
    ],
)
def test_it_is_the_mean_of_what_each_window_sees_of_the_image(kernel, stride, padding):
    x = np.random.default_rng(4).normal(size=(2, 3, 7, 6))
    y = AvgPool2d(kernel, stride=stride, padding=padding)(Tensor(x)).data
    np.testing.assert_allclose(y, by_loops(x, kernel, stride, padding), rtol=1e-13, atol=1e-13)


def test_sixteen_bits_are_summed_in_thirty_two():
    x = np.full((1, 1, 64, 64), 3.0, np.float16)
    x[0, 0, 0, 0] = 1024.0  # a float16 sum would stop growing at 4096 and lose the small ones
    y = AvgPool2d(64)(Tensor(x)).data
    assert y.dtype == np.float16
    assert y.item() == np.float16((4095 * 3 + 1024) / 4096)
