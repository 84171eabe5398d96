"""Methods of a device array that are functions of the namespace, in the argument order and under the names of CuPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated import catalogue, cupy_names
from harness.probes.simulated.elementwise import apply
from harness.probes.simulated.indexing import ufunc_at
from harness.probes.simulated.operation import named_parameters
from harness.probes.simulated.refusal import absent

__all__ = ["NotModelledAttribute", "methods", "not_modelled_attributes"]

_SAME = """
all any cumprod cumsum diagonal dot max mean min nonzero prod ptp ravel repeat round
searchsorted squeeze std sum swapaxes take trace var argpartition argsort choose
"""
"""Methods that are the function of the same name with the array as first argument."""

_REORDERED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "argmax": ("argmax", ("axis", "out", "dtype", "keepdims")),
    "argmin": ("argmin", ("axis", "out", "dtype", "keepdims")),
}
"""Methods whose positional arguments come in another order than the function's."""

_UFUNCS: Mapping[str, np.ufunc] = {"conj": np.conjugate, "conjugate": np.conjugate}

_SCATTERS: Mapping[str, np.ufunc] = {
    "scatter_add": np.add,
    "scatter_max": np.maximum,
    "scatter_min": np.minimum,
}

Wrap = Callable[[Any], Any]


class NotModelledAttribute:
    """Stands in the class for an attribute CuPy's array has: it is in ``dir()``, and refused when it is used."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise absent("ndarray", self._name)


def not_modelled_attributes(array: type) -> dict[str, NotModelledAttribute]:
    """One for each attribute of CuPy's array that ``array`` lacks."""
    lacking = sorted(name for name in cupy_names.OWNERS["ndarray"] if name not in dir(array))
    return {name: NotModelledAttribute(name) for name in lacking}


def methods(wrap: Wrap) -> dict[str, Callable[..., Any]]:
    """Every method of this module by name; ``wrap`` makes device arrays of their results."""
    found: dict[str, Callable[..., Any]] = {}
    for name in _SAME.split():
        found[name] = _method(name, catalogue.FUNCTIONS[name], wrap)
    for name, (function, order) in _REORDERED.items():
        found[name] = _method(name, catalogue.FUNCTIONS[function], wrap, order)
    for name, ufunc in _UFUNCS.items():
        found[name] = _ufunc_method(name, ufunc, wrap)
    for name, ufunc in _SCATTERS.items():
        found[name] = _scatter(name, ufunc)
    found["compress"] = _compress(wrap)
    found["put"] = _put
    return found


def _method(
    name: str, function: Callable[..., Any], wrap: Wrap, order: tuple[str, ...] | None = None
) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if order is not None:
            kwargs.update(zip(order, args, strict=False))
            args = ()
        return wrap(function(self, *args, **kwargs))

    method.__name__ = name
    method.__doc__ = f"``{name}`` of the namespace, with this array first."
    method.__wrapped__ = function  # type: ignore[attr-defined]
    if order is not None:
        method.__signature__ = named_parameters("self", *order)  # type: ignore[attr-defined]
    return method


def _ufunc_method(name: str, ufunc: np.ufunc, wrap: Wrap) -> Callable[..., Any]:
    def method(self: Any) -> Any:
        return wrap(apply(ufunc, (self,), {}))

    method.__name__ = name
    method.__doc__ = f"``{name}`` of every element, by one kernel."
    return method


def _scatter(name: str, ufunc: np.ufunc) -> Callable[..., None]:
    def method(self: Any, slices: Any, value: Any) -> None:
        warnings.warn(
            f"ndarray.{name} is deprecated: use xp.{ufunc.__name__}.at",
            DeprecationWarning,
            stacklevel=2,
        )
        ufunc_at(ufunc, self, slices, value)

    method.__name__ = name
    method.__doc__ = f"``{ufunc.__name__}.at`` with this array first, deprecated in CuPy."
    return method


def _compress(wrap: Wrap) -> Callable[..., Any]:
    def compress(self: Any, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """The elements where a condition holds: one read, one kernel."""
        return wrap(catalogue.FUNCTIONS["compress"](condition, self, axis=axis, out=out))

    return compress


def _put(self: Any, indices: Any, values: Any, mode: str = "wrap") -> None:
    """Write ``values`` at flat ``indices``, by one kernel; host ones are copied over first."""
    catalogue.FUNCTIONS["put"](self, indices, values, mode=mode)
