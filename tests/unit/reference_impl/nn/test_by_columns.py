"""Columns by themselves: the definition in loops, its slopes, and what is kept and copied."""

import numpy as np
import pytest

from reference_impl.nn.by_columns import ByColumns
from reference_impl.nn.windows import Windows

WINDOWS = (
    Windows((3, 3), (1, 1), (0, 0)),
    Windows((3, 3), (2, 2), (1, 1)),
    Windows((2, 4), (1, 3), (0, 2)),
    Windows((1, 1), (1, 1), (0, 0)),
    Windows((1, 1), (2, 2), (0, 0)),
    Windows((2, 2), (3, 3), (0, 0)),
    Windows((6, 5), (1, 1), (0, 0)),
)


def drawn(windows):
    """Images, kernels, and a gradient of the output."""
    rng = np.random.default_rng(4)
    x, w = rng.normal(size=(2, 3, 6, 5)), rng.normal(size=(4, 3, *windows.kernel))
    return x, w, rng.normal(size=(2, 4, *windows.places(6, 5)))


def by_loops(windows, x, w, dy):
    """Output and both gradients, one window of one image under one kernel at a time."""
    (height, width), (down, across), (above, left) = windows.kernel, windows.stride, windows.padding
    bordered = np.pad(x, ((0, 0), (0, 0), (above, above), (left, left)))
    y, d_bordered, dw = np.empty_like(dy), np.zeros_like(bordered), np.zeros_like(w)
    for n, o, i, j in np.ndindex(dy.shape):
        rows = slice(i * down, i * down + height)
        columns = slice(j * across, j * across + width)
        y[n, o, i, j] = (bordered[n, :, rows, columns] * w[o]).sum()
        d_bordered[n, :, rows, columns] += dy[n, o, i, j] * w[o]
        dw[o] += dy[n, o, i, j] * bordered[n, :, rows, columns]
    return y, d_bordered[:, :, above : above + 6, left : left + 5], dw


@pytest.mark.parametrize("windows", WINDOWS)
def test_output_and_gradients_are_those_of_the_definition(windows):
    x, w, dy = drawn(windows)
    product = ByColumns(windows, x, w)
    found = product.output(), product.image_gradient(dy), product.kernel_gradient(dy)
    for one, expected in zip(found, by_loops(windows, x, w, dy), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("windows", WINDOWS)
def test_the_gradients_are_the_slopes_of_the_output(windows, numeric_gradient):
    x, w, dy = drawn(windows)
    product = ByColumns(windows, x, w)
    slopes = (
        numeric_gradient(lambda moved: (ByColumns(windows, moved, w).output() * dy).sum(), x),
        numeric_gradient(lambda moved: (ByColumns(windows, x, moved).output() * dy).sum(), w),
    )
    found = product.image_gradient(dy), product.kernel_gradient(dy)
    for one, expected in zip(found, slopes, strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-6, atol=1e-8)


def test_a_kernel_turned_round_would_be_noticed(numeric_gradient):
    windows = Windows((3, 3), (1, 1), (1, 1))
    x, w, dy = drawn(windows)
    found = ByColumns(windows, x, w[:, :, ::-1, ::-1]).image_gradient(dy)
    slopes = numeric_gradient(lambda moved: (ByColumns(windows, moved, w).output() * dy).sum(), x)
    assert np.abs(found - slopes).max() > 0.1


def batch_last(x):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0)


@pytest.mark.parametrize("windows", WINDOWS)
def test_images_come_out_batch_last(windows):
    x, w, dy = drawn(windows)
    product = ByColumns(windows, x, w)
    assert product.output().transpose(1, 2, 3, 0).flags.c_contiguous
    # Within its border, where there was one.
    steps = product.image_gradient(dy).strides
    assert sorted(steps) == [steps[0], steps[3], steps[2], steps[1]]


def test_one_by_one_windows_side_by_side_are_the_images_themselves():
    x, w, _ = drawn(WINDOWS[3])
    images = batch_last(x)
    assert np.shares_memory(ByColumns(WINDOWS[3], images, w).columns, images)
    assert not np.shares_memory(ByColumns(WINDOWS[4], images, w).columns, images)


def test_both_gradients_may_be_asked_for_twice_and_change_nothing():
    windows = WINDOWS[1]
    x, w, dy = drawn(windows)
    before = [array.copy() for array in (x, w, dy)]
    product = ByColumns(windows, x, w)
    for gradient in (product.image_gradient, product.kernel_gradient):
        np.testing.assert_array_equal(gradient(dy), gradient(dy))
    for array, expected in zip((x, w, dy), before, strict=True):
        np.testing.assert_array_equal(array, expected)
