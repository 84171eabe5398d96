"""Softmax cross-entropy exactly as SINGA computes it on a CPU, where that differs from the mathematics."""

from __future__ import annotations

import math

import numpy as np

from reference_impl.autograd import Operation
from reference_impl.backend import Array, is_host, namespace
from reference_impl.ops.softmax_cross_entropy import quiet
from reference_impl.tensor import Tensor

__all__ = ["SingaSoftMaxCrossEntropy", "singa_softmax_cross_entropy"]

# FLT_MIN of C, the smallest normal float32: SINGA clamps probabilities to it, so that the loss of a row
# never exceeds -log(FLT_MIN) = 87.3365.
_SMALLEST_PROBABILITY = float(np.finfo(np.float32).tiny)


class SingaSoftMaxCrossEntropy(Operation):
    """SINGA 3.0's ``SoftMaxCrossEntropy``: float32 logits (N, C), loss of shape (1,).

    What differs from ``SoftMaxCrossEntropy``, all of it observed on SINGA 3.0.0.dev1 (CPU build):
      - the loss of a row saturates at 87.3365, while its gradient does not;
      - ``dy`` is ignored;
      - labels are read as int32 whatever their dtype. Float one-hot rows come out right, for 1.0 has the
        bits 1065353216 and rows are divided by their sum; soft labels come out wrong;
      - labels are class ids exactly when there are N of them, so (N, 1) one-hot rows are ids;
      - a row of zeros makes NaN, and negative counts are taken as they are;
      - a logit of NaN or +inf takes all the probability of its row: it becomes NaN and the others 0, and
        the loss of another class is finite;
      - division by N is multiplication by the float32 nearest to 1/N.

    Where SINGA aborts the process or reads memory that is not its own, this raises: ``ValueError`` for
    ids out of range (on a device their row becomes NaN) and for shapes, ``TypeError`` for dtypes.
    """

    accepts_scalar_dy = True

    def __init__(self, t: Tensor | Array) -> None:
        self._labels = t.data if isinstance(t, Tensor) else t

    @property
    def p(self) -> Array:
        """The probabilities (N, C) of a recorded call."""
        return self._saved[0]

    def forward(self, x: Array) -> Array:
        """The mean of ``-log(max(p, FLT_MIN))`` at the labels."""
        xp = namespace(x, self._labels)
        if x.dtype != np.float32:
            raise TypeError(f"logits must be float32, got {x.dtype}")
        if x.ndim != 2 or not x.size:
            raise ValueError(f"logits must have shape (N, C) with neither 0, got {x.shape}")
        with quiet(x):
            is_ids, target = _target(self._labels, x)
            p = _softmax(x)
            # Neither maximum() nor fmax(): C++ std::max(p, FLT_MIN) returns p where the comparison with
            # it is false, so a NaN probability stays NaN.
            clamped = xp.where(p < _SMALLEST_PROBABILITY, _SMALLEST_PROBABILITY, p)
            losses = target * -xp.log(clamped)
            if is_ids:
                # For ids SINGA looks at the labelled class only; for rows also at those of weight 0.
                losses = xp.where(target == 0, 0, losses)
            loss = losses.sum(axis=1).sum(keepdims=True) * (1.0 / x.shape[0])
        if self.recording:
            self._saved = (p, target)
        return loss

    def backward(self, dy: Array | float) -> Array:
        """``(p - T) / N``; ``dy`` is not looked at."""
        p, target = self._saved
        with quiet(p):
            return (p - target) * (1.0 / p.shape[0])


def singa_softmax_cross_entropy(x: Tensor, t: Tensor | Array) -> Tensor:
    """The mean softmax cross-entropy as SINGA computes it; see ``SingaSoftMaxCrossEntropy``."""
    return SingaSoftMaxCrossEntropy(t)(x)[0]


def _softmax(x: Array) -> Array:
    # The softmax of oneDNN, which the CPU build calls: NaN does not take part in the maximum, and the
    # exponential of NaN is +inf.
    xp = namespace(x)
    m = xp.where(x != x, -math.inf, x).max(axis=1, keepdims=True)
    z = x - m
    e = xp.where(z != z, math.inf, xp.exp(z))
    return e / e.sum(axis=1, keepdims=True)


def _target(t: Array, x: Array) -> tuple[bool, Array]:
    rows, classes = x.shape
    if t.ndim > 2 or t.size not in (rows, rows * classes):
        raise ValueError(f"labels of shape {t.shape} fit no logits of shape {x.shape}")
    bits = _as_int32(t)
    if t.size == rows:
        return True, _one_hot(bits, x)
    counts = bits.reshape((rows, classes)).astype(np.float32)
    return False, counts / counts.sum(axis=1, keepdims=True)


def _as_int32(t: Array) -> Array:
    if t.dtype.itemsize < np.dtype(np.int32).itemsize:
        raise TypeError(
            f"SINGA reads labels as int32, past the end of {t.size} labels of {t.dtype}"
        )
    return namespace(t).ascontiguousarray(t).reshape(-1).view(np.int32)[: t.size]


def _one_hot(ids: Array, x: Array) -> Array:
    xp = namespace(x)
    classes = x.shape[1]
    bad = (ids < 0) | (ids >= classes)
    if is_host(x) and bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"label {ids[row]} in row {row}, as SINGA reads it (int32 bits), is outside [0, {classes})"
        )
    target = (ids.reshape((-1, 1)) == xp.arange(classes, dtype=np.int32)).astype(np.float32)
    return xp.where(bad.reshape((-1, 1)), math.nan, target)
