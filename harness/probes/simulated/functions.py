"""The functions of the tables as host code calls them: device arrays in, device arrays out."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from harness.probes.simulated import catalogue, cupy_names, host_answers
from harness.probes.simulated.array import DeviceArray, wrap
from harness.probes.simulated.elementwise import UFUNCS, apply, apply_method
from harness.probes.simulated.refusal import absent

__all__ = ["FUNCTIONS", "DeviceUfunc", "functions", "public"]


class DeviceUfunc:
    """A universal function whose result is a device array even for host scalars (``cupy.ufunc``)."""

    __slots__ = ("_ufunc",)

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """One kernel."""
        return wrap(apply(self._ufunc, inputs, options))

    def __getattr__(self, name: str) -> Any:
        if name == "name":
            return f"cupy_{self._ufunc.__name__}"
        if name == "__name__" or (name in _OF_NUMPY and cupy_names.has("ufunc", name)):
            return getattr(self._ufunc, name)
        raise absent("ufunc", name)

    def __repr__(self) -> str:
        return f"<ufunc {self._ufunc.__name__} of the simulated device>"

    def at(self, a: DeviceArray, indices: Any, b: Any = None) -> None:
        """Scatter in place."""
        apply_method(self._ufunc, "at", (a, indices, b), {})

    def outer(self, A: Any, B: Any, **options: Any) -> Any:  # noqa: N803 - CuPy's names
        """All pairs."""
        return wrap(apply_method(self._ufunc, "outer", (A, B), options))

    def reduce(
        self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """``sum`` or ``prod``; CuPy has no other."""
        options = {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims}
        return wrap(apply_method(self._ufunc, "reduce", (array,), options))

    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """``cumsum`` or ``cumprod``; CuPy has no other."""
        options = {"axis": axis, "dtype": dtype, "out": out}
        return wrap(apply_method(self._ufunc, "accumulate", (array,), options))

    def reduceat(
        self, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """Sums between indices; CuPy has them for ``add`` only."""
        options = {"axis": axis, "dtype": dtype, "out": out}
        return wrap(apply_method(self._ufunc, "reduceat", (array, indices), options))


_OF_NUMPY = frozenset({"nargs", "nin", "nout", "types"})


def public(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which returns memory, with its result as device arrays."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return wrap(function(*args, **kwargs))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call


FUNCTIONS: dict[str, Any] = {
    **{name: DeviceUfunc(ufunc) for name, ufunc in UFUNCS.items()},
    **{name: public(name, function) for name, function in catalogue.FUNCTIONS.items()},
    **host_answers.FUNCTIONS,
}
"""By name; every one is a row of a table."""

functions: Any = SimpleNamespace(**FUNCTIONS)
"""The same to write ``functions.zeros(...)``: what functions made of other functions are written with."""
