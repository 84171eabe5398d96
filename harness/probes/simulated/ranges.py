"""Ranges and grids made on the device (cupy/_creation/ranges.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.probes.simulated import boundary
from harness.probes.simulated.creation import array
from harness.probes.simulated.storage import DeviceMemory, Memory, check_dtype, is_scalar
from harness.probes.simulated.transfer import upload

__all__ = ["FUNCTIONS"]


def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: npt.DTypeLike | None = None
) -> Memory:
    """Evenly spaced values by one kernel; a ``stop`` on the device is read to know how many.

    (cupy/_creation/ranges.py:46: ``int(numpy.ceil((stop - start) / step))``)
    """
    if stop is None:
        start, stop = 0, start
    if isinstance(start, DeviceMemory) or isinstance(step, DeviceMemory):
        boundary.doubt(
            "xp.arange with a start or step on the device", "is refused here, before any read"
        )
        raise TypeError("arange() takes start and step from the host")
    if isinstance(stop, DeviceMemory):
        for step_of_the_count in ("subtract", "divide", "ceil"):
            boundary.kernel(step_of_the_count)
        boundary.read_back(np.ceil((stop._memory - start) / step).itemsize)
        stop = stop._memory.item()
        dtype = int if dtype is None else dtype
    memory = np.arange(start, stop, step, dtype=dtype)
    memory = memory.astype(check_dtype(memory.dtype), copy=False)
    if memory.size:
        boundary.kernel("arange")
    return memory


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Evenly spaced values; with an end on the device one read says whether a step is zero.

    (cupy/_creation/ranges.py:192)
    """
    ends = []
    for end in (start, stop):
        source = end if is_scalar(end) else array(end, copy=None)
        ends.append(source._memory if isinstance(source, DeviceMemory) else source)
    if not (is_scalar(start) and is_scalar(stop)) and num > 1:
        boundary.read_back(1)
    with np.errstate(all="ignore"):
        values, step = np.linspace(*ends, num, endpoint, True, dtype, axis)  # type: ignore[call-overload]
    if values.size:
        boundary.kernel("linspace")
    return (values, step) if retstep else values


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Values evenly spaced on a logarithmic scale: ``linspace`` and one kernel, two with a dtype."""
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    boundary.kernel("power")
    with np.errstate(all="ignore"):
        powers = np.power(base, exponents)
        if dtype is None:
            return powers
        boundary.kernel("copy")
        return powers.astype(check_dtype(dtype))


def meshgrid(
    *xi: DeviceMemory, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> Any:
    """Coordinate matrices: one kernel each when copied, views otherwise; a single row is its own."""
    if len(xi) < 2:
        return tuple(xi)
    if any(x.ndim != 1 for x in xi):
        raise ValueError("meshgrid() takes rows on the device")
    grids = np.meshgrid(*(x._memory for x in xi), copy=copy, sparse=sparse, indexing=indexing)  # type: ignore[call-overload]
    if copy:
        for _ in grids:
            boundary.kernel("copy")
    return tuple(grids)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Memory:  # noqa: N803 - the names NumPy and CuPy give them
    """Ones at and below a diagonal, by one kernel."""
    boundary.kernel("tri")
    return np.tri(N, M, k, dtype=check_dtype(dtype))


def indices(dimensions: tuple[int, ...], dtype: npt.DTypeLike = int) -> Memory:
    """The index of every element of a grid: two kernels per axis."""
    for _ in dimensions:
        boundary.kernel("arange")
        boundary.kernel("copy")
    return np.indices(dimensions, dtype=check_dtype(dtype))


def diag(v: Any, k: int = 0) -> Memory:
    """A diagonal of a matrix, or a matrix with a diagonal; of a host matrix only the diagonal is copied over."""
    if isinstance(v, DeviceMemory):
        memory = v._memory
    elif np.ndim(v) == 2:
        return upload(np.diagonal(np.array(v), k))
    else:
        memory = upload(v)
    diagonal: Memory = np.diag(memory, k).copy()
    if memory.ndim == 1:
        boundary.memset(diagonal.nbytes)
    boundary.kernel("copy")
    return diagonal


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (arange, diag, indices, linspace, logspace, meshgrid, tri)
}
