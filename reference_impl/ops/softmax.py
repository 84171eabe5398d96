"""Softmax on its own."""

from __future__ import annotations

from reference_impl.autograd import Operation
from reference_impl.backend import Array, accumulation_dtype, namespace
from reference_impl.ops.softmax_cross_entropy import quiet, shifted
from reference_impl.tensor import Tensor

__all__ = ["SoftMax", "softmax"]


class SoftMax(Operation):
    """Probabilities along the classes of (N, C) logits, in the logits' dtype, summed in float32 or wider."""

    def forward(self, x: Array) -> Array:
        """Rows that sum to 1; a row with NaN, +inf or nothing but -inf is NaN."""
        if x.ndim != 2 or x.shape[1] == 0:
            raise ValueError(f"logits must have shape (N, C) with C above 0, got {x.shape}")
        xp = namespace(x)
        with quiet(x):
            p = shifted(x, accumulation_dtype(x.dtype))
            p = xp.exp(p, out=p)
            p /= p.sum(axis=1, keepdims=True)
            if self.recording:
                self._output = p
            return p.astype(x.dtype, copy=False)

    def backward(self, dy: Array) -> Array:
        """``p * (dy - sum(dy * p))``."""
        p = self._output
        with quiet(p):
            weighted = dy * p
            dx = weighted - p * weighted.sum(axis=1, keepdims=True)
            return dx.astype(dy.dtype, copy=False)


def softmax(x: Tensor) -> Tensor:
    """Probabilities along the classes of (N, C) logits."""
    return SoftMax()(x)[0]
