"""Which array namespace an array belongs to, so that an op is written once for every device."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, TypeAlias

import numpy as np

__all__ = ["Array", "Namespace", "accumulation_dtype", "is_host", "namespace"]

Array: TypeAlias = Any
"""An array of any namespace. NumPy, CuPy and simulated arrays share behaviour but no static type."""

Namespace: TypeAlias = Any
"""The module or object that holds the functions of one kind of array: ``numpy``, ``cupy``, ..."""

# Sixteen-bit formats hold 8 or 11 significant bits: a sum of a few thousand terms in them is noise, and a
# float16 sum overflows at 65504. The names are compared, not the types, so that bfloat16 (which NumPy gets
# from ml_dtypes) needs no import here.
_ACCUMULATION: dict[str, np.dtype[Any]] = {
    "float16": np.dtype(np.float32),
    "bfloat16": np.dtype(np.float32),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
}


def namespace(*arrays: Array) -> Namespace:
    """The one namespace all ``arrays`` belong to.

    An array names its own through ``__array_namespace__``; one that has no such method (CuPy 14) belongs
    to the root package of its class. Nothing is imported. Raises ``TypeError`` for a value that is not an
    array, and for arrays of two namespaces, which would have to be copied between host and device.
    """
    if not arrays:
        raise TypeError("namespace() needs at least one array")
    found = _namespace_of(arrays[0])
    for array in arrays[1:]:
        other = _namespace_of(array)
        if other is not found:
            raise TypeError(
                f"arrays of two namespaces: {_name(found)} and {_name(other)}; "
                "copy one to where the other lives before the call"
            )
    return found


def is_host(array: Array) -> bool:
    """Whether ``array`` lives in host memory, where looking at a value costs no copy."""
    return _namespace_of(array) is np


@cache
def accumulation_dtype(dtype: Any) -> np.dtype[Any]:
    """The format sums over ``dtype`` are taken in: float32 for 16 and 32 bits, float64 for 64.

    Raises ``TypeError`` for anything but float16, bfloat16, float32 and float64.
    """
    name: str = np.dtype(dtype).name
    wide = _ACCUMULATION.get(name)
    if wide is None:
        raise TypeError(f"dtype {name} is not one of {', '.join(_ACCUMULATION)}")
    return wide


def _namespace_of(array: Array) -> Namespace:
    kind = type(array)
    if kind is np.ndarray:
        return np
    own = getattr(kind, "__array_namespace__", None)
    if own is not None:
        return own(array)
    module = sys.modules.get(kind.__module__.partition(".")[0])
    if module is None or not hasattr(array, "dtype") or not hasattr(module, "ndarray"):
        raise TypeError(f"{kind.__module__}.{kind.__qualname__} is not an array")
    return module


def _name(found: Namespace) -> str:
    return getattr(found, "__name__", None) or repr(found)
