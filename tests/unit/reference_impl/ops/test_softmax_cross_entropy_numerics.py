"""Hard values, one test per row of what is known to go wrong in softmax cross-entropy."""

import math

import ml_dtypes
import numpy as np
import pytest

from reference_impl.autograd import gradients, training
from reference_impl.ops import softmax_cross_entropy
from reference_impl.tensor import Tensor

INF, NAN = math.inf, math.nan
FORMATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def run(x, t, dtype=np.float32, **options):
    tensor = Tensor(np.asarray(x, dtype), stores_grad=True)
    with training():
        loss = softmax_cross_entropy(tensor, np.asarray(t), **options)
    dy = None if loss.size == 1 else np.ones(loss.shape, loss.dtype)
    return loss.data, gradients(loss, dy)[tensor].data


def test_a_certain_and_wrong_row_has_its_true_loss_and_full_gradient():
    loss, dx = run([[1e4, 0, 0]], [1])
    assert loss == 1e4
    assert dx.tolist() == [[1, -1, 0]]


@pytest.mark.parametrize("value", [1e8, -1e30, 1e38, -1e38])
def test_equal_logits_of_any_size_have_the_loss_log_c(value):
    loss, dx = run([[value] * 3], [1])
    assert loss == pytest.approx(math.log(3), rel=1e-7)
    assert dx == pytest.approx(np.array([[1, -2, 1]]) / 3, rel=1e-6)


@pytest.mark.parametrize("offset", [2.0**13, 2.0**17, 2.0**20])
def test_a_common_offset_costs_no_digits(offset):
    x = np.array([[0.0, 1.0, 2.5]])
    expected = math.log(1 + math.e + math.exp(2.5))
    loss, _ = run(x + offset, [0])
    assert loss == pytest.approx(expected, rel=3e-7)


def test_a_spread_beyond_the_float32_range_is_an_infinite_loss_with_a_finite_gradient():
    loss, dx = run([[3e38, -3e38]], [1])
    assert loss == INF
    assert dx.tolist() == [[1, -1]]


@pytest.mark.parametrize("t", [[1], [[0, 1, 0]], np.array([[0.0, 1.0, 0.0]])])
def test_minus_infinity_on_another_class_is_exact_with_gradient_zero(t):
    loss, dx = run([[-INF, 0, 1]], t)
    assert loss == pytest.approx(math.log(1 + math.e), rel=1e-7)
    assert dx[0, 0] == 0
    assert np.isfinite(dx).all()


@pytest.mark.parametrize("t", [[0], [[1, 0, 0]], np.array([[1.0, 0.0, 0.0]])])
def test_minus_infinity_on_the_label_is_an_infinite_loss_with_a_finite_gradient(t):
    loss, dx = run([[-INF, 0, 1]], t)
    assert loss == INF
    assert dx[0, 0] == -1
    assert dx[0, 1:] == pytest.approx([1 / (1 + math.e), math.e / (1 + math.e)])


@pytest.mark.parametrize("row", [[-INF, -INF, -INF], [INF, 0, 1], [INF, INF, 0], [0, NAN, 1]])
@pytest.mark.parametrize("t", [[0, 1, 2], np.eye(3, dtype=int), np.eye(3)])
@pytest.mark.parametrize("dtype", FORMATS)
def test_a_row_without_a_distribution_is_nan_alone(row, t, dtype):
    x = [[1, 2, 3], row, [3, 2, 1]]
    losses, dx = run(x, t, dtype, reduction="none")
    assert np.isnan(losses).tolist() == [False, True, False]
    assert np.isnan(dx.astype(float)).all(axis=1).tolist() == [False, True, False]
    assert np.isfinite(dx[[0, 2]].astype(float)).all()
    assert np.isnan(run(x, t, dtype)[0])


def test_an_empty_batch_has_a_nan_mean_a_zero_sum_and_an_empty_gradient():
    x, t = np.empty((0, 3)), np.empty(0, int)
    for options in ({}, {"ignore_index": 0}, {"weight": np.ones(3)}):
        mean, dx = run(x, t, np.float64, **options)
        assert np.isnan(mean)
        assert dx.shape == (0, 3)
        assert run(x, t, np.float64, reduction="sum", **options)[0] == 0
        assert run(x, t, np.float64, reduction="none", **options)[0].shape == (0,)
    for rows in (np.empty((0, 3), int), np.empty((0, 3))):
        assert np.isnan(run(x, rows)[0])


@pytest.mark.parametrize("t", [[0, 0], [[0], [0]], [[1], [1]], [[0], [3]], np.ones((2, 1))])
def test_one_class_has_loss_and_gradient_zero(t):
    loss, dx = run([[3], [-2]], t)
    assert loss == 0
    assert dx.tolist() == [[0], [0]]


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}, {"weight": np.ones(2)}])
def test_all_rows_ignored_is_a_nan_mean_with_gradient_exactly_zero(options):
    loss, dx = run([[1, 2], [NAN, INF]], [-100, -100], ignore_index=-100, **options)
    assert np.isnan(loss)
    assert (dx == 0).all()
    assert run([[1, 2]], [-100], ignore_index=-100, reduction="sum", **options)[0] == 0


@pytest.mark.parametrize("row", [[1, 2, 3], [NAN, 0, 0], [INF, 0, 0], [-INF, -INF, -INF]])
@pytest.mark.parametrize("ignored", [-100, 0, 2, 255])
def test_an_ignored_row_adds_exactly_nothing_whatever_it_holds(row, ignored):
    options = {"ignore_index": ignored, "label_smoothing": 0.1}
    loss, dx = run([row, [1, 2, 4]], [ignored, 1], **options)
    alone, alone_dx = run([[1, 2, 4]], [1], **options)
    assert loss == alone
    assert dx[0].tolist() == [0, 0, 0]
    assert dx[1].tolist() == alone_dx[0].tolist()


