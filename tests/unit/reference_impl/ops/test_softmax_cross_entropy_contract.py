"""What the op owes its caller besides numbers: no traffic, no changed input, no state that wears out."""

import tracemalloc

import numpy as np
import pytest

from reference_impl.autograd import gradients, training
from reference_impl.ops import SoftMaxCrossEntropy, softmax_cross_entropy
from reference_impl.tensor import Tensor

LABELS = {
    "ids": np.array([0, 2, 1, 2], np.int32),
    "uint8 column": np.array([[0], [2], [1], [2]], np.uint8),
    "counts": np.array([[1, 0, 0], [0, 1, 1], [3, 0, 2], [0, 0, 1]]),
    "soft": np.full((4, 3), 0.25, np.float32),
}
OPTIONS = {
    "plain": {},
    "sum": {"reduction": "sum"},
    "none": {"reduction": "none"},
    "smoothing": {"label_smoothing": 0.1},
    "full smoothing": {"label_smoothing": 1.0},
    "weight": {"weight": np.array([1.0, 0.0, 3.0], np.float32)},
    "weight and smoothing": {"weight": np.array([1, 0, 3], np.float16), "label_smoothing": 0.1},
}
IGNORING = {
    "ignore": {"ignore_index": 2},
    "ignore, weight, smoothing": {**OPTIONS["weight and smoothing"], "ignore_index": 1},
}
CASES = [(k, o) for k in LABELS for o in OPTIONS] + [("ids", o) for o in IGNORING]


def logits(dtype=np.float32):
    return np.random.default_rng(5).normal(size=(4, 3)).astype(dtype)


def run(x, t, dy=None, **options):
    tensor = Tensor(x, stores_grad=True)
    with training():
        loss = softmax_cross_entropy(tensor, t, **options)
    return loss.data, gradients(loss, dy)[tensor].data


