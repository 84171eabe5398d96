"""A part of a network: a function of a tensor, with its parameters and its state by name."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.backend import Array
from reference_impl.tensor import Tensor

__all__ = ["Module", "parameter", "state"]


class Module:
    """What maps a tensor to a tensor.

    Tensors and modules kept as attributes are its parts, in the order they were set. A tensor that stores its
    gradient is a parameter; any other is state, such as running statistics, which a step may overwrite. Both
    are called by the name of their tensor.
    """

    def __call__(self, x: Tensor) -> Tensor:
        """The output for ``x``."""
        raise NotImplementedError(f"{type(self).__name__}.__call__")

    def parts(self) -> Iterator[Module | Tensor]:
        """The modules and tensors this one is made of."""
        return (part for part in vars(self).values() if isinstance(part, Module | Tensor))

    @property
    def parameters(self) -> dict[str, Tensor]:
        """Every parameter by name, in the order of the forward pass."""
        return _by_name(tensor for tensor in _tensors(self) if tensor.stores_grad)

    @property
    def state(self) -> dict[str, Tensor]:
        """Every tensor that is not trained but belongs to what was learned, by name."""
        return _by_name(tensor for tensor in _tensors(self) if not tensor.stores_grad)


def parameter(array: Array, owner: str, name: str) -> Tensor:
    """A tensor that is trained, called ``owner.name``; it keeps ``array`` and is updated in place."""
    return Tensor(array, stores_grad=True, name=_joined(owner, name))


def state(array: Array, owner: str, name: str) -> Tensor:
    """A tensor that is kept but not trained, called ``owner.name``."""
    return Tensor(array, requires_grad=False, name=_joined(owner, name))


def _joined(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner else name


def _tensors(module: Module) -> Iterator[Tensor]:
    for part in module.parts():
        if isinstance(part, Tensor):
            yield part
        else:
            yield from _tensors(part)


def _by_name(tensors: Iterator[Tensor]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for tensor in tensors:
        name = tensor.name or ""
        if found.setdefault(name, tensor) is not tensor:
            raise ValueError(f"two tensors are named {name!r}: give each layer a name of its own")
    return found
