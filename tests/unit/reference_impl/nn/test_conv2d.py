import numpy as np
import pytest

from reference_impl.autograd import backward, training
from reference_impl.nn import Conv2d, Convolution
from reference_impl.nn.windows import Windows
from reference_impl.tensor import Tensor


def by_loops(x, w, b, *, stride, padding):
    """The definition: for every image, kernel and place, a sum over the window."""
    (down, across), (above, left) = stride, padding
    x = np.pad(x, ((0, 0), (0, 0), (above, above), (left, left)))
    _, _, tall, wide = w.shape
    rows, columns = (x.shape[2] - tall) // down + 1, (x.shape[3] - wide) // across + 1
    y = np.empty((len(x), len(w), rows, columns))
    for n, o, i, j in np.ndindex(y.shape):
        window = x[n, :, i * down : i * down + tall, j * across : j * across + wide]
        y[n, o, i, j] = (window * w[o]).sum() + b[o]
    return y


def drawn(*shapes):
    rng = np.random.default_rng(2)
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [
        ((3, 3), (1, 1), (0, 0)),
        ((3, 3), (2, 2), (1, 1)),
        ((2, 4), (1, 3), (0, 2)),
        ((1, 1), (1, 1), (0, 0)),
        ((1, 1), (2, 2), (0, 0)),
        ((6, 7), (1, 1), (0, 0)),
    ],
)
def test_it_is_the_sum_over_every_window(kernel, stride, padding):
    x, w, b = drawn((2, 3, 6, 7), (4, 3, *kernel), (4,))
    y = Conv2d(w, b, stride=stride, padding=padding)(Tensor(x)).data
    expected = by_loops(x, w, b, stride=stride, padding=padding)
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)


def test_the_kernel_is_yielded_before_the_bias_as_by_singa():
    x, w, b = drawn((1, 1, 3, 3), (1, 1, 2, 2), (1,))
    with training():
        y = Conv2d(w, b, name="conv1")(Tensor(x, requires_grad=False))
    yielded = [parameter.name for parameter, _ in backward(y, dy=np.ones(y.shape))]
    assert yielded == ["conv1.W", "conv1.b"]


def test_the_gradient_of_images_that_need_none_is_not_computed():
    x, w = drawn((1, 1, 3, 3), (1, 1, 2, 2))
    operation = Convolution(Windows.of(2, stride=1))
    with training():
        (y,) = operation(Tensor(x, requires_grad=False), Tensor(w, stores_grad=True))
    dx, dw = operation.backward(np.ones(y.shape))
    assert dx is None
    assert dw.shape == w.shape


def test_backward_may_be_called_twice():
    x, w, b = drawn((2, 2, 4, 4), (3, 2, 2, 2), (3,))
    operation = Convolution(Windows.of(2, stride=1))
    with training():
        (y,) = operation(*(Tensor(array, stores_grad=True) for array in (x, w, b)))
    first, second = (operation.backward(np.ones(y.shape)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_is_kept_outside_training():
    x, w = drawn((1, 1, 3, 3), (1, 1, 2, 2))
    operation = Convolution(Windows.of(2, stride=1))
    operation(Tensor(x), Tensor(w, stores_grad=True))
    assert not hasattr(operation, "_saved")


def test_its_output_lies_as_the_next_layer_wants_it():
    x, w = drawn((5, 1, 4, 4), (2, 1, 3, 3))
    y = Conv2d(w)(Tensor(x)).data
    assert y.transpose(1, 2, 3, 0).flags.c_contiguous


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (
            (2, 4, 6, 6),
            r"weights of shape \(4, 3, 3, 3\) do not fit images of shape \(2, 4, 6, 6\)",
        ),
        ((3, 6, 6), r"needs images of shape \(N, C, H, W\), got \(3, 6, 6\)"),
        ((2, 3, 2, 6), "do not fit on images"),
    ],
)
def test_images_that_do_not_fit_are_refused(shape, message):
    (w,) = drawn((4, 3, 3, 3))
    with pytest.raises(ValueError, match=message):
        Conv2d(w)(Tensor(np.zeros(shape)))


def test_a_kernel_or_bias_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="a kernel has shape"):
        Conv2d(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"a bias of shape \(3,\) for 4 kernels"):
        Conv2d(np.zeros((4, 3, 2, 2)), np.zeros(3))


def test_no_images_make_no_output_and_no_gradient():
    w, b = drawn((4, 3, 2, 2), (4,))
    with training():
        y = Conv2d(w, b)(Tensor(np.zeros((0, 3, 5, 5)), requires_grad=False))
    assert y.shape == (0, 4, 4, 4)
    for _, gradient in backward(y, dy=np.zeros(y.shape)):
        assert not gradient.data.any()


def test_kernels_of_groups_of_channels_are_refused():
    """A grouped convolution has kernels of fewer channels than its images."""
    with pytest.raises(ValueError, match=r"need \(O, 4, 3, 3\)"):
        Conv2d(np.zeros((4, 2, 3, 3)))(Tensor(np.zeros((1, 4, 5, 5))))
