"""Functions CuPy composes of other functions, composed here in the same way, so that their costs are the sum of theirs.

A kernel is announced for each part, more of them than for a row of the tables. Paths and lines are of the
``cupy`` package of CuPy 14.2.0.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from harness.probes.simulated.array import DeviceArray
from harness.probes.simulated.functions import functions as xp

__all__ = ["FUNCTIONS"]


class UniqueAllResult(NamedTuple):
    """What ``unique_all`` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """What ``unique_counts`` returns."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """What ``unique_inverse`` returns."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any) -> UniqueAllResult:
    """Values, first positions, inverse and counts: three reads (_manipulation/add_remove.py:403)."""
    return UniqueAllResult(*xp.unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Any) -> UniqueCountsResult:
    """Values and counts: two reads."""
    return UniqueCountsResult(*xp.unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> UniqueInverseResult:
    """Values and inverse: one read."""
    return UniqueInverseResult(*xp.unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Any) -> Any:
    """Values: one read."""
    return xp.unique(x, equal_nan=False)


def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Any:
    """``x.astype``: one kernel (_creation/basic.py:380)."""
    if not isinstance(x, DeviceArray):
        raise TypeError(f"astype() takes a device array, not {type(x).__name__}")
    return x.astype(dtype, copy=copy)


def asfarray(a: Any, dtype: Any = np.float64) -> Any:
    """``asarray`` in a floating-point dtype."""
    return xp.asarray(a, dtype=dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Any:
    """``asarray``; one read says whether everything is finite (_manipulation/kind.py:27)."""
    a = xp.asarray(a, dtype=dtype, order=order)
    if not xp.isfinite(a).all():
        raise ValueError("the array has infinities or NaNs")
    return a


_LAYOUTS = {
    **dict.fromkeys(("C", "C_CONTIGUOUS", "CONTIGUOUS"), "C"),
    **dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "F"),
    **dict.fromkeys(("O", "OWNDATA"), "O"),
}


def require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    """``asarray`` in a layout, a new array with ``"O"`` (_manipulation/kind.py:67)."""
    try:
        wanted = {_LAYOUTS[flag.upper()] for flag in requirements or ()}
    except KeyError as error:
        raise ValueError(f"require() knows no flag {error.args[0]!r}") from None
    if wanted >= {"C", "F"}:
        raise ValueError("require() cannot give both orders")
    order = "F" if "F" in wanted else "C" if "C" in wanted else "A"
    return xp.array(a, dtype=dtype, order=order if wanted else "K", copy="O" in wanted or None)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any]) -> Any:
    """Scalars by condition: one kernel for the rest and one per condition (_functional/piecewise.py:16)."""
    conditions = [condlist] if np.isscalar(condlist) else list(condlist)
    if not len(conditions) <= len(funclist) <= len(conditions) + 1:
        raise ValueError(
            f"piecewise() takes {len(conditions)} or {len(conditions) + 1} functions for as many conditions"
        )
    if any(callable(value) for value in funclist):
        raise NotImplementedError("piecewise() takes scalars on the device, no functions")
    has_default = len(funclist) > len(conditions)
    out = xp.full(x.shape, funclist[-1], x.dtype) if has_default else xp.zeros(x.shape, x.dtype)
    for condition, value in zip(conditions, funclist, strict=False):
        where = condition.astype(bool) if isinstance(condition, DeviceArray) else condition
        xp.copyto(out, value, casting="unsafe", where=where)
    return out