def test_weights_that_are_all_zero_are_a_nan_mean_with_gradient_zero():
    loss, dx = run([[1, 2]], [0], weight=np.zeros(2))
    assert np.isnan(loss)
    assert dx.tolist() == [[0, 0]]


def test_soft_labels_of_weight_zero_add_nothing_even_to_minus_infinity():
    loss, dx = run([[-INF, 0.0]], np.array([[0.0, 1.0]]))
    assert loss == 0
    assert dx.tolist() == [[0, 0]]


def test_soft_labels_are_not_normalised():
    x, t = np.array([[1.0, 2.0, 4.0]]), np.array([[0.5, 0.25, 2.0]])
    p = np.exp(x) / np.exp(x).sum()
    loss, dx = run(x, t, np.float64)
    assert loss == pytest.approx(-(t * np.log(p)).sum(), rel=1e-12)
    assert dx == pytest.approx(p * t.sum() - t, rel=1e-12)


@pytest.mark.parametrize("t", [[1], [[0, 1]]])
@pytest.mark.parametrize("smoothing", [0.1, 1.0])
def test_smoothing_over_minus_infinity_is_an_infinite_loss(t, smoothing):
    loss, dx = run([[-INF, 0]], t, label_smoothing=smoothing)
    assert loss == INF
    assert dx == pytest.approx(np.array([[-smoothing / 2, smoothing / 2]]))


@pytest.mark.parametrize("t", [[0], [[1, 0]], np.array([[1.0, 0.0]])])
def test_full_smoothing_does_not_look_at_the_label(t):
    loss, dx = run([[-INF, 0]], t, label_smoothing=1.0)
    assert loss == INF
    assert dx.tolist() == [[-0.5, 0.5]]
    assert run([[2, 0]], t, label_smoothing=1.0)[0] == run([[2, 0]], [1], label_smoothing=1.0)[0]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_sixteen_bit_logits_are_summed_in_float32_over_seventy_thousand_classes(dtype):
    loss, dx = run(np.zeros((1, 70000)), [3], dtype)
    assert (loss.dtype, dx.dtype) == (np.float32, np.dtype(dtype))
    assert loss == pytest.approx(math.log(70000), rel=1e-6)
    assert dx[0, 3] == -1
    assert dx[0, 0] == np.dtype(dtype).type(1 / 70000)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_the_mean_of_sixteen_bit_losses_does_not_overflow(dtype):
    rows = 8000  # the sum of the losses, 80000, is beyond float16
    x = np.zeros((rows, 2))
    x[:, 0] = 10
    loss, _ = run(x, np.ones(rows, int), dtype)
    assert loss == pytest.approx(10 + math.log1p(math.exp(-10)), rel=1e-6)


@pytest.mark.parametrize(("dtype", "wide"), [*zip(FORMATS, ["f4", "f4", "f4", "f8"], strict=True)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_loss_is_float32_or_wider_and_the_gradient_has_the_logits_format(
    dtype, wide, reduction
):
    loss, dx = run([[1, 2], [3, 4]], [0, 1], dtype, reduction=reduction)
    assert (loss.dtype, dx.dtype) == (np.dtype(wide), np.dtype(dtype))
    assert loss.shape == ((2,) if reduction == "none" else ())
    assert isinstance(loss, np.ndarray)


def test_a_large_upstream_gradient_lets_small_float16_gradients_through():
    # 1 / (N C) = 6e-8 is the smallest float16 and would be lost to rounding; times 2**16 it is not.
    tensor = Tensor(np.zeros((2048, 8192 // 16), np.float16), stores_grad=True)
    with training():
        loss = softmax_cross_entropy(tensor, np.zeros(2048, int))
    dx = gradients(loss, 2.0**16)[tensor].data
    assert dx[0, 1] == np.float16(2.0**16 / 2048 / 512)


@pytest.mark.parametrize("classes", [10, 1000, 32000, 131072])
def test_the_float32_loss_is_within_its_error_bound(classes):
    rng = np.random.default_rng(classes)
    rows = 1_000_000 // classes + 1
    x = rng.normal(0, 4, (rows, classes)).astype(np.float32)
    t = rng.integers(0, classes, rows)
    losses, _ = run(x, t, reduction="none")
    exact, _ = run(x, t, np.float64, reduction="none")
    # Rounding of z, exp and log: 4 units of the loss. A pairwise sum: log2(C) units of s, so of log s.
    eps = np.finfo(np.float32).eps
    bound = 4 * eps * np.maximum(1, exact) + eps * math.log2(classes)
    assert (np.abs(losses - exact) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_the_float32_sum_is_pairwise_in_any_layout(layout, dtype):
    # A serial float32 sum of 2**20 times 0.1 is off by 1e-3 and more.
    classes = 2**20
    x = np.full((2, classes), math.log(0.1), dtype, order=layout)
    x[:, 0] = 0
    losses, _ = run(x, [0, 0], dtype, reduction="none")
    small = math.exp(float(x[0, 1]))
    assert losses == pytest.approx(math.log(1 + (classes - 1) * small), rel=3e-7)


def test_the_mean_of_many_equal_float32_losses_is_that_loss():
    rows = 2**21
    x = np.zeros((rows, 2), np.float32)
    x[:, 1] = 0.3
    one, _ = run(x[:1], [0])
    many, _ = run(x, np.zeros(rows, np.uint8))
    assert many == one
