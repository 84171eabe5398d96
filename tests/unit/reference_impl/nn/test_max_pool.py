import math

import numpy as np
import pytest

from reference_impl.autograd import backward, training
from reference_impl.nn import MaxPool2d
from reference_impl.tensor import Tensor


def pooled(x, dy=None, **options):
    x = Tensor(np.asarray(x, float), stores_grad=True)
    with training():
        y = MaxPool2d(**options)(x)
    if dy is None:
        return y.data
    ((_, gradient),) = backward(y, dy=np.asarray(dy, float).reshape(y.shape))
    return y.data, gradient.data


def one_image(*rows):
    return np.array(rows, float)[np.newaxis, np.newaxis]


def by_loops(x, kernel, stride, padding):
    border = ((0, 0), (0, 0), (padding[0], padding[0]), (padding[1], padding[1]))
    x = np.pad(x, border, constant_values=-math.inf)
    rows = (x.shape[2] - kernel[0]) // stride[0] + 1
    columns = (x.shape[3] - kernel[1]) // stride[1] + 1
    y = np.empty((*x.shape[:2], rows, columns))
    for n, c, i, j in np.ndindex(y.shape):
        top, left = i * stride[0], j * stride[1]
        y[n, c, i, j] = max(x[n, c, top : top + kernel[0], left : left + kernel[1]].ravel())
    return y


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [
        ((2, 2), (2, 2), (0, 0)),
        ((3, 3), (2, 2), (1, 1)),
        ((1, 3), (1, 2), (0, 1)),
        ((2, 2), (3, 3), (0, 0)),
        ((1, 1), (2, 1), (0, 0)),
    ],
)
def test_it_is_the_largest_of_every_window(kernel, stride, padding):
    x = np.random.default_rng(3).normal(size=(2, 3, 7, 6))
    y = pooled(x, kernel=kernel, stride=stride, padding=padding)
    np.testing.assert_array_equal(y, by_loops(x, kernel, stride, padding))


def test_the_first_of_equals_row_by_row_takes_the_gradient():
    # The second is in the first row, the third in the first column: row by row the second comes first.
    _, dx = pooled(one_image([1, 2], [2, 2]), [5], kernel=2)
    np.testing.assert_array_equal(dx, one_image([0, 5], [0, 0]))
    _, dx = pooled(one_image([3, 3], [3, 3]), [5], kernel=2)
    np.testing.assert_array_equal(dx, one_image([5, 0], [0, 0]))


def test_a_pixel_that_is_largest_in_two_windows_gets_both_gradients():
    _, dx = pooled(one_image([0, 9, 0]), [2, 3], kernel=(1, 2), stride=1)
    np.testing.assert_array_equal(dx, one_image([0, 5, 0]))


def test_the_border_is_never_the_largest():
    x = np.full((1, 1, 3, 3), -8.0)
    y, dx = pooled(x, np.ones(4), kernel=3, stride=2, padding=1)
    np.testing.assert_array_equal(y, np.full((1, 1, 2, 2), -8.0))
    assert dx.sum() == 4


def test_the_gradient_of_a_window_of_minus_infinity_goes_to_no_other_window():
    # It goes to the first of its pixels, which is the border here.
    x = one_image([-math.inf, 1.0], [2.0, 3.0])
    y, dx = pooled(x, np.ones(4), kernel=2, stride=2, padding=1)
    np.testing.assert_array_equal(y, one_image([-math.inf, 1.0], [2.0, 3.0]))
    np.testing.assert_array_equal(dx, one_image([0, 1], [1, 1]))


def test_pixels_behind_the_last_whole_window_take_no_part():
    y, dx = pooled(one_image([1, 2, 9], [3, 4, 9], [9, 9, 9]), [1], kernel=2)
    assert y.item() == 4
    np.testing.assert_array_equal(dx, one_image([0, 0, 0], [0, 1, 0], [0, 0, 0]))


def test_nan_is_passed_on_and_its_window_keeps_its_gradient():
    y, dx = pooled(one_image([1, 2, 5, 6], [math.nan, 4, 7, 8]), [3, 1], kernel=2)
    np.testing.assert_array_equal(y, one_image([math.nan, 8]))
    np.testing.assert_array_equal(dx, one_image([3, 0, 0, 0], [0, 0, 0, 1]))


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_a_gradient_that_is_not_finite_goes_to_its_pixel_alone(bad):
    _, dx = pooled(one_image([1, 2], [3, 4]), [bad], kernel=2)
    np.testing.assert_array_equal(dx, one_image([0, 0], [0, bad]))


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 1, 5)])
def test_images_that_do_not_fit_are_refused(shape):
    with pytest.raises(ValueError, match=r"needs images|do not fit"):
        pooled(np.zeros(shape), kernel=2)
