"""Add one row to every row."""

from __future__ import annotations

from reference_impl.autograd import Operation
from reference_impl.backend import Array, accumulation_dtype, namespace
from reference_impl.tensor import Tensor

__all__ = ["AddBias", "add_bias"]


class AddBias(Operation):
    """``x + b`` for x (N, C) and b (C,) or (1, C). Unlike SINGA's, it leaves x as it was."""

    def forward(self, x: Array, b: Array) -> Array:
        """The (N, C) sum."""
        namespace(x, b)
        if x.ndim != 2 or b.shape not in ((x.shape[1],), (1, x.shape[1])):
            raise ValueError(
                f"AddBias needs (N, C) and (C,) or (1, C), got {x.shape} and {b.shape}"
            )
        if self.recording:
            self._bias_shape, self._bias_dtype = b.shape, b.dtype
        return x + b

    def backward(self, dy: Array) -> tuple[Array, Array | None]:
        """``dy`` itself, and the sum of its rows, taken in float32 or wider."""
        if not self.sources[1].requires_grad:
            return dy, None
        db = dy.sum(axis=0, dtype=accumulation_dtype(dy.dtype))
        return dy, db.astype(self._bias_dtype, copy=False).reshape(self._bias_shape)


def add_bias(x: Tensor, b: Tensor) -> Tensor:
    """``x + b`` for x (N, C) and b (C,) or (1, C)."""
    return AddBias()(x, b)[0]
