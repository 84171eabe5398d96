"""Cross-entropy of probabilities, the second half of the unfused loss."""

from __future__ import annotations

import numpy as np

from reference_impl.autograd import Operation
from reference_impl.backend import Array, is_host, namespace
from reference_impl.ops.softmax_cross_entropy import quiet
from reference_impl.tensor import Tensor

__all__ = ["CrossEntropy", "cross_entropy"]


class CrossEntropy(Operation):
    """``-sum(t * log p) / N`` for float32 probabilities and labels (N, C), as in SINGA; shape (1,).

    It has no clamp and no shift: a probability that underflowed to 0 has no logarithm. SINGA then aborts
    the process. Here the host raises ``ValueError``, and a device returns an infinite or NaN loss.
    Prefer ``SoftMaxCrossEntropy``, which loses nothing.
    """

    accepts_scalar_dy = True

    def __init__(self, t: Tensor | Array) -> None:
        self._labels = t.data if isinstance(t, Tensor) else t

    def forward(self, p: Array) -> Array:
        """The mean over N of the cross-entropy of each row."""
        xp = namespace(p, self._labels)
        for name, array in (("probabilities", p), ("labels", self._labels)):
            if array.dtype != np.float32:
                raise TypeError(f"{name} must be float32, got {array.dtype}")
        if p.ndim != 2 or self._labels.shape != p.shape or not p.size:
            raise ValueError(
                f"need probabilities and labels of one shape (N, C), got {p.shape} and {self._labels.shape}"
            )
        if is_host(p) and p.min() <= 0:
            row, column = divmod(int(p.argmin()), p.shape[1])
            raise ValueError(
                f"the probability of class {column} in row {row} is {p[row, column]}, which has no "
                "logarithm; SoftMaxCrossEntropy takes the logits and has no such limit"
            )
        if self.recording:
            self._saved = p
        with quiet(p):
            return -(self._labels * xp.log(p)).sum(keepdims=True).reshape((1,)) / p.shape[0]

    def backward(self, dy: Array | float) -> Array:
        """``-t / p / N``, times ``dy``."""
        p = self._saved
        with quiet(p):
            return self._labels / p * (-dy / p.shape[0])


def cross_entropy(p: Tensor, t: Tensor | Array) -> Tensor:
    """``-sum(t * log p) / N`` for probabilities ``p``; see ``CrossEntropy``."""
    return CrossEntropy(t)(p)[0]
