"""Softmax cross-entropy and its gradient in float64, one row at a time, for every form of label.

Each row is reduced to one idea: *pull*, how strongly each class is asked for. An id pulls its own class with 1,
a row of counts pulls in proportion, a soft row pulls as it says; smoothing and class weights change the pull
and nothing else. Then, with ``p = softmax(x)``::

    loss     = -sum_c pull_c * log p_c            (classes that do not pull are left out: 0 * -inf is 0)
    d loss/d x = p * sum_c pull_c - pull

The rows are independent, so a NaN stays in its row (and in the mean or sum of all).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CrossEntropyTruth", "softmax_cross_entropy"]

Float64Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CrossEntropyTruth:
    """``loss``: a scalar, or (N,) without reduction. ``gradient``: (N, C), already multiplied by ``dy``."""

    loss: Float64Array
    gradient: Float64Array


def softmax_cross_entropy(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    weight: ArrayLike | None = None,
    dy: ArrayLike = 1.0,
) -> CrossEntropyTruth:
    """The loss of ``labels`` under ``logits`` (N, C) and its gradient, in float64.

    ``labels``: integer ids (N,) or (N, 1), integer rows (N, C) of counts that are divided by their sum, or
    floating-point rows (N, C) taken as they are. ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``; the mean
    of ids divides by the sum of the class weights of the rows that are not ignored (each 1 unless ``weight``
    says otherwise), any other mean by N.
    ``dy``: what the loss is multiplied by further on, a scalar or, without reduction, (N,).

    Rows whose id is ``ignore_index`` add nothing and have a gradient of exactly 0. The mean of no row is NaN,
    and its gradient 0. Raises ``ValueError`` for ids outside [0, C), for bool labels and for shapes
    that fit no form of label. Cost: N passes over C numbers; about 1 s for 1024 x 32000.
    """
    x = np.asarray(logits).astype(np.float64)
    rows, classes = x.shape
    class_weight = np.ones(classes) if weight is None else np.asarray(weight).astype(np.float64)
    targets = _Targets(np.asarray(labels), x.shape, ignore_index)
    losses = np.zeros(rows)
    gradient = np.zeros((rows, classes))
    total_weight = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(rows):
            target = targets.row(i)
            if target is None:
                continue
            smooth = (1 - label_smoothing) * target + label_smoothing / classes
            losses[i], gradient[i] = _row_loss_and_gradient(x[i], class_weight * smooth)
            total_weight += float((class_weight * target).sum()) if targets.are_ids else 1.0
        return _reduce(losses, gradient, reduction, total_weight=total_weight, dy=dy)


def _row_loss_and_gradient(x: Float64Array, pull: Float64Array) -> tuple[float, Float64Array]:
    pulling = pull != 0
    if not pulling.any():
        return 0.0, np.zeros_like(x)
    shifted = x - x.max()  # the largest becomes 0, so that exp cannot overflow
    exponentials = np.exp(shifted)
    total = exponentials.sum()
    log_p = shifted - np.log(total)
    p = exponentials / total
    loss = -(pull[pulling] * log_p[pulling]).sum()
    return float(loss), p * pull.sum() - pull


def _reduce(
    losses: Float64Array,
    gradient: Float64Array,
    reduction: str,
    *,
    total_weight: float,
    dy: ArrayLike,
) -> CrossEntropyTruth:
    upstream = np.asarray(dy).astype(np.float64)
    if reduction == "none":
        return CrossEntropyTruth(
            losses, gradient * np.broadcast_to(upstream, losses.shape)[:, None]
        )
    if reduction == "sum":
        return CrossEntropyTruth(losses.sum(), gradient * upstream)
    if reduction == "mean":
        for row in gradient:
            if row.any():  # zeros stay zeros, also when the total weight is 0
                row *= upstream / np.float64(total_weight)
        loss = losses.sum() / np.float64(total_weight)
        return CrossEntropyTruth(loss, gradient)
    raise ValueError(f"reduction is {reduction!r}; use 'mean', 'sum' or 'none'")


class _Targets:
    """The labels as rows of shares, one per class, whatever form they came in."""

    def __init__(
        self, labels: NDArray[Any], shape: tuple[int, ...], ignore_index: int | None
    ) -> None:
        rows, self._classes = shape
        self._ignore_index = ignore_index
        self._labels = labels
        if labels.dtype.kind == "b":
            raise ValueError("labels are bool, which is neither ids nor shares")
        self._soft = labels.dtype.kind not in "iu"
        self.are_ids = not self._soft and labels.shape in {(rows,), (rows, 1)}
        if not self.are_ids and labels.shape != shape:
            raise ValueError(
                f"labels of shape {labels.shape} fit no form of label for logits {shape}"
            )

    def row(self, i: int) -> Float64Array | None:
        """The share of each class in row ``i``, or ``None`` when the row is ignored."""
        if not self.are_ids:
            row: Float64Array = self._labels[i].astype(np.float64)
            return row if self._soft else np.asarray(row / row.sum())
        label = int(self._labels[i].item())
        if label == self._ignore_index:
            return None
        if self._classes == 1:  # (N, 1) is then ids and counts at once; both ask for the only class
            return np.ones(1)
        if not 0 <= label < self._classes:
            raise ValueError(f"label {label} in row {i} is outside [0, {self._classes})")
        one_hot = np.zeros(self._classes)
        one_hot[label] = 1.0
        return one_hot