@pytest.mark.parametrize(("labels", "options"), CASES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_on_a_device_the_values_are_those_of_the_host_and_nothing_is_read(
    device, labels, options, dtype
):
    given, t, x = (OPTIONS | IGNORING)[options], LABELS[labels], logits(dtype)
    dy = np.arange(4, dtype=np.float32) if given.get("reduction") == "none" else None
    on_device = {k: device.array(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}
    device_dy = None if dy is None else device.array(dy)
    loss, dx = run(device.array(x), device.array(t), device_dy, **on_device)
    assert device.reads == []
    expected, expected_dx = run(x, t, dy, **given)
    np.testing.assert_array_equal(device.fetch(loss), expected)
    np.testing.assert_array_equal(device.fetch(dx), expected_dx)


def test_a_device_dy_is_used_without_being_read(device):
    x, t = logits(), LABELS["ids"]
    dy = device.array(np.array(3.0, np.float32))
    _, dx = run(device.array(x), device.array(t), dy)
    assert device.reads == []
    np.testing.assert_array_equal(device.fetch(dx), run(x, t, np.array(3.0, np.float32))[1])


@pytest.mark.parametrize("options", [o for o in OPTIONS if o not in ("sum", "none")])
@pytest.mark.parametrize("bad", [3, -1, -3, 2**31 - 1, -(2**31)])
def test_on_a_device_a_bad_label_makes_its_row_nan_and_no_other(device, options, bad):
    t = LABELS["ids"].copy()
    t[1] = bad
    given = {
        k: device.array(v) if isinstance(v, np.ndarray) else v for k, v in OPTIONS[options].items()
    }
    tensor = Tensor(device.array(logits()), stores_grad=True)
    with training():
        losses = softmax_cross_entropy(tensor, device.array(t), reduction="none", **given)
    dx = gradients(losses, device.array(np.ones(4, np.float32)))[tensor].data
    assert np.isnan(device.fetch(losses.data)).tolist() == [False, True, False, False]
    assert np.isnan(device.fetch(dx)).all(axis=1).tolist() == [False, True, False, False]
    assert np.isfinite(device.fetch(dx)[[0, 2, 3]]).all()
    mean, _ = run(device.array(logits()), device.array(t), **given)
    assert np.isnan(device.fetch(mean))
    assert device.reads == []


def test_on_a_device_a_bad_label_that_is_the_ignore_index_is_ignored(device):
    t = device.array(np.array([0, -100, 1, 2]))
    loss, dx = run(device.array(logits()), t, ignore_index=-100)
    assert np.isfinite(device.fetch(loss))
    assert device.fetch(dx)[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("bad", [[0, 0, 0], [1, -1, 0]])
def test_on_a_device_a_bad_row_of_counts_makes_its_row_nan_and_no_other(device, bad):
    t = LABELS["counts"].copy()
    t[2] = bad
    _, dx = run(device.array(logits()), device.array(t))
    assert np.isnan(device.fetch(dx)).all(axis=1).tolist() == [False, False, True, False]


def test_on_a_device_a_column_for_one_class_may_hold_ids_or_counts(device):
    t = device.array(np.array([[0], [1], [-1], [5]]))
    tensor = Tensor(device.array(logits()[:, :1]))
    losses = softmax_cross_entropy(tensor, t, reduction="none").data
    np.testing.assert_array_equal(device.fetch(losses), [0, 0, np.nan, 0])


@pytest.mark.parametrize("swap", ["logits", "labels", "weight"])
def test_host_and_device_arrays_are_not_mixed(device, swap):
    arrays = {"logits": logits(), "labels": LABELS["ids"], "weight": np.ones(3, np.float32)}
    given = {k: v if k == swap else device.array(v) for k, v in arrays.items()}
    with pytest.raises(TypeError, match=r"two namespaces: (numpy and strict|strict and numpy)"):
        run(given["logits"], given["labels"], weight=given["weight"])


@pytest.mark.parametrize(("labels", "options"), CASES)
def test_no_input_is_ever_changed(labels, options):
    given, t, x = (OPTIONS | IGNORING)[options], LABELS[labels].copy(), logits()
    dy = np.arange(4, dtype=np.float32)
    held = [x, t, dy, *[v for v in given.values() if isinstance(v, np.ndarray)]]
    before = [a.copy() for a in held]
    for array in held:
        array.flags.writeable = False
    run(x, t, dy if given.get("reduction") == "none" else None, **given)
    for array, copy in zip(held, before, strict=True):
        array.flags.writeable = True
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(("labels", "options"), CASES)
def test_backward_twice_gives_equal_results_in_separate_memory(labels, options):
    given = (OPTIONS | IGNORING)[options]
    operation = SoftMaxCrossEntropy(LABELS[labels], **given)
    with training():
        operation(Tensor(logits()))
    first = operation.backward(1.0)
    kept = first.copy()
    second = operation.backward(1.0)
    assert not np.shares_memory(first, second)
    first[...] = -7
    np.testing.assert_array_equal(second, kept)
    np.testing.assert_array_equal(operation.backward(1.0), kept)


@pytest.mark.parametrize("dy", [1.0, np.array(1.0)])
def test_a_call_and_its_gradient_take_two_arrays_of_the_size_of_the_logits(dy):
    x, t = np.zeros((256, 1000), np.float32), np.zeros(256, int)
    operation = SoftMaxCrossEntropy(t)
    tracemalloc.start()
    try:
        with training():
            operation(Tensor(x))
        _, forward_peak = tracemalloc.get_traced_memory()
        dx = operation.backward(dy)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Beside them, arrays with one element per row: a few thousandths.
    assert forward_peak <= 1.1 * x.nbytes
    assert peak <= 2.1 * x.nbytes
    assert dx.dtype == x.dtype


def test_a_gradient_of_one_costs_no_array_on_a_device(device):
    run(device.array(logits()), device.array(LABELS["ids"]))
    assert "full" not in device.calls


def test_two_losses_on_one_tensor_of_logits_do_not_disturb_each_other():
    x = Tensor(logits(), stores_grad=True)
    with training():
        one = softmax_cross_entropy(x, LABELS["ids"])
        two = softmax_cross_entropy(x, LABELS["counts"])
    both = gradients(one)[x].data + gradients(two)[x].data
    separate = run(logits(), LABELS["ids"])[1] + run(logits(), LABELS["counts"])[1]
    np.testing.assert_array_equal(both, separate)


def test_nothing_is_kept_outside_training():
    operation = SoftMaxCrossEntropy(LABELS["ids"])
    operation(Tensor(logits()))
    assert not hasattr(operation, "_saved")


@pytest.mark.parametrize("seen", ["raise", "warn"])
def test_the_callers_floating_point_error_state_is_neither_used_nor_changed(seen):
    x = np.array([[np.inf, 0, -np.inf], [-1e38, 1e38, 0], [-200, 0, 0], [0, 0, 0]], np.float32)
    with np.errstate(all=seen):
        before = np.geterr()
        run(x, LABELS["ids"])
        run(x, LABELS["soft"])
        assert np.geterr() == before
