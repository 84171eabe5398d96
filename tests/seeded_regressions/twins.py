"""Two small, right ops, each written as a set of steps of which a mutant replaces exactly one.

``Twin`` is softmax cross-entropy, ``SingaTwin`` what Apache SINGA computes. They are the fixed twins: every
check that catches a mutant must pass them.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from reference_impl.autograd import Operation
from reference_impl.backend import is_host, namespace

__all__ = ["SingaTwin", "Twin"]

Array = Any
FLT_MIN = float(np.finfo(np.float32).tiny)


class Twin(Operation):
    """Cross-entropy of ids, counts or soft rows under the softmax of float32 logits (N, C)."""

    accepts_scalar_dy = True

    def __init__(self, labels: Array, *, reduction: str = "mean") -> None:
        self.labels = labels
        self.reduction = reduction

    def forward(self, x: Array) -> Array:
        xp = namespace(x)
        with quiet(x):
            target = self.target(x)
            shifted = x - self.row_maximum(x)
            exponentials = xp.exp(shifted)
            totals = exponentials.sum(axis=1, keepdims=True)
            log_p = shifted - xp.log(totals)
            losses = xp.where(target == 0, 0, -target * log_p).sum(axis=1)
            self.saved = (exponentials / totals, target)
            return self.reduced(losses, x)

    def backward(self, dy: Array) -> Array:
        p, target = self.saved
        return self.difference(p, target) * self.scale(dy)

    def are_ids(self, x: Array) -> bool:
        """Whether there is one label per row; with one class a column holds counts."""
        shape = self.labels.shape
        return bool(self.labels.dtype.kind in "iu" and (len(shape) == 1 or shape[1] < x.shape[1]))

    def target(self, x: Array) -> Array:
        """The share of each class in each row."""
        if self.are_ids(x):
            return one_hot(self.labels, x)
        return self.rows(x)

    def rows(self, x: Array) -> Array:
        """Labels that come as one number per class."""
        if self.labels.dtype.kind == "f":
            return self.labels.astype(x.dtype)
        counts = self.labels.astype(x.dtype)
        return counts / counts.sum(axis=1, keepdims=True)

    def row_maximum(self, x: Array) -> Array:
        """What is subtracted from a row before its exponentials are taken."""
        return x.max(axis=1, keepdims=True)

    def reduced(self, losses: Array, x: Array) -> Array:
        """The loss."""
        return losses if self.reduction == "none" else self.mean(losses, x)

    def mean(self, losses: Array, x: Array) -> Array:
        """The mean of the losses of the rows, 0-d."""
        total = losses.sum(dtype=np.float64, keepdims=True).reshape(())
        return (total / x.shape[0]).astype(x.dtype)

    def difference(self, p: Array, target: Array) -> Array:
        """The gradient of the sum of all losses."""
        return p * target.sum(axis=1, keepdims=True) - target

    def scale(self, dy: Array) -> Array:
        """What each row of the gradient is multiplied by."""
        return dy[:, None] if self.reduction == "none" else self.per_row(dy)

    def per_row(self, dy: Array) -> Array:
        """The part of one row in the mean, times the gradient of the mean."""
        return dy / self.labels.shape[0]


class SingaTwin(Operation):
    """SINGA's mean cross-entropy of int32 ids: it stops at -log(FLT_MIN), and ignores ``dy``."""

    accepts_scalar_dy = True

    def __init__(self, labels: Array) -> None:
        self.labels = labels

    def forward(self, x: Array) -> Array:
        xp = namespace(x)
        with quiet(x):
            exponentials = xp.exp(x - x.max(axis=1, keepdims=True))
            p = exponentials / exponentials.sum(axis=1, keepdims=True)
            target = one_hot(self.labels, x)
            losses = xp.where(target == 0, 0, -xp.log(self.clamped(p))).sum(axis=1)
            self.saved = (p, target)
            return losses.mean(keepdims=True)

    def backward(self, dy: Array) -> Array:
        p, target = self.saved
        return (p - target) / p.shape[0]

    def clamped(self, p: Array) -> Array:
        """Probabilities that have a finite logarithm."""
        return namespace(p).maximum(p, FLT_MIN)


def one_hot(ids: Array, x: Array) -> Array:
    """Rows of ``x``'s shape with a 1 at each id; an id that is no class makes its row NaN."""
    xp = namespace(x)
    hit = ids.reshape((-1, 1)) == xp.arange(x.shape[1], dtype=ids.dtype)
    return xp.where(hit.any(axis=1, keepdims=True), hit, math.nan).astype(x.dtype)


def quiet(x: Array) -> AbstractContextManager[Any]:
    """No warnings from NumPy about infinities; a device gives none."""
    return np.errstate(all="ignore") if is_host(x) else nullcontext()
