"""Functions that make indices, and what is written like an index: ``r_``, ``mgrid`` and their like."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated.array import DeviceArray
from harness.probes.simulated.functions import functions as xp

__all__ = ["FUNCTIONS"]


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, ...]:
    """Indices at and below a diagonal: one read per axis (cupy/_indexing/generate.py:500-503)."""
    return _indices_of(xp.tri(n, m, k, bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, ...]:
    """Indices at and above a diagonal: one read per axis (cupy/_indexing/generate.py:561-564)."""
    return _indices_of(~xp.tri(n, m, k - 1, bool))


def _indices_of(mask: Any) -> tuple[Any, ...]:
    grids = xp.indices(mask.shape, int)
    return tuple(xp.broadcast_to(grids[axis], mask.shape)[mask] for axis in range(mask.ndim))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """``tril_indices`` for a matrix."""
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """``triu_indices`` for a matrix."""
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k, columns)


def _matrix_shape(arr: Any) -> tuple[int, int]:
    if arr.ndim != 2:
        raise ValueError(f"a matrix has two axes, not {arr.ndim}")
    rows, columns = arr.shape
    return rows, columns


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> Any:
    """Indices where ``mask_func`` of ones is not zero: one read (cupy/_indexing/generate.py:459)."""
    return mask_func(xp.ones((n, n), np.int8), k).nonzero()


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """Indices of a diagonal, by one kernel."""
    return (xp.arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """``diag_indices`` for an array of equal lengths, which are copied over and compared there.

    One copy and one read (cupy/_indexing/insert.py:262, where ``diff`` gets the shape).
    """
    if not isinstance(arr, DeviceArray):
        raise TypeError(f"diag_indices_from() takes a device array, not {type(arr).__name__}")
    if arr.ndim < 2:
        raise ValueError("a diagonal needs at least two axes")
    if not xp.all(xp.diff(xp.asarray(arr.shape)) == 0):
        raise ValueError("a diagonal needs axes of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """``val`` along the diagonal, by one kernel; a host array is copied over (cupy/_indexing/insert.py:199)."""
    if a.ndim < 2:
        raise ValueError("a diagonal needs at least two axes")
    if a.ndim == 2:
        step = a.shape[1] + 1
        stop = None if wrap else a.shape[1] ** 2
    else:
        if len(set(a.shape)) != 1:
            raise ValueError("a diagonal needs axes of equal length")
        step, stop = 1 + sum(math.prod(a.shape[:axis]) for axis in range(1, a.ndim)), None
    a.flat[:stop:step] = val


class _Concatenator:
    """``r_[a, 0, b]``: arrays and scalars joined; slices and directives are refused, as by CuPy."""

    def __init__(self, axis: int, ndmin: int) -> None:
        self._axis = axis
        self._ndmin = ndmin

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, (str, slice)) for part in parts):
            raise NotImplementedError("r_ and c_ take arrays and scalars on the device")
        arrays = [None if type(part) in _SCALARS else self._column(part) for part in parts]
        known = [
            part if array is None else array.dtype
            for part, array in zip(parts, arrays, strict=True)
        ]
        dtype = np.result_type(*known)
        joined = [
            xp.array(part, ndmin=self._ndmin).astype(dtype) if array is None else array
            for part, array in zip(parts, arrays, strict=True)
        ]
        return xp.concatenate(tuple(joined), axis=self._axis)

    def _column(self, part: Any) -> Any:
        array = xp.array(part, copy=None)
        if self._ndmin > 1:
            # CuPy makes the array once more to look at its axes (cupy/_indexing/generate.py:65).
            array = xp.array(part, copy=None)
        return array.reshape(array.shape + (1,) * max(0, self._ndmin - array.ndim))


_SCALARS = frozenset(np.ScalarType)


class _Grid:
    """``mgrid[0:3, 0:4]``: the values of each axis over a grid, open for ``ogrid`` (cupy/_creation/ranges.py)."""

    def __init__(self, *, is_open: bool) -> None:
        self._is_open = is_open

    def __getitem__(self, key: Any) -> Any:
        slices = [key] if isinstance(key, slice) else list(key)
        rows = [_row(part) for part in slices]
        if isinstance(key, slice):
            return rows[0]
        dtype = np.result_type(*(row.dtype for row in rows))
        rows = [row.astype(dtype, copy=False) for row in rows]
        grids = [
            row.reshape([-1 if axis == own else 1 for axis in range(len(rows))])
            for own, row in enumerate(rows)
        ]
        if self._is_open:
            return grids
        shape = tuple(row.size for row in rows)
        filled = xp.empty((len(rows), *shape), dtype)
        for axis, grid in enumerate(grids):
            filled[axis] = xp.broadcast_to(grid, shape)
        return filled


def _row(part: slice) -> Any:
    start = 0 if part.start is None else part.start
    if isinstance(part.step, complex):
        count = int(abs(part.step))
        step = (part.stop - start) / (count - 1) if count != 1 else 1
        return xp.arange(0, count, 1, float) * step + start
    return xp.arange(start, part.stop, 1 if part.step is None else part.step)


FUNCTIONS: Mapping[str, Any] = {
    **{
        function.__name__: function
        for function in (
            diag_indices,
            diag_indices_from,
            fill_diagonal,
            mask_indices,
            tril_indices,
            tril_indices_from,
            triu_indices,
            triu_indices_from,
        )
    },
    "c_": _Concatenator(-1, 2),
    "mgrid": _Grid(is_open=False),
    "ogrid": _Grid(is_open=True),
    "r_": _Concatenator(0, 1),
}
"""By name; they take and return device arrays."""
