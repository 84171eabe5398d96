"""Softmax and cross-entropy in one operation, the loss left on the device."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from numbers import Integral, Real

import numpy as np

from reference_impl.autograd import Operation
from reference_impl.backend import Array, accumulation_dtype, is_host, namespace
from reference_impl.ops.targets import Targets, read_targets
from reference_impl.tensor import Tensor

__all__ = ["Reduction", "SoftMaxCrossEntropy", "quiet", "shifted", "softmax_cross_entropy"]


class Reduction(StrEnum):
    """What becomes of the losses of the rows."""

    MEAN = "mean"
    SUM = "sum"
    NONE = "none"


class SoftMaxCrossEntropy(Operation):
    """Cross-entropy between labels and the softmax of (N, C) logits.

    ``logits``: float16, bfloat16, float32 or float64, any memory layout; never changed. The loss is
    float32 (float64 for float64 logits) and lives where the logits do: 0-d, or (N,) for ``reduction``
    "none". The gradient has the logits' shape and dtype, in C order.

    ``t`` names the classes, in the logits' namespace:
      - integers (N,) or (N, 1): class ids. A row whose id is ``ignore_index`` adds nothing to the loss,
        and its gradient is exactly 0.
      - integers (N, C): one-hot, multi-hot or counts, divided by the sum of their row. Where C is 1, a
        column (N, 1) may hold ids or counts: 0 and any number above it name the one class.
      - floats (N, C): weights, used as they are: loss ``-sum(t * log p)``, gradient ``p * sum(t) - t``. A
        weight of 0 adds 0, even where log p is -inf.
    ``label_smoothing`` in [0, 1] and class weights ``weight`` (C,) mean what they mean in PyTorch.

    A row that holds NaN or +inf, or nothing but -inf, becomes NaN, alone. The mean over no rows (N is 0,
    all rows ignored, weights that sum to 0) is NaN and its gradient 0.

    Errors: ``TypeError`` for dtypes and namespaces, ``ValueError`` for shapes and options. A label out of
    range raises ``ValueError`` on the host; on a device, where to look is to wait, it makes its row of
    loss and gradient NaN. Cost: on a device no copy and no wait in either direction. For class ids four
    passes over N * C elements forward and one backward; two arrays of N * C elements.
    """

    accepts_scalar_dy = True

    def __init__(
        self,
        t: Tensor | Array,
        *,
        reduction: Reduction | str = Reduction.MEAN,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        weight: Tensor | Array | None = None,
    ) -> None:
        self._labels = _array(t)
        self._weight = None if weight is None else _array(weight)
        self._reduction = _reduction(reduction)
        self._ignore_index = _index(ignore_index)
        self._smoothing = _fraction(label_smoothing)

    @property
    def p(self) -> Array:
        """The probabilities (N, C) of a recorded call, computed anew at each use."""
        e, s, _ = self._saved
        with quiet(e):
            return e / s.reshape((s.shape[0], 1))

    def forward(self, x: Array) -> Array:
        """The loss of logits ``x`` (N, C)."""
        xp = namespace(x, self._labels, *(() if self._weight is None else (self._weight,)))
        rows, classes = _logit_shape(x)
        wide = accumulation_dtype(x.dtype)
        self._check_weight(classes)
        with quiet(x):
            targets = read_targets(
                self._labels,
                shape=(rows, classes),
                dtype=wide,
                ignore_index=self._ignore_index,
                label_smoothing=self._smoothing,
                weight=self._weight,
            )
            z = shifted(x, wide)
            # log(s) - z[t], with z = x - max. The form (max + log s) - x[t] loses all digits of a loss of
            # order 1 once the logits share an offset of 1e8.
            along = targets.dot(z)
            e = xp.exp(z, out=z)
            s = e.sum(axis=1)
            losses = targets.mass * xp.log(s) - along
            if targets.kept is not None:
                losses = xp.where(targets.kept, losses, 0)
            loss = self._reduced(losses, targets.count)
        if self.recording:
            self._saved = (e, s, targets)
            self._logit_dtype = x.dtype
        return loss

    def backward(self, dy: Array | float) -> Array:
        """``(p * mass - T) * dy``, divided by what the mean was divided by."""
        e, s, targets = self._saved
        xp = namespace(e)
        with quiet(e):
            scale = self._scale(dy, targets, s)
            factor = targets.mass * scale / s
            dx = e * factor.reshape((factor.shape[0], 1))
            targets.subtract_from(dx, scale)
            if targets.kept is not None:
                dx = xp.where(targets.kept.reshape((dx.shape[0], 1)), dx, 0)
            return dx.astype(self._logit_dtype, copy=False)

    def _reduced(self, losses: Array, count: Array | int) -> Array:
        if self._reduction is Reduction.NONE:
            return losses
        # float64, for a float32 sum of 2**25 equal losses would drift; keepdims, for without it NumPy
        # returns a scalar where CuPy returns an array.
        total = losses.sum(dtype=np.float64, keepdims=True)
        if self._reduction is Reduction.MEAN:
            total /= count
        return total.reshape(()).astype(losses.dtype, copy=False)

    def _scale(self, dy: Array | float, targets: Targets, s: Array) -> Array | float:
        # float(): a NumPy scalar would widen what it meets.
        dy = float(dy) if isinstance(dy, float | int) else dy.astype(s.dtype, copy=False)
        count = targets.count
        if self._reduction is not Reduction.MEAN or s.shape[0] == 0:
            return dy
        if isinstance(count, int):
            return dy / count
        # Nothing counted: the loss is 0/0, but no logit had a part in it.
        scale = namespace(s).where(count == 0, 0, dy / count)
        return scale.astype(s.dtype, copy=False)

    def _check_weight(self, classes: int) -> None:
        if self._weight is None:
            return
        accumulation_dtype(self._weight.dtype)
        if self._weight.shape != (classes,):
            raise ValueError(
                f"weight has shape {self._weight.shape}, need one per class ({classes},)"
            )


def softmax_cross_entropy(
    x: Tensor,
    t: Tensor | Array,
    *,
    reduction: Reduction | str = Reduction.MEAN,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    weight: Tensor | Array | None = None,
) -> Tensor:
    """The cross-entropy between labels ``t`` and the softmax of ``x``; see ``SoftMaxCrossEntropy``."""
    operation = SoftMaxCrossEntropy(
        t,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        weight=weight,
    )
    return operation(x)[0]


def shifted(x: Array, wide: np.dtype[np.generic]) -> Array:
    """``x`` minus the maximum of its row, a new C-ordered array of dtype ``wide``."""
    if x.dtype == wide:
        # Into C order whatever the layout of x: NumPy sums pairwise, that is accurately, only along
        # the contiguous axis.
        z = namespace(x).empty(x.shape, dtype=wide)
        return namespace(x).subtract(x, x.max(axis=1, keepdims=True), out=z)
    z = x.astype(wide, order="C")
    z -= z.max(axis=1, keepdims=True)
    return z


def quiet(array: Array) -> AbstractContextManager[object]:
    """Silence NumPy's warnings: infinities and NaN are documented results here, as on any device.

    Only for host arrays: devices do not warn, and what does belongs to the caller.
    """
    return np.errstate(all="ignore") if is_host(array) else nullcontext()


def _array(value: Tensor | Array) -> Array:
    return value.data if isinstance(value, Tensor) else value


def _logit_shape(x: Array) -> tuple[int, int]:
    if x.ndim != 2:
        raise ValueError(f"logits must have shape (N, C), got {x.shape}")
    if x.shape[1] == 0:
        raise ValueError(f"logits of shape {x.shape} have no classes")
    return x.shape[0], x.shape[1]


def _reduction(value: Reduction | str) -> Reduction:
    try:
        return Reduction(value)
    except ValueError:
        raise ValueError(f"reduction {value!r} is not one of {', '.join(Reduction)}") from None


def _index(value: int | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"ignore_index must be an integer or None, got {value!r}")
    return int(value)


def _fraction(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"label_smoothing must be a number, got {value!r}")
    if not 0.0 <= value <= 1.0 or math.isnan(value):
        raise ValueError(f"label_smoothing must lie in [0, 1], got {value!r}")
    return float(value)
