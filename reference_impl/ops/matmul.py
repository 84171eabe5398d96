"""Matrix product."""

from __future__ import annotations

from reference_impl.autograd import Operation
from reference_impl.backend import Array, namespace
from reference_impl.tensor import Tensor

__all__ = ["Matmul", "matmul"]


class Matmul(Operation):
    """``x @ w`` for (N, D) and (D, M); the gradient of an input that needs none is not computed."""

    def forward(self, x: Array, w: Array) -> Array:
        """The (N, M) product."""
        namespace(x, w)
        if x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[0]:
            raise ValueError(f"Matmul needs (N, D) and (D, M), got {x.shape} and {w.shape}")
        if self.recording:
            self._saved = (x, w)
        return x @ w

    def backward(self, dy: Array) -> tuple[Array | None, Array | None]:
        """``dy @ w.T`` and ``x.T @ dy``."""
        x, w = self._saved
        x_source, w_source = self.sources
        dx = dy @ w.T if x_source.requires_grad else None
        dw = x.T @ dy if w_source.requires_grad else None
        return dx, dw


def matmul(x: Tensor, w: Tensor) -> Tensor:
    """``x @ w`` for (N, D) and (D, M)."""
    return Matmul()(x, w)[0]
