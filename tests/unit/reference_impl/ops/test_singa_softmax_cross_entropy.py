import math

import numpy as np
import pytest

from reference_impl.autograd import gradients, training
from reference_impl.ops import (
    SingaSoftMaxCrossEntropy,
    singa_softmax_cross_entropy,
    softmax_cross_entropy,
)
from reference_impl.tensor import Tensor

SATURATED = 87.33654


def single(*rows):
    return np.array(rows, dtype=np.float32)


def run(x, t, dy=None, function=singa_softmax_cross_entropy):
    tensor = Tensor(x, stores_grad=True)
    with training():
        loss = function(tensor, t)
    return loss.data, gradients(loss, dy)[tensor].data


def test_where_singa_is_right_the_two_ops_agree():
    rng = np.random.default_rng(7)
    x, t = rng.normal(size=(33, 10)).astype(np.float32), rng.integers(0, 10, 33, dtype=np.int32)
    loss, dx = run(x, t)
    expected, expected_dx = run(x, t, function=softmax_cross_entropy)
    assert loss[0] == pytest.approx(expected, rel=3e-7)
    assert dx == pytest.approx(expected_dx, abs=1e-8)


@pytest.mark.parametrize("label", [np.array([1], np.int32), np.array([[0, 1, 0]], np.int32)])
def test_the_loss_saturates_but_its_gradient_does_not(label):
    loss, dx = run(single([200, 0, 0]), label)
    assert loss == pytest.approx([SATURATED], rel=1e-6)
    assert dx.tolist() == [[1, -1, 0]]


def test_dy_is_ignored():
    x, t = single([1, 2, 3]), np.array([0], np.int32)
    assert np.array_equal(run(x, t, 5.0)[1], run(x, t)[1])


def test_the_loss_has_shape_one():
    loss, _ = run(single([1, 2]), np.array([0], np.int32))
    assert (loss.shape, loss.dtype) == ((1,), np.float32)


def test_int64_labels_are_read_as_pairs_of_int32():
    # In memory [2, 1] is 2 0 1 0 (little endian), and SINGA takes the first two.
    x = single([1, 2, 3], [3, 2, 1])
    as_stored = run(x, np.array([2, 0], np.int32))
    assert np.array_equal(run(x, np.array([2, 1], np.int64))[0], as_stored[0])


def test_float_one_hot_rows_come_out_right_and_soft_rows_wrong():
    x = single([1, 2])
    assert run(x, single([0, 1]))[0] == pytest.approx([0.31326166], rel=1e-6)
    assert run(x, single([0.3, 0.7]))[0] == pytest.approx([0.8108769], rel=1e-6)


def test_a_column_of_one_hot_rows_is_read_as_ids():
    x = single([3], [-2])
    assert run(x, np.zeros((2, 1), np.int32))[0].tolist() == [0]
    with pytest.raises(ValueError, match=r"label 1 in row 0, as SINGA reads it.*outside \[0, 1\)"):
        run(x, np.ones((2, 1), np.int32))


def test_negative_counts_and_rows_of_zeros_are_taken_as_they_are():
    x = single([1, 2, 3])
    assert run(x, np.array([[-1, 0, 3]], np.int32))[0] == pytest.approx([-0.592394], rel=1e-6)
    loss, dx = run(x, np.zeros((1, 3), np.int32))
    assert np.isnan(loss).all()
    assert np.isnan(dx).all()


def test_a_nan_logit_takes_its_rows_probability_and_is_masked_in_the_loss_of_another_class():
    loss, dx = run(single([math.nan, 0, 1]), np.array([1], np.int32))
    assert loss == pytest.approx([SATURATED], rel=1e-6)
    assert np.isnan(dx[0, 0])
    assert dx[0, 1:].tolist() == [-1, 0]


def test_the_probabilities_are_kept():
    operation = SingaSoftMaxCrossEntropy(np.array([0], np.int32))
    with training():
        operation(Tensor(single([0, 0])))
    assert operation.p.tolist() == [[0.5, 0.5]]


def test_on_a_device_nothing_is_read_and_a_bad_id_makes_its_row_nan(device):
    x = device.array(single([1, 2], [1, 2], [1, 2]))
    loss, dx = run(x, device.array(np.array([0, -1, 2], np.int32)))
    assert np.isnan(device.fetch(loss)).all()
    assert np.isnan(device.fetch(dx)).all(axis=1).tolist() == [False, True, True]
    run(x, device.array(np.eye(2, dtype=np.float32)[[0, 1, 1]]))
    assert device.reads == []


@pytest.mark.parametrize(
    ("x", "t", "error", "message"),
    [
        (np.zeros((1, 2)), np.zeros(1, np.int32), TypeError, "float32, got float64"),
        (single([1, 2])[0], np.zeros(1, np.int32), ValueError, r"\(2,\)"),
        (np.zeros((0, 2), np.float32), np.zeros(0, np.int32), ValueError, r"\(0, 2\)"),
        (single([1, 2], [1, 2]), np.zeros(3, np.int32), ValueError, r"\(3,\)"),
        (single([1, 2]), np.zeros((1, 1, 1), np.int32), ValueError, r"\(1, 1, 1\)"),
        (single([1, 2]), np.zeros(1, np.uint8), TypeError, "past the end"),
    ],
)
def test_what_makes_singa_read_foreign_memory_or_abort_raises(x, t, error, message):
    with pytest.raises(error, match=message):
        run(x, t)