def _cumulative(name: str, identity: int) -> Callable[..., Any]:
    def cumulative(
        x: Any,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: bool = False,
    ) -> Any:
        if not isinstance(x, DeviceArray):
            raise TypeError(f"cumulative operations take a device array, not {type(x).__name__}")
        x = xp.atleast_1d(x)
        if axis is None and x.ndim > 1:
            raise ValueError("an array of several axes needs axis=")
        along = normalize_axis_index(axis or 0, x.ndim)
        shape = list(x.shape)
        shape[along] += bool(include_initial)
        if out is not None and out.shape != tuple(shape):
            raise ValueError(f"out has shape {out.shape}, the result {tuple(shape)}")
        scan = getattr(xp, name)
        if not include_initial:
            return scan(x, axis=along, dtype=dtype, out=out)
        scanned = scan(x, axis=along, dtype=dtype)
        result = xp.empty(tuple(shape), scanned.dtype) if out is None else out
        lead = (slice(None),) * along
        result[(*lead, slice(0, 1))] = identity
        result[(*lead, slice(1, None))] = scanned
        return result

    cumulative.__name__ = cumulative.__qualname__ = name.replace("cum", "cumulative_")
    cumulative.__doc__ = f"``{name}`` along one axis, with or without what it starts from."
    return cumulative


def msort(a: Any) -> Any:
    """``sort`` along the first axis, deprecated in CuPy."""
    warnings.warn("msort is deprecated: use sort(a, axis=0)", DeprecationWarning, stacklevel=2)
    return xp.sort(a, axis=0)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * np.pi) -> Any:
    """Jumps of more than half a period taken out, by kernels only (_math/trigonometric.py:109)."""
    p = xp.asarray(p)
    steps = xp.diff(p, axis=axis)
    dtype = np.result_type(steps.dtype, period)
    if np.issubdtype(dtype, np.integer):
        high, rest = divmod(period, 2)
        either_way = rest == 0
    else:
        high, either_way = period / 2, True
    wrapped = xp.mod(steps + high, period) - high
    if either_way:
        xp.copyto(wrapped, high, where=(wrapped == -high) & (steps > 0))
    correction = wrapped - steps
    limit = period / 2 if discont is None else discont
    xp.copyto(correction, 0, where=abs(steps) < limit)
    unwrapped = xp.array(p, copy=True, dtype=dtype)
    later: list[Any] = [slice(None)] * p.ndim
    later[axis] = slice(1, None)
    unwrapped[tuple(later)] = p[tuple(later)] + xp.cumsum(correction, axis=axis)
    return unwrapped


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """``func1d`` of every row along an axis, called on the host, row by row (lib/_shape_base.py:13)."""
    rows = xp.moveaxis(arr, axis, -1)
    if math.prod(rows.shape[:-1]) == 0:
        raise ValueError("apply_along_axis() needs a row to apply the function to")
    results: Any = None
    for index in np.ndindex(rows.shape[:-1]):
        row = xp.asarray(func1d(rows[(*index, ...)], *args, **kwargs))
        if results is None:
            results = xp.empty(rows.shape[:-1] + row.shape, row.dtype)
        results[index] = row
    for _ in range(results.ndim - rows.ndim + 1):
        results = xp.moveaxis(results, -1, normalize_axis_index(axis, arr.ndim))
    return results


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """``func(a, axis)`` for one axis after the other."""
    value = xp.asarray(a)
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        along = normalize_axis_index(int(axis), a.ndim)
        result = func(value, along)
        if result.ndim != value.ndim:
            result = xp.expand_dims(result, along)
        if result.ndim != value.ndim:
            raise ValueError("the function does not keep the number of axes, or one less")
        value = result
    return value


class Broadcast:
    """Arrays of a common shape (``cupy.broadcast``): views, known to the host."""

    def __init__(self, *arrays: Any) -> None:
        on_device = [array for array in arrays if isinstance(array, DeviceArray)]
        self.shape = np.broadcast_shapes(*(array.shape for array in on_device))
        self.values = tuple(
            xp.broadcast_to(array, self.shape) if isinstance(array, DeviceArray) else array
            for array in arrays
        )
        self.nd = len(self.shape)
        self.size = math.prod(self.shape)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "cumulative_prod": _cumulative("cumprod", 1),
    "cumulative_sum": _cumulative("cumsum", 0),
    **{
        function.__name__: function
        for function in (
            apply_along_axis,
            apply_over_axes,
            asarray_chkfinite,
            asfarray,
            astype,
            msort,
            piecewise,
            require,
            unique_all,
            unique_counts,
            unique_inverse,
            unique_values,
            unwrap,
        )
    },
    "broadcast": Broadcast,
}
"""By name; they take and return device arrays."""
