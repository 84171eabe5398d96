"""Rectified linear unit."""

from __future__ import annotations

from reference_impl.autograd import Operation
from reference_impl.backend import Array, namespace
from reference_impl.ops.selection import select
from reference_impl.tensor import Tensor

__all__ = ["ReLU", "relu"]


class ReLU(Operation):
    """``max(x, 0)``; the gradient at 0 is 0, and NaN passes through forward."""

    def forward(self, x: Array) -> Array:
        """``x`` where it is positive, else 0; the same shape."""
        y = namespace(x).maximum(x, 0)
        if self.recording:
            self._output = y
        return y

    def backward(self, dy: Array) -> Array:
        """``dy`` where ``x`` was positive, else exactly 0."""
        return select(self._output > 0, dy)


def relu(x: Tensor) -> Tensor:
    """``max(x, 0)``, element by element."""
    return ReLU()(x)[0]
