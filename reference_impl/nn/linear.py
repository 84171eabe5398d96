"""The fully connected layer."""

from __future__ import annotations

from reference_impl.backend import Array
from reference_impl.nn.module import Module, parameter
from reference_impl.ops import add_bias, matmul
from reference_impl.tensor import Tensor

__all__ = ["Linear"]


class Linear(Module):
    """``x @ W + b`` for x (N, inputs), W (inputs, outputs) and b (outputs,), laid out as in SINGA.

    Without ``bias`` there is no b. ``backward`` yields b before W, because the bias is added last.
    """

    def __init__(self, weight: Array, bias: Array | None = None, *, name: str = "") -> None:
        if weight.ndim != 2:
            raise ValueError(f"a linear weight has shape (inputs, outputs), got {weight.shape}")
        self.W = parameter(weight, name, "W")
        self.b = None if bias is None else parameter(bias, name, "b")

    def __call__(self, x: Tensor) -> Tensor:
        """The (N, outputs) output."""
        y = matmul(x, self.W)
        return y if self.b is None else add_bias(y, self.b)
