import numpy as np

from reference_impl.ops.targets import ClassTargets, DenseTargets, read_targets


def read(t, shape, **options):
    defaults = {"ignore_index": None, "label_smoothing": 0.0, "weight": None}
    return read_targets(t, shape=shape, dtype=np.float32, **(defaults | options))


def test_offsets_do_not_wrap_where_a_row_or_the_array_passes_two_to_the_31():
    classes = 2**31 + 11
    targets = read(np.array([5, classes - 1, 7]), (3, classes))
    assert targets.position.tolist() == [5, 2 * classes - 1, 2 * classes + 7]


def test_offsets_from_narrow_labels_do_not_wrap():
    targets = read(np.full(300, 200, np.uint8), (300, 1000))
    assert targets.position.tolist() == [i * 1000 + 200 for i in range(300)]


def test_both_forms_of_one_target_give_the_same_sums_and_the_same_gradient():
    z = np.log(np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]], np.float32))
    options = {"label_smoothing": 0.3, "weight": np.array([1.0, 2.0, 4.0], np.float32)}
    by_class = read(np.array([2, 0]), z.shape, **options)
    dense = read(np.eye(3, dtype=np.int32)[[2, 0]], z.shape, **options)
    assert isinstance(by_class, ClassTargets)
    assert isinstance(dense, DenseTargets)
    np.testing.assert_allclose(by_class.mass, dense.mass, rtol=1e-6)
    np.testing.assert_allclose(by_class.dot(z), dense.dot(z), rtol=1e-6)
    scale = np.array([1.0, 10.0], np.float32)
    differences = []
    for targets in (by_class, dense):
        dx = np.ones_like(z)
        targets.subtract_from(dx, scale)
        differences.append(dx)
    np.testing.assert_allclose(*differences, rtol=1e-6)


def test_the_mean_over_ids_divides_by_the_weights_of_the_labels_that_count():
    options = {"ignore_index": 1, "weight": np.array([1.0, 2.0, 4.0], np.float32)}
    assert read(np.array([2, 0, 1, 2]), (4, 3), **options).count == 9
    assert read(np.array([2, 0, 1, 2]), (4, 3), ignore_index=1).count == 3
    assert read(np.eye(3, dtype=int), (3, 3), weight=options["weight"]).count == 3


def test_a_class_of_weight_zero_adds_nothing_even_to_an_infinity():
    z = np.array([[-np.inf, 0.0]], np.float32)
    with np.errstate(invalid="ignore"):
        for t in (np.array([[0.0, 1.0]], np.float32), np.array([[0, 3]])):
            assert read(t, (1, 2)).dot(z).tolist() == [0]
        weight = np.array([0.0, 1.0], np.float32)
        assert read(np.array([0]), (1, 2), weight=weight).dot(z).tolist() == [0]
        smoothed = read(np.array([1]), (1, 2), weight=weight, label_smoothing=0.5)
        assert smoothed.dot(z).tolist() == [0]
