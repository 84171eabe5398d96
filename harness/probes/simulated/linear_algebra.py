"""The module ``cupy.linalg`` as host code uses it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from harness.probes.simulated import cupy_names
from harness.probes.simulated import linalg as rows
from harness.probes.simulated.functions import public
from harness.probes.simulated.refusal import absent

__all__ = ["Linalg", "linalg"]


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """``solve`` with tensors in place of matrices (cupy/linalg/_solve.py:98)."""
    if axes is not None:
        order = list(range(a.ndim))
        for axis in axes:
            order.remove(axis)
            order.append(axis)
        a = a.transpose(order)
    shape = a.shape[-(a.ndim - b.ndim) :]
    return linalg.solve(a.reshape(-1, math.prod(shape)), b.ravel()).reshape(shape)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """``inv`` with a tensor in place of a matrix (cupy/linalg/_solve.py:367)."""
    if ind <= 0:
        raise ValueError("ind must be positive")
    inverse = linalg.inv(a.reshape(math.prod(a.shape[ind:]), -1))
    return inverse.reshape(*a.shape[ind:], *a.shape[:ind])


class Linalg:
    """Attributes are the functions; what CuPy has besides is refused."""

    def __init__(self) -> None:
        self.LinAlgError = np.linalg.LinAlgError
        self.tensorinv = tensorinv
        self.tensorsolve = tensorsolve
        for name, function in rows.FUNCTIONS.items():
            setattr(self, name, public(name, function))

    def __getattr__(self, name: str) -> Any:
        raise absent("linalg", name)

    def __dir__(self) -> list[str]:
        return sorted(cupy_names.OWNERS["linalg"])


linalg: Any = Linalg()
