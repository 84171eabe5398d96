"""The oracle is checked by hand-worked values, by what any right answer must satisfy, and by its table of hard rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy

INF, NAN = math.inf, math.nan
IDS = np.array([2, 0, 1, 2])
COUNTS = np.array([[0, 0, 1], [2, 0, 1], [1, 1, 1], [0, 5, 0]])
SOFT = np.array([[0.3, 0.7, 0.0], [0.2, 0.2, 0.2], [0.0, 0.0, 1.0], [0.5, 0.25, 0.25]])
WEIGHT = np.array([0.5, 2.0, 1.25])


def logits(rows: int = 4, classes: int = 3) -> np.ndarray[Any, Any]:
    return np.random.default_rng(7).normal(size=(rows, classes))


def test_two_classes_worked_by_hand() -> None:
    # exp(x) is 1 and 3, so p is 1/4 and 3/4.
    truth = softmax_cross_entropy([[0.0, math.log(3.0)]], [0])
    assert truth.loss == pytest.approx(math.log(4.0), rel=1e-15)
    np.testing.assert_allclose(truth.gradient, [[1 / 4 - 1, 3 / 4]], rtol=1e-15)


def test_a_row_of_counts_worked_by_hand() -> None:
    # Counts 3 and 1 ask for 3/4 and 1/4 of p = 1/4, 3/4.
    truth = softmax_cross_entropy([[0.0, math.log(3.0)]], [[3, 1]])
    assert truth.loss == pytest.approx(math.log(4.0) - math.log(3.0) / 4, rel=1e-15)
    np.testing.assert_allclose(truth.gradient, [[1 / 4 - 3 / 4, 3 / 4 - 1 / 4]], rtol=1e-15)


def test_the_mean_is_over_rows_and_the_sum_is_not_divided() -> None:
    x = np.zeros((5, 4))
    ids = np.arange(5) % 4
    assert softmax_cross_entropy(x, ids).loss == pytest.approx(math.log(4.0))
    assert softmax_cross_entropy(x, ids, reduction="sum").loss == pytest.approx(5 * math.log(4.0))
    np.testing.assert_allclose(
        softmax_cross_entropy(x, ids, reduction="none").loss, np.full(5, math.log(4.0))
    )


def test_smoothing_weights_and_an_ignored_row_worked_by_hand() -> None:
    # Uniform p: every class costs log 2. Pull of row 0: weight * (0.9 * [1, 0] + 0.1 / 2) = [1.9, 0.2].
    truth = softmax_cross_entropy(
        np.zeros((2, 2)), [0, 9], weight=[2.0, 4.0], label_smoothing=0.1, ignore_index=9
    )
    assert truth.loss == pytest.approx(2.1 * math.log(2.0) / 2.0)
    np.testing.assert_allclose(truth.gradient[0], np.array([1.05 - 1.9, 1.05 - 0.2]) / 2.0)
    assert np.array_equal(truth.gradient[1], [0.0, 0.0])


def test_the_mean_of_ids_divides_by_their_weights_and_that_of_rows_by_their_number() -> None:
    x, one_hot = np.zeros((2, 2)), np.eye(2, dtype=np.int64)
    assert softmax_cross_entropy(x, [0, 1], weight=[1.0, 5.0]).loss == pytest.approx(math.log(2.0))
    assert softmax_cross_entropy(x, one_hot, weight=[1.0, 5.0]).loss == pytest.approx(
        3 * math.log(2.0)
    )


@pytest.mark.parametrize("labels", [IDS, COUNTS, SOFT], ids=["ids", "counts", "soft"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"label_smoothing": 0.2},
        {"weight": WEIGHT},
        {"weight": WEIGHT, "label_smoothing": 0.2, "ignore_index": 0},
    ],
    ids=["plain", "smooth", "weighted", "all-together"],
)
def test_the_gradient_is_the_slope_of_the_loss(
    labels: np.ndarray[Any, Any], reduction: str, options: dict[str, Any]
) -> None:
    x = logits()
    truth = softmax_cross_entropy(x, labels, reduction=reduction, dy=3.0, **options)
    # Central differences of a function with third derivative below 3 * 4: error about 2 h^2 = 2e-10, and
    # rounding about 1e-15 / h = 1e-10.
    h = 1e-5
    slope = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = h
        above = softmax_cross_entropy(x + step, labels, reduction=reduction, **options).loss
        below = softmax_cross_entropy(x - step, labels, reduction=reduction, **options).loss
        slope[place] = 3.0 * (above - below) / (2 * h)
    np.testing.assert_allclose(truth.gradient, slope, atol=5e-9)


def test_a_perturbation_far_below_float32_is_not_rounded_away() -> None:
    x = logits().astype(np.float32)
    truth = softmax_cross_entropy(x, IDS)
    nudged = x.astype(np.float64)
    nudged[0, 0] += 1e-10
    change = softmax_cross_entropy(nudged, IDS).loss - truth.loss
    assert change == pytest.approx(1e-10 * truth.gradient[0, 0], rel=1e-4)


@pytest.mark.parametrize("labels", [IDS, COUNTS, SOFT], ids=["ids", "counts", "soft"])
def test_every_row_of_the_gradient_sums_to_zero(labels: np.ndarray[Any, Any]) -> None:
    truth = softmax_cross_entropy(logits() * 50, labels, label_smoothing=0.1, weight=WEIGHT)
    np.testing.assert_allclose(truth.gradient.sum(axis=1), 0.0, atol=1e-15)


@pytest.mark.parametrize("shift", [-(2.0**20), 0.5, 2.0**20])
def test_a_common_offset_changes_nothing(shift: float) -> None:
    x = np.round(logits() * 1024) / 1024  # so that the offset is added without rounding
    before, after = softmax_cross_entropy(x, IDS), softmax_cross_entropy(x + shift, IDS)
    assert after.loss == before.loss
    assert np.array_equal(after.gradient, before.gradient)


def test_renaming_the_classes_renames_the_gradient() -> None:
    x, order = logits(), np.array([2, 0, 1])
    new_name = np.argsort(order)
    before = softmax_cross_entropy(x, IDS, weight=WEIGHT, label_smoothing=0.1)
    after = softmax_cross_entropy(
        x[:, order], new_name[IDS], weight=WEIGHT[order], label_smoothing=0.1
    )
    assert after.loss == pytest.approx(float(before.loss), rel=1e-14)
    np.testing.assert_allclose(after.gradient, before.gradient[:, order], rtol=1e-13)


def test_ids_one_hot_counts_and_soft_one_hot_rows_agree() -> None:
    x, one_hot = logits(), np.eye(3, dtype=np.int64)[IDS]
    ids = softmax_cross_entropy(x, IDS)
    for labels in (IDS[:, None], IDS.astype(np.uint8), one_hot, 7 * one_hot, one_hot * 1.0):
        other = softmax_cross_entropy(x, labels)
        assert other.loss == ids.loss
        assert np.array_equal(other.gradient, ids.gradient)


def test_dy_multiplies_the_gradient_and_not_the_loss() -> None:
    once, twice = softmax_cross_entropy(logits(), IDS), softmax_cross_entropy(logits(), IDS, dy=2.0)
    assert twice.loss == once.loss
    np.testing.assert_allclose(twice.gradient, 2 * once.gradient, rtol=1e-15)


def test_without_reduction_dy_has_one_entry_per_row() -> None:
    dy = np.array([1.0, 0.0, -2.0, 3.0])
    each = softmax_cross_entropy(logits(), IDS, reduction="none")
    scaled = softmax_cross_entropy(logits(), IDS, reduction="none", dy=dy)
    np.testing.assert_allclose(scaled.gradient, dy[:, None] * each.gradient, rtol=1e-15)


SIXTH = 1 / (1 + math.e)


@pytest.mark.parametrize(
    ("row", "label", "loss", "gradient"),
    [
        pytest.param([1e4, 0.0, 0.0], 1, 1e4, [1.0, -1.0, 0.0], id="spread of 1e4"),
        pytest.param([1e8, 1e8, 1e8], 1, math.log(3), [1 / 3, -2 / 3, 1 / 3], id="equal at 1e8"),
        pytest.param(
            [-1e30, -1e30, -1e30], 0, math.log(3), [-2 / 3, 1 / 3, 1 / 3], id="equal at -1e30"
        ),
        pytest.param(
            [-INF, 0.0, 1.0], 2, math.log1p(1 / math.e), [0.0, SIXTH, -SIXTH], id="-inf beside"
        ),
        pytest.param([-INF, 0.0, 1.0], 0, INF, [-1.0, SIXTH, 1 - SIXTH], id="-inf on the target"),
        pytest.param([-INF, -INF, -INF], 0, NAN, [NAN, NAN, NAN], id="all -inf"),
        pytest.param([INF, 0.0, 1.0], 1, NAN, [NAN, NAN, NAN], id="+inf"),
        pytest.param([NAN, 0.0, 1.0], 1, NAN, [NAN, NAN, NAN], id="NaN"),
    ],
)
def test_a_hard_row_keeps_to_itself(
    row: list[float], label: int, loss: float, gradient: list[float]
) -> None:
    truth = softmax_cross_entropy([row, [0.0, 0.0, 0.0]], [label, 1], reduction="none")
    np.testing.assert_allclose(truth.loss, [loss, math.log(3)], rtol=1e-15)
    np.testing.assert_allclose(
        truth.gradient, [gradient, [1 / 3, -2 / 3, 1 / 3]], rtol=1e-14, atol=1e-300
    )


def test_a_share_of_zero_does_not_meet_a_probability_of_zero() -> None:
    truth = softmax_cross_entropy([[-INF, 0.0]], [[0.0, 1.0]])
    assert truth.loss == 0.0
    assert np.array_equal(truth.gradient, [[0.0, 0.0]])


def test_smoothing_asks_for_every_class_and_so_makes_minus_infinity_cost_infinity() -> None:
    truth = softmax_cross_entropy([[-INF, 0.0, 1.0]], [2], label_smoothing=0.1)
    assert truth.loss == INF
    assert np.isfinite(truth.gradient).all()


def test_a_soft_row_is_not_divided_by_its_sum() -> None:
    x = np.array([[0.0, math.log(3.0)]])
    truth = softmax_cross_entropy(x, [[0.5, 1.0]])
    p = np.array([1 / 4, 3 / 4])
    assert truth.loss == pytest.approx(-(0.5 * math.log(p[0]) + math.log(p[1])))
    np.testing.assert_allclose(truth.gradient, [p * 1.5 - [0.5, 1.0]])


def test_a_row_of_zero_counts_has_no_mean_label_and_is_nan() -> None:
    truth = softmax_cross_entropy(logits(2), [[0, 0, 0], [0, 1, 0]], reduction="none")
    assert np.array_equal(np.isnan(truth.loss), [True, False])
    assert np.array_equal(np.isnan(truth.gradient).all(axis=1), [True, False])


@pytest.mark.parametrize("labels", [[0, 0], [[0], [0]], [[1], [1]], [[1.0], [1.0]]])
def test_a_single_class_costs_nothing_in_any_form(labels: list[Any]) -> None:
    truth = softmax_cross_entropy([[3.0], [-2.0]], labels)
    assert truth.loss == 0.0
    assert np.array_equal(truth.gradient, [[0.0], [0.0]])


def test_no_rows_have_no_mean_and_a_sum_of_zero() -> None:
    x, ids = np.zeros((0, 3)), np.zeros(0, np.int64)
    assert np.isnan(softmax_cross_entropy(x, ids).loss)
    assert softmax_cross_entropy(x, ids, reduction="sum").loss == 0.0
    assert softmax_cross_entropy(x, ids).gradient.shape == (0, 3)


def test_ignored_rows_add_nothing_even_when_they_are_nan() -> None:
    x = np.array([[NAN, 0.0], [0.0, math.log(3.0)]])
    truth = softmax_cross_entropy(x, [-100, 0], ignore_index=-100)
    assert truth.loss == pytest.approx(math.log(4.0))
    assert np.array_equal(truth.gradient[0], [0.0, 0.0])
    np.testing.assert_allclose(truth.gradient[1], [-3 / 4, 3 / 4])


def test_all_rows_ignored_is_a_mean_of_nothing_with_a_gradient_of_exactly_zero() -> None:
    truth = softmax_cross_entropy(logits(2), [-1, -1], ignore_index=-1)
    assert np.isnan(truth.loss)
    assert np.array_equal(truth.gradient, np.zeros((2, 3)))


def test_weights_that_are_all_zero_are_a_mean_of_nothing_too() -> None:
    truth = softmax_cross_entropy(logits(), IDS, weight=np.zeros(3))
    assert np.isnan(truth.loss)
    assert np.array_equal(truth.gradient, np.zeros((4, 3)))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 3], r"label 3 in row 1 is outside \[0, 3\)"),
        ([-1, 0], r"label -1 in row 0 is outside \[0, 3\)"),
        ([0, 1, 2], r"labels of shape \(3,\) fit no form of label for logits \(2, 3\)"),
        ([0.0, 1.0], r"labels of shape \(2,\) fit no form of label"),
        ([True, False], "labels are bool"),
    ],
)
def test_labels_that_mean_nothing_are_refused(labels: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        softmax_cross_entropy(np.zeros((2, 3)), labels)


def test_an_unknown_reduction_is_refused() -> None:
    with pytest.raises(ValueError, match="reduction is 'average'; use"):
        softmax_cross_entropy(np.zeros((2, 3)), [0, 1], reduction="average")
