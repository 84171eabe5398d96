import numpy as np
import pytest

from reference_impl.ops.labels import LabelKind, checked_ids, label_kind, normalised_rows

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]


@pytest.mark.parametrize("dtype", [*INTEGERS, ">i4"])
@pytest.mark.parametrize(
    ("shape", "kind"),
    [((4,), LabelKind.IDS), ((4, 1), LabelKind.IDS), ((4, 3), LabelKind.COUNTS)],
)
def test_integers_are_ids_or_counts_by_shape_alone(dtype, shape, kind):
    assert label_kind(np.zeros(shape, dtype), rows=4, classes=3) is kind


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_of_the_logits_shape_are_soft_labels(dtype):
    assert label_kind(np.zeros((4, 3), dtype), rows=4, classes=3) is LabelKind.SOFT
    assert label_kind(np.zeros((4, 1), dtype), rows=4, classes=1) is LabelKind.SOFT


def test_a_column_of_integers_for_one_class_may_hold_ids_or_counts():
    t = np.array([[0], [1], [7], [-100]], "int32")
    assert label_kind(t, rows=4, classes=1) is LabelKind.IDS
    ids, kept, _ = checked_ids(t, classes=1, ignore_index=-100)
    assert (ids.tolist(), kept.tolist()) == ([0, 0, 0, 0], [True, True, True, False])
    with pytest.raises(ValueError, match=r"label -100 in row 3 is outside \[0, 1\)"):
        checked_ids(t, classes=1, ignore_index=None)


def test_a_one_dimensional_label_for_one_class_is_an_id():
    with pytest.raises(ValueError, match=r"label 1 in row 0 is outside \[0, 1\)"):
        checked_ids(np.array([1]), classes=1, ignore_index=None)


@pytest.mark.parametrize("dtype", ["bool", "uint64", "complex64", "U1", "O"])
def test_any_other_dtype_is_refused_by_name(dtype):
    with pytest.raises(TypeError, match="neither int8"):
        label_kind(np.zeros(4, dtype), rows=4, classes=3)


@pytest.mark.parametrize("shape", [(4,), (4, 1)])
def test_floating_point_ids_are_refused(shape):
    with pytest.raises(TypeError, match="must be integers, got float32"):
        label_kind(np.zeros(shape, "float32"), rows=4, classes=3)


@pytest.mark.parametrize("shape", [(3,), (), (4, 2), (1, 4), (4, 3, 1), (3, 4)])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_shape_that_fits_nothing_is_refused_with_both_shapes(shape, dtype):
    with pytest.raises(ValueError, match=r"labels of shape .* fit no logits of shape \(4, 3\)"):
        label_kind(np.zeros(shape, dtype), rows=4, classes=3)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_good_ids_come_back_as_int64(dtype):
    ids, kept, bad = checked_ids(np.array([[0], [2]], dtype), classes=3, ignore_index=None)
    assert (ids.dtype, ids.tolist(), kept, bad) == (np.int64, [0, 2], None, None)


@pytest.mark.parametrize(
    ("label", "dtype"), [(3, "int64"), (-1, "int8"), (-(2**63), "int64"), (2**32 - 1, "uint32")]
)
def test_a_bad_id_is_named_with_its_row_and_range(label, dtype):
    t = np.array([0, label, 2], dtype)
    with pytest.raises(ValueError, match=rf"label {label} in row 1 is outside \[0, 3\)$"):
        checked_ids(t, classes=3, ignore_index=None)


def test_the_first_of_several_bad_ids_is_named_and_the_others_are_counted():
    with pytest.raises(ValueError, match=r"label 9 in row 1 .* \(2 more such rows\)"):
        checked_ids(np.array([0, 9, -1, 3]), classes=3, ignore_index=None)


@pytest.mark.parametrize("ignored", [-100, 1, 3, 255])
def test_an_ignored_id_may_be_any_number_and_is_safe_to_index_with(ignored):
    ids, kept, bad = checked_ids(np.array([0, ignored, 2]), classes=3, ignore_index=ignored)
    assert (ids.tolist(), kept.tolist(), bad) == ([0, 0, 2], [True, False, True], None)


@pytest.mark.parametrize("t", [[0, 7, 2], [-100, 7, 2]])
def test_a_bad_id_beside_ignored_ones_is_still_named(t):
    with pytest.raises(ValueError, match=r"label 7 in row 1 .* is not ignore_index -100"):
        checked_ids(np.array(t), classes=3, ignore_index=-100)


def test_an_ignore_index_no_label_can_hold_ignores_nothing():
    ids, kept, _ = checked_ids(np.array([0, 1], np.uint8), classes=3, ignore_index=-100)
    assert (ids.tolist(), kept) == ([0, 1], None)


def test_on_a_device_a_bad_id_is_marked_and_made_safe_without_a_read(device):
    t = device.array(np.array([0, 3, -1, -100]))
    ids, kept, bad = checked_ids(t, classes=3, ignore_index=-100)
    assert device.fetch(ids).tolist() == [0, 0, 0, 0]
    assert device.fetch(kept).tolist() == [True, True, True, False]
    assert device.fetch(bad).tolist() == [False, True, True, True]
    assert device.reads == []


@pytest.mark.parametrize("dtype", INTEGERS)
def test_counts_are_divided_by_the_sum_of_their_row(dtype):
    rows = normalised_rows(np.array([[1, 0, 1], [0, 100, 100]], dtype), np.float32)
    assert rows.dtype == np.float32
    assert rows.tolist() == [[0.5, 0, 0.5], [0, 0.5, 0.5]]


def test_the_sum_of_counts_does_not_overflow():
    big = 2**62
    assert normalised_rows(np.array([[big, big, big, big]]), np.float64).tolist() == [[0.25] * 4]


def test_bad_counts_are_named_with_row_and_class():
    with pytest.raises(ValueError, match="count -1 in row 1, class 2 is below 0"):
        normalised_rows(np.array([[1, 0, 0], [2, 0, -1]]), np.float32)
    with pytest.raises(ValueError, match="row 1 are all 0"):
        normalised_rows(np.array([[1, 0, 0], [0, 0, 0]]), np.float32)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_on_a_device_bad_counts_become_nan_without_a_read(device, dtype):
    given = [[1, 1], [0, 0], [3, -1] if dtype is np.int32 else [0, 0]]
    rows = normalised_rows(device.array(np.array(given, dtype)), np.float32)
    assert np.isnan(device.fetch(rows)).all(axis=1).tolist() == [False, True, True]
    assert device.reads == []
