"""What the op computes, against loops over the definition and against central differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.autograd import gradients, training
from reference_impl.ops import SoftMaxCrossEntropy, softmax_cross_entropy
from reference_impl.tensor import Tensor

REDUCTIONS = ["mean", "sum", "none"]


def run(x, t, dy=None, **options):
    tensor = Tensor(x, stores_grad=True)
    with training():
        loss = softmax_cross_entropy(tensor, t, **options)
    if dy is None and loss.size != 1:
        dy = np.ones(loss.shape, loss.dtype)
    return loss.data, gradients(loss, dy)[tensor].data


def problem(rows=5, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 3, (rows, classes)), rng.integers(0, classes, rows)


def assert_close(actual, expected, rtol=1e-12):
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=rtol, atol=rtol)


ALL_OPTIONS = [
    {
        "reduction": reduction,
        "ignore_index": ignored,
        "label_smoothing": smoothing,
        "weight": weight,
    }
    for reduction in REDUCTIONS
    for ignored in (None, 2, -100)
    for smoothing in (0.0, 0.25, 1.0)
    for weight in (None, np.array([0.5, 2.0, 3.0, 0.0]))
]


@pytest.mark.parametrize("options", ALL_OPTIONS, ids=str)
def test_ids_with_every_option_match_the_definition(plain_cross_entropy, options):
    x, t = problem()
    t[1] = 2
    if options["ignore_index"] == -100:
        t[1:3] = -100
    assert_close(run(x, t, **options), plain_cross_entropy(x, t, **options))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("weight", [None, np.array([0.5, 2.0, 3.0, 0.0])])
@pytest.mark.parametrize("kind", ["counts", "soft"])
def test_rows_with_every_option_match_the_definition(
    plain_cross_entropy, kind, reduction, smoothing, weight
):
    x, _ = problem()
    rng = np.random.default_rng(1)
    options = {"reduction": reduction, "label_smoothing": smoothing, "weight": weight}
    if kind == "counts":
        t = rng.integers(0, 3, x.shape) + np.eye(5, 4, dtype=int)
        t[4, 0] = 1
        target = t / t.sum(axis=1, keepdims=True)
    else:
        t = target = rng.uniform(0, 1, x.shape)
    assert_close(run(x, t, **options), plain_cross_entropy(x, target, **options))


def test_one_hot_multi_hot_and_ids_of_one_class_agree():
    x, t = problem()
    by_id = run(x, t)
    one_hot = np.eye(4, dtype=np.uint8)[t]
    for same in (t[:, None], one_hot, one_hot * 7, one_hot.astype(float)):
        assert_close(run(x, same), by_id)


@pytest.mark.parametrize("options", ALL_OPTIONS[::5], ids=str)
def test_the_gradient_matches_central_differences(numeric_gradient, options):
    x, t = problem(3, 4)
    t[0] = 2
    dy = np.array([1.0, -2.0, 0.5]) if options["reduction"] == "none" else np.array(3.0)
    _, dx = run(x, t, dy, **options)

    def scalar(v):
        return (softmax_cross_entropy(Tensor(v), t, **options).data * dy).sum()

    np.testing.assert_allclose(dx, numeric_gradient(scalar, x), atol=1e-8)


def test_the_gradient_of_soft_labels_matches_central_differences(numeric_gradient):
    x, _ = problem(3, 4)
    t = np.random.default_rng(2).uniform(-1, 2, x.shape)
    _, dx = run(x, t)
    numeric = numeric_gradient(lambda v: softmax_cross_entropy(Tensor(v), t).data, x)
    np.testing.assert_allclose(dx, numeric, atol=1e-8)


@settings(max_examples=60)
@given(st.data())
def test_any_shape_dtype_and_labels_match_the_definition(plain_cross_entropy, data):
    rows = data.draw(st.integers(1, 6), "rows")
    classes = data.draw(st.integers(1, 6), "classes")
    dtype = data.draw(st.sampled_from(["float16", "float32", "float64"]), "dtype")
    values = st.floats(-300, 300, width=16)
    x = np.array(
        data.draw(st.lists(values, min_size=rows * classes, max_size=rows * classes)), dtype
    ).reshape(rows, classes)
    label_dtype = data.draw(st.sampled_from(["int8", "uint8", "int32", "uint32", "int64"]))
    ignored = data.draw(st.sampled_from([None, 0, classes - 1, 100]))
    ids = st.integers(0, classes - 1)
    if ignored is not None:
        ids |= st.just(ignored)
    t = np.array(data.draw(st.lists(ids, min_size=rows, max_size=rows)), label_dtype)
    options = {
        "reduction": data.draw(st.sampled_from(["sum", "none"])),
        "ignore_index": ignored,
        "label_smoothing": data.draw(st.sampled_from([0.0, 0.1, 1.0])),
    }
    loss, dx = run(x, t, **options)
    expected, gradient = plain_cross_entropy(x.astype(np.float64), t, **options)
    # float32 sums of at most 6 terms; losses reach 600, so an absolute error of 4 units there.
    np.testing.assert_allclose(loss, expected, rtol=1e-6, atol=1e-6 * np.ptp(x.astype(float)))
    tolerance = 1e-3 if dtype == "float16" else 1e-6
    np.testing.assert_allclose(dx, gradient, atol=tolerance)
    assert (dx.shape, dx.dtype) == (x.shape, x.dtype)


@pytest.mark.parametrize("dy", [2.0, 0.0, -3, np.array(2.0), np.array([2.0])])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_dy_scales_the_gradient(plain_cross_entropy, reduction, dy):
    x, t = problem()
    _, dx = run(x, t, dy, reduction=reduction)
    _, expected = plain_cross_entropy(x, t, reduction=reduction, dy=dy)
    assert_close([dx], [expected])


@pytest.mark.parametrize(
    "dy", [2.0, np.arange(5.0), np.broadcast_to(np.array(2.0), (5,)), np.arange(10.0)[::2]]
)
@pytest.mark.parametrize("t", [np.array([0, 3, 1, 2, 2]), np.eye(4, dtype=int)[[0, 3, 1, 2, 2]]])
def test_a_dy_per_row_scales_its_row_whatever_its_strides(plain_cross_entropy, t, dy):
    x, _ = problem()
    _, dx = run(x, t, dy, reduction="none", label_smoothing=0.1)
    _, expected = plain_cross_entropy(x, t, reduction="none", label_smoothing=0.1, dy=dy)
    assert_close([dx], [expected])


def test_a_float64_dy_does_not_widen_a_float32_gradient():
    x, t = problem()
    for dy in (np.float64(2), np.array(2.0)):
        assert run(x.astype(np.float32), t, dy)[1].dtype == np.float32


def test_the_gradient_of_a_row_sums_to_zero_and_classes_may_be_permuted():
    x, t = problem(64, 10)
    x = x.astype(np.float32)
    loss, dx = run(x, t)
    assert np.abs(dx.sum(axis=1)).max() <= 10 * np.finfo(np.float32).eps
    order = np.random.default_rng(3).permutation(10)
    permuted, permuted_dx = run(x[:, order], np.argsort(order)[t])
    np.testing.assert_allclose(permuted, loss, rtol=1e-6)
    np.testing.assert_allclose(permuted_dx, dx[:, order], atol=1e-8)


def test_an_offset_that_rounds_exactly_changes_nothing():
    x = np.array([[1.0, 2.0, 3.0]], np.float32)
    loss, dx = run(x, np.array([0]))
    shifted, shifted_dx = run(x + np.float32(2**20), np.array([0]))
    assert (loss, dx.tolist()) == (shifted, shifted_dx.tolist())


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "every second column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every third row": lambda x: np.repeat(x, 3, axis=0)[::3],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "a slice of the last axis": lambda x: np.stack([x, x + 1], axis=2)[:, :, 0],
    "other byte order": lambda x: x.astype(">f8"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("soft", [False, True])
def test_any_memory_layout_of_logits_and_labels_gives_the_same(layout, soft):
    x, t = problem()
    target = np.random.default_rng(4).uniform(0, 1, x.shape) if soft else t
    expected = run(x, target)
    arrange = LAYOUTS[layout]
    loss, dx = run(arrange(x), arrange(target) if soft else np.repeat(target, 2)[::2])
    assert_close((loss, dx), expected)
    assert dx.flags.c_contiguous


def test_a_row_broadcast_with_stride_zero_gives_the_same_as_its_copy():
    x = np.broadcast_to(np.array([[1.0, 2.0, 3.0]]), (4, 3))
    t = np.broadcast_to(np.array(1), (4,))
    assert_close(run(x, t), run(x.copy(), t.copy()))
    column = np.broadcast_to(np.array([[1.0], [2.0]]), (2, 3))
    assert_close(run(column, t[:2]), run(column.copy(), t[:2]))


def test_the_probabilities_are_at_hand_after_a_recorded_call():
    x, t = problem()
    operation = SoftMaxCrossEntropy(t)
    with training():
        operation(Tensor(x))
    expected = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(operation.p, expected, rtol=1e-12)


def test_labels_and_weights_may_be_tensors():
    x, t = problem()
    w = np.array([1.0, 2.0, 3.0, 4.0])
    assert_close(run(x, Tensor(t), weight=Tensor(w)), run(x, t, weight=w))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"reduction": "max"}, ValueError, "'max' is not one of mean, sum, none"),
        ({"label_smoothing": -0.1}, ValueError, r"\[0, 1\], got -0.1"),
        ({"label_smoothing": float("nan")}, ValueError, r"\[0, 1\], got nan"),
        ({"label_smoothing": "0.1"}, TypeError, "must be a number, got '0.1'"),
        ({"label_smoothing": True}, TypeError, "must be a number, got True"),
        ({"ignore_index": 1.0}, TypeError, "must be an integer or None, got 1.0"),
        ({"ignore_index": True}, TypeError, "must be an integer or None, got True"),
        ({"weight": np.ones(3)}, ValueError, r"shape \(3,\), need one per class \(4,\)"),
        ({"weight": np.ones(4, int)}, TypeError, "int64 is not one of float16"),
        ({"weight": [1, 1, 1, 1]}, TypeError, "list is not an array"),
    ],
)
def test_a_bad_option_is_refused_with_its_value(options, error, message):
    x, t = problem()
    with pytest.raises(error, match=message):
        run(x, t, **options)


@pytest.mark.parametrize(
    ("x", "t", "error", "message"),
    [
        (np.zeros(3), np.zeros(3, int), ValueError, r"\(N, C\), got \(3,\)"),
        (np.zeros((1, 2, 3)), np.zeros(1, int), ValueError, r"got \(1, 2, 3\)"),
        (np.zeros((5, 0)), np.zeros(5, int), ValueError, r"\(5, 0\) have no classes"),
        (np.zeros((5, 0)), np.zeros((5, 0)), ValueError, r"\(5, 0\) have no classes"),
        (np.zeros((1, 2), int), np.zeros(1, int), TypeError, "int64 is not one of float16"),
        (np.zeros((1, 2), complex), np.zeros(1, int), TypeError, "complex128 is not one"),
        (np.zeros((1, 2)), [0], TypeError, "list is not an array"),
        (np.zeros((1, 2)), np.zeros(1, bool), TypeError, "bool"),
        (np.zeros((1, 2)), np.zeros((1, 2), bool), TypeError, "bool"),
        (np.zeros((1, 2)), np.zeros(1), TypeError, "ids must be integers, got float64"),
        (np.zeros((2, 2)), np.zeros(3, int), ValueError, r"labels of shape \(3,\)"),
        (np.zeros((2, 2)), np.array([0, 2]), ValueError, r"label 2 in row 1 is outside \[0, 2\)"),
        (np.zeros((2, 2)), np.array([-1, 0]), ValueError, r"label -1 in row 0 is outside \[0, 2\)"),
    ],
)
def test_bad_input_is_refused_with_its_value(x, t, error, message):
    with pytest.raises(error, match=message):
        run(x, t)


def test_ignore_index_with_rows_is_refused():
    with pytest.raises(ValueError, match="ignore_index needs class ids"):
        run(np.zeros((1, 2)), np.array([[1, 0]]), ignore_index=0)
