"""Modules one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.nn.module import Module
from reference_impl.tensor import Tensor

__all__ = ["Sequential"]


class Sequential(Module):
    """Each module applied to what the one before it returned."""

    def __init__(self, *modules: Module) -> None:
        self.modules = modules

    def parts(self) -> Iterator[Module]:
        """The modules in their order."""
        return iter(self.modules)

    def __call__(self, x: Tensor) -> Tensor:
        """The output of the last module; ``x`` itself when there is none."""
        for module in self.modules:
            x = module(x)
        return x
