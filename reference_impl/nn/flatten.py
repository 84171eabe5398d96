"""Images to rows."""

from __future__ import annotations

import math

from reference_impl.autograd import Operation
from reference_impl.backend import Array
from reference_impl.nn.module import Module
from reference_impl.tensor import Tensor

__all__ = ["Flatten", "FlattenImages", "flatten"]


class FlattenImages(Operation):
    """Everything behind the first axis as one axis, in C order: (N, C, H, W) to (N, C * H * W)."""

    def forward(self, x: Array) -> Array:
        """A view where the layout of ``x`` permits it (that of this package's layers does), else a copy."""
        if x.ndim < 2:
            raise ValueError(f"flatten needs an axis behind the first, got {x.shape}")
        self._shape = x.shape
        return x.reshape((x.shape[0], math.prod(x.shape[1:])))

    def backward(self, dy: Array) -> Array:
        """``dy`` in the shape ``x`` had."""
        return dy.reshape(self._shape)


class Flatten(Module):
    """See ``FlattenImages``."""

    def __call__(self, x: Tensor) -> Tensor:
        """The (N, rest) rows."""
        return flatten(x)


def flatten(x: Tensor) -> Tensor:
    """``x`` (N, ...) as (N, rest)."""
    return FlattenImages()(x)[0]
