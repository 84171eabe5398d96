"""The CUDA source itself, run on the host against the float64 oracle."""

import ml_dtypes
import numpy as np
import pytest

from reference_impl.kernels.cuda_on_host import HostBuffer, Order
from reference_impl.kernels.task import WORKSPACE
from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy as oracle

INF = np.inf
NAN = np.nan

# What is put into a row whose label is 2.
SPECIAL = {
    "NaN first": [(0, NAN)],
    "NaN with its sign set": [(0, -NAN)],
    "NaN last": [(-1, NAN)],
    "+inf": [(0, INF)],
    "-inf elsewhere": [(1, -INF)],
    "-inf at the label": [(2, -INF)],
    "-inf at first": [(slice(0, 2), -INF)],
    "nothing but -inf": [(slice(None), -INF)],
    "-inf and NaN": [(slice(None), -INF), (1, NAN)],
    "nothing but NaN": [(slice(None), NAN)],
}

# A few rows for each width: as many as make rows of every alignment, and teams without a row.
SHAPES = [
    *((67, 1), (9, 3), (33, 10), (40, 16), (17, 17), (19, 32), (5, 33), (9, 64), (7, 101)),
    *((5, 511), (9, 1000), (6, 1024), (5, 1027), (3, 2048), (2, 32000), (2, 32771)),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("order", Order)
def test_every_plan_agrees_with_the_oracle_in_any_order_of_threads(
    host_gpu, logits_of, labels_of, assert_fused, shape, order
):
    x, t = logits_of(shape, np.float32), labels_of(*shape)
    got = host_gpu.forward_backward(x, t, order=order, seed=shape[1])
    assert_fused(got, oracle(x, t), rows=shape[0])


@pytest.mark.parametrize("architecture", ["sm_90", "sm_120", "sm_75"])
@pytest.mark.parametrize("order", Order)
def test_rows_too_long_for_registers_agree_with_the_oracle(
    host_gpu, logits_of, labels_of, assert_fused, architecture, order
):
    shape = (3, 40000)
    x, t = logits_of(shape, np.float32), labels_of(*shape)
    got = host_gpu.like(architecture).forward_backward(x, t, order=order)
    assert_fused(got, oracle(x, t), rows=3)


def test_a_row_over_four_blocks_agrees_with_the_oracle(
    host_gpu, logits_of, labels_of, assert_fused
):
    shape = (2, 65543)
    x, t = logits_of(shape, np.float32), labels_of(*shape)
    got = host_gpu.forward_backward(x, t, order=Order.RANDOM)
    assert_fused(got, oracle(x, t), rows=2)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("classes", [3, 17, 101])
def test_every_format_agrees_with_the_oracle(
    host_gpu, logits_of, labels_of, assert_fused, dtype, classes
):
    x, t = logits_of((9, classes), _dtype(dtype)), labels_of(9, classes)
    assert_fused(host_gpu.forward_backward(x, t), oracle(x, t), rows=9)


@pytest.mark.parametrize(
    ("dtype", "classes"), [("float64", 600), ("float16", 1003), ("bfloat16", 1003)]
)
@pytest.mark.parametrize("order", Order)
def test_wide_rows_of_every_format_agree_with_the_oracle(
    host_gpu, logits_of, labels_of, assert_fused, dtype, classes, order
):
    x, t = logits_of((5, classes), _dtype(dtype)), labels_of(5, classes)
    assert_fused(host_gpu.forward_backward(x, t, order=order), oracle(x, t), rows=5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignore_index", [None, 2])
@pytest.mark.parametrize("label_dtype", [np.int32, np.int64])
def test_reductions_and_ignored_rows_agree_with_the_oracle(
    host_gpu, logits_of, labels_of, assert_fused, reduction, ignore_index, label_dtype
):
    shape = (37, 10)
    x, t = logits_of(shape, np.float32), labels_of(*shape, label_dtype)
    got = host_gpu.forward_backward(x, t, reduction=reduction, ignore_index=ignore_index)
    truth = oracle(x, t, reduction=reduction, ignore_index=ignore_index)
    loss = "losses" if reduction == "none" else "loss"
    # A sum of 37 losses is rounded once, when it is stored: it is added up in float64.
    assert_fused(got, truth, rows=1 if reduction != "mean" else 37, loss=loss)
    assert not got["gradient"][t == ignore_index].any()


def test_ignore_index_may_lie_outside_the_classes(host_gpu, logits_of, labels_of, assert_fused):
    x, t = logits_of((9, 101), np.float32), labels_of(9, 101)
    t[::2] = -100
    got = host_gpu.forward_backward(x, t, ignore_index=-100)
    assert_fused(got, oracle(x, t, ignore_index=-100), rows=9)
    assert not got["complaint"]["raised"]


def test_an_ignored_row_counts_for_nothing_whatever_it_holds(host_gpu, logits_of, labels_of):
    x, t = logits_of((9, 101), np.float32).copy(), labels_of(9, 101)
    t[4] = -100
    x[4, :3] = (NAN, INF, -INF)
    got = host_gpu.forward_backward(x, t, ignore_index=-100)
    assert np.isfinite(got["loss"]).all()
    assert not got["gradient"][4].any()


@pytest.mark.parametrize("rows", [0, 5])
def test_the_mean_of_no_rows_is_nan_and_its_gradient_zero(host_gpu, rows):
    x, t = np.zeros((rows, 10), np.float32), np.full(rows, 3)
    got = host_gpu.forward_backward(x, t, ignore_index=3)
    assert np.isnan(got["loss"]).all()
    assert not got["gradient"].any()


def test_the_sum_over_no_rows_is_zero(host_gpu):
    x, t = np.zeros((0, 10), np.float32), np.zeros(0, np.int64)
    assert host_gpu.forward_backward(x, t, reduction="sum")["loss"] == 0


@pytest.mark.parametrize("classes", [3, 33, 1027, 40000])
@pytest.mark.parametrize("architecture", ["sm_90", "sm_75"])
@pytest.mark.parametrize("special", SPECIAL)
def test_nan_and_infinities_mean_what_they_mean_to_the_oracle_and_stay_in_their_row(
    host_gpu, logits_of, assert_fused, classes, architecture, special
):
    x, t = logits_of((3, classes), np.float32).copy(), np.array([2, 2, 0])
    for where, value in SPECIAL[special]:
        x[1, where] = value
    got = host_gpu.like(architecture).forward_backward(x, t, reduction="none")
    assert_fused(got, oracle(x, t, reduction="none"), loss="losses")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("special", SPECIAL)
def test_packed_formats_keep_nan_and_infinities(host_gpu, logits_of, assert_fused, dtype, special):
    x, t = logits_of((3, 101), _dtype(dtype)).copy(), np.array([2, 2, 0])
    for where, value in SPECIAL[special]:
        x[1, where] = value
    got = host_gpu.forward_backward(x, t, reduction="none")
    assert_fused(got, oracle(x, t, reduction="none"), loss="losses")


@pytest.mark.parametrize("offset", [1e4, 1e8, -1e30])
@pytest.mark.parametrize("classes", [3, 1000, 40000])
def test_a_common_offset_costs_no_digit_of_the_loss(host_gpu, offset, classes):
    x = np.full((2, classes), offset, np.float32)
    got = host_gpu.like("sm_75").forward_backward(x, np.array([0, classes - 1]))
    np.testing.assert_allclose(got["loss"], np.log(classes), rtol=1e-6)


def test_a_float16_loss_beyond_65504_terms_is_finite(host_gpu):
    x = np.zeros((1, 70000), np.float16)
    call = host_gpu.call(x, np.array([0]), kernel="rows_read_twice<Half, 8, 1024>")
    (got,) = host_gpu.run([call])
    np.testing.assert_allclose(got["loss"], np.log(70000), rtol=1e-6)


@pytest.mark.parametrize("shape", [(9, 3), (7, 33), (5, 1027), (2, 40000)], ids=str)
@pytest.mark.parametrize("architecture", ["sm_90", "sm_120", "sm_75"])
@pytest.mark.parametrize("order", Order)
def test_the_gradient_may_be_written_over_the_logits(
    host_gpu, logits_of, labels_of, assert_fused, shape, architecture, order
):
    x, t = logits_of(shape, np.float32), labels_of(*shape)
    gpu = host_gpu.like(architecture)
    got = gpu.forward_backward(x, t, gradient="in place", order=order)
    assert_fused(got, oracle(x, t), rows=shape[0])


def test_the_loss_alone_is_the_same_loss(host_gpu, logits_of, labels_of):
    x, t = logits_of((9, 1000), np.float32), labels_of(9, 1000)
    both = host_gpu.forward_backward(x, t)
    alone = host_gpu.forward_backward(x, t, gradient="none")
    assert "gradient" not in alone
    np.testing.assert_array_equal(alone["loss"], both["loss"])


@pytest.mark.parametrize("misalignment", [4, 8, 12])
def test_logits_out_of_step_with_the_gradient_are_read_element_by_element(
    host_gpu, logits_of, labels_of, assert_fused, misalignment
):
    x, t = logits_of((3, 1027), np.float32), labels_of(3, 1027)
    got = host_gpu.forward_backward(x, t, misalignment=misalignment)
    assert_fused(got, oracle(x, t), rows=3)


@pytest.mark.parametrize("label", [-1, 10, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_bad_label_spoils_its_own_row_and_is_reported(host_gpu, logits_of, label, dtype):
    x, t = logits_of((33, 10), np.float32), np.full(33, 4, dtype)
    t[21] = label
    got = host_gpu.forward_backward(x, t, reduction="none")
    spoilt = np.arange(33) == 21
    np.testing.assert_array_equal(np.isnan(got["losses"]), spoilt)
    np.testing.assert_array_equal(np.isnan(got["gradient"]).all(axis=1), spoilt)
    np.testing.assert_array_equal(np.isnan(got["gradient"]).any(axis=1), spoilt)
    assert got["complaint"].tolist() == [(1, 21, label)]


def test_a_label_beyond_int32_is_not_cut_down_to_a_good_one(host_gpu, logits_of):
    x, t = logits_of((3, 10), np.float32), np.array([1, 2**32 + 1, 1])
    got = host_gpu.forward_backward(x, t, reduction="none")
    assert np.isnan(got["losses"]).tolist() == [False, True, False]
    assert got["complaint"]["label"] == 2**32 + 1


def test_of_several_bad_labels_one_is_reported_whole(host_gpu, logits_of):
    x, t = logits_of((33, 10), np.float32), np.full(33, 4)
    bad = {5: -7, 21: 99, 32: 10}
    for row, label in bad.items():
        t[row] = label
    for order in Order:
        got = host_gpu.forward_backward(x, t, order=order)
        ((raised, row, label),) = got["complaint"].tolist()
        assert raised == 1
        assert bad[row] == label


@pytest.mark.parametrize("classes", [10, 1000])
def test_a_workspace_is_ready_for_the_next_launch_and_the_mean_is_the_same_to_the_bit(
    host_gpu, logits_of, labels_of, classes
):
    x, t = logits_of((301, classes), np.float32), labels_of(301, classes)
    t[::7] = -1
    shared = HostBuffer(np.zeros(1, WORKSPACE))
    calls = [
        host_gpu.call(x, t, ignore_index=-1, workspace=shared, order=order)
        for order in (*Order, *Order)
    ]
    losses = {float(got["loss"][0]) for got in host_gpu.run(calls)}
    assert losses == {float(np.float32(oracle(x, t, ignore_index=-1).loss))}


@pytest.mark.parametrize(
    ("shape", "rows_per_group"), [((301, 3), 96), ((37, 1000), 12), ((7, 1028), 3), ((5, 65543), 2)]
)
def test_a_group_may_hold_more_rows_than_its_block_takes_at_once(
    host_gpu, logits_of, labels_of, assert_fused, shape, rows_per_group
):
    x, t = logits_of(shape, np.float32), labels_of(*shape)
    for order in Order:
        call = host_gpu.call(x, t, rows_per_group=rows_per_group, order=order)
        assert_fused(host_gpu.run([call])[0], oracle(x, t), rows=shape[0])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(7, 3), (5, 101), (2, 20000)], ids=str)
def test_backward_makes_up_for_another_dy(host_gpu, logits_of, dtype, shape):
    gradient = logits_of(shape, _dtype(dtype))
    got = host_gpu.scale_gradient(gradient, np.array([3.0], np.float32), expected_dy=2.0)
    expected = (gradient.astype(np.float32) * np.float32(1.5)).astype(gradient.dtype)
    np.testing.assert_array_equal(got, expected)


def test_backward_takes_one_dy_for_each_row(host_gpu, logits_of):
    gradient = logits_of((7, 101), np.float32)
    dy = np.array([1, 2, 1, 0.5, 1, -1, 0], np.float32)
    got = host_gpu.scale_gradient(gradient, dy)
    np.testing.assert_array_equal(got, gradient * dy[:, None])


@pytest.mark.parametrize("dy", [NAN, INF])
def test_backward_leaves_zeros_alone(host_gpu, dy):
    gradient = np.array([[0.0, 1.0, -1.0, 0.0]], np.float32)
    got = host_gpu.scale_gradient(gradient, np.array([dy], np.float32))
    assert got[0, [0, 3]].tolist() == [0.0, 0.0]
    assert not np.isfinite(got[0, 1:3]).any()


def test_an_expected_dy_is_in_the_gradient_already(host_gpu, logits_of, labels_of, assert_fused):
    x, t = logits_of((9, 101), np.float32), labels_of(9, 101)
    got = host_gpu.forward_backward(x, t, expected_dy=4.0)
    assert_fused(got, oracle(x, t, dy=4.0), rows=9 / 4)


def _dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
