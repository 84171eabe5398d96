"""An array with a place in the graph of the operations that made it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from reference_impl.backend import Array

__all__ = ["Creator", "Tensor"]


class Creator(Protocol):
    """What a tensor knows of the operation that made it."""

    def backward(self, *dys: Any) -> Any:
        """One gradient per input of the operation, from one per output."""
        ...


class Tensor:
    """An array, the operation that made it, and whether its gradient is wanted.

    ``requires_grad`` lets gradients flow through the tensor; ``stores_grad`` marks it as a parameter,
    whose gradient ``backward`` hands out. A leaf, made by nobody, has no ``creator``. Tensors are equal
    only to themselves, so they can be the keys of a mapping of gradients.
    """

    __slots__ = (
        "__weakref__",
        "creator",
        "data",
        "name",
        "output_index",
        "requires_grad",
        "stores_grad",
    )

    def __init__(
        self,
        data: Array,
        *,
        requires_grad: bool = True,
        stores_grad: bool = False,
        creator: Creator | None = None,
        output_index: int = 0,
        name: str | None = None,
    ) -> None:
        if stores_grad and not requires_grad:
            raise ValueError("a tensor that stores its gradient must require one")
        self.data = data
        self.requires_grad = requires_grad
        self.stores_grad = stores_grad
        self.creator = creator
        self.output_index = output_index
        self.name = name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        shape: tuple[int, ...] = self.data.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array."""
        dtype: np.dtype[Any] = self.data.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """How many axes the array has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements the array has."""
        size: int = self.data.size
        return size

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return self.creator is None

    def __repr__(self) -> str:
        # Shape and dtype only: to print the values would copy them from the device.
        name = f" {self.name!r}" if self.name else ""
        return f"<Tensor{name} {self.dtype}{list(self.shape)}>"
