"""Names of CuPy that are NumPy's own or never touch a device: dtypes, constants, questions about types."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

__all__ = ["NAMES"]

_SAME = """
bool bool_ broadcast_shapes byte cdouble complex128 complex64 complexfloating csingle double dtype e euler_gamma
finfo float16 float32 float64 floating generic get_printoptions half iinfo index_exp inexact inf int16 int32 int64
int8 int_ intc integer intp isdtype issubdtype iterable long longlong mintypecode nan ndindex newaxis number pi
printoptions promote_types s_ set_printoptions short signedinteger single typename ubyte uint uint16 uint32 uint64
uint8 uintc uintp ulong ulonglong unsignedinteger ushort base_repr binary_repr isscalar
"""
"""The very objects of NumPy, or functions that only call them."""

_OTHER = {
    "DataSource": np.lib.npyio.DataSource,
    "Inf": np.inf,
    "Infinity": np.inf,
    "NAN": np.nan,
    "NINF": -np.inf,
    "NZERO": -0.0,
    "NaN": np.nan,
    "PINF": np.inf,
    "PZERO": 0.0,
    "cfloat": np.complex128,
    "complex_": np.complex128,
    "disable_experimental_feature_warning": False,
    "float_": np.float64,
    "format_parser": np.rec.format_parser,
    "infty": np.inf,
    "singlecomplex": np.complex64,
}

_EXCEPTIONS = """
AxisError ComplexWarning ModuleDeprecationWarning RankWarning TooHardError VisibleDeprecationWarning
"""

_REMOVED = "disp find_common_type get_array_wrap safe_eval set_string_function"
"""What NumPy 2 has removed; CuPy keeps a function that raises ``RuntimeError``."""


def _removed(name: str) -> Callable[..., NoReturn]:
    def removed(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name}() was removed in NumPy 2")

    removed.__name__ = name
    removed.__doc__ = f"``{name}``, which NumPy 2 has removed."
    return removed


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """The scalar type of a dtype, an array or a type; ``default`` for anything else."""
    if isinstance(rep, type) and issubclass(rep, np.generic):
        return rep
    try:
        return rep.dtype.type if isinstance(rep, np.ndarray) else np.dtype(rep).type
    except TypeError:
        return default


def sctype2char(sctype: Any) -> str:
    """The character of a scalar type; ``ValueError`` for what has none."""
    found = obj2sctype(sctype)
    if found is None:
        raise ValueError(f"{sctype!r} has no scalar type")
    return str(np.dtype(found).char)


def issctype(rep: Any) -> bool:
    """Whether ``rep`` is a scalar type or dtype."""
    if not isinstance(rep, (type, np.dtype)):
        return False
    return obj2sctype(rep) not in (None, np.object_)


def issubclass_(arg1: Any, arg2: Any) -> bool:
    """``issubclass`` that is ``False`` for what is no class."""
    return isinstance(arg1, type) and issubclass(arg1, arg2)


def issubsctype(arg1: Any, arg2: Any) -> bool:
    """Whether one scalar type is below another."""
    return issubclass(obj2sctype(arg1), obj2sctype(arg2))


def memoize(for_each_device: bool = False) -> Callable[..., Any]:
    """A decorator that keeps what a function returned, by its arguments."""
    return functools.lru_cache(maxsize=None)


def is_available() -> bool:
    """Always: the simulated device needs no driver."""
    return True


exceptions = SimpleNamespace(**{name: getattr(np.exceptions, name) for name in _EXCEPTIONS.split()})

NAMES: Mapping[str, Any] = {
    **{name: getattr(np, name) for name in _SAME.split()},
    **{name: getattr(np.exceptions, name) for name in _EXCEPTIONS.split()},
    **_OTHER,
    **{name: _removed(name) for name in _REMOVED.split()},
    "exceptions": exceptions,
    **{
        function.__name__: function
        for function in (
            is_available,
            issctype,
            issubclass_,
            issubsctype,
            memoize,
            obj2sctype,
            sctype2char,
        )
    },
}
"""By name."""
