"""Arrays made on the device, or brought to it (cupy/_creation, cupy/_core/core.pyx:2821-3103)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.model.event import SyncKind
from harness.probes.simulated import boundary
from harness.probes.simulated.foreign import adopt, is_foreign
from harness.probes.simulated.joining import join
from harness.probes.simulated.storage import (
    DeviceMemory,
    Memory,
    allocate,
    check_dtype,
    to_memory,
)
from harness.probes.simulated.transfer import contiguous, fill, upload

__all__ = ["FUNCTIONS", "array", "cast"]


def array(
    obj: Any,
    dtype: npt.DTypeLike | None = None,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> Any:
    """``cupy.array``: from a device array on the device, from anything else by one copy to it.

    Lists of device arrays are joined on the device; lists of host arrays are one copy. Returns ``obj``
    itself when nothing needs to be copied.
    """
    if subok:
        raise NotImplementedError("device arrays have no subclasses to pass through")
    layout = (order or "K").upper()[0]
    if is_foreign(obj):
        obj = adopt(obj)
    if isinstance(obj, DeviceMemory):
        made = cast(obj, obj.dtype if dtype is None else dtype, order=layout, copy=copy)
        memory = made._memory if isinstance(made, DeviceMemory) else made
        return made if memory.ndim >= ndmin else _lengthen(memory, ndmin)
    if _all_on_device(obj):
        joined = _join_nested(obj)
        memory = joined if dtype is None else joined.astype(check_dtype(dtype), copy=False)
        if blocking:
            boundary.wait(SyncKind.STREAM)
        return _lengthen(memory, ndmin)
    return upload(obj, dtype, order=layout, ndmin=ndmin, blocking=blocking)


def asarray(
    a: Any,
    dtype: npt.DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    blocking: bool = False,
) -> Any:
    """``cupy.asarray``: ``array`` that copies only when it must."""
    return array(a, dtype, copy, order, blocking=blocking)


def cast(
    source: DeviceMemory,
    dtype: npt.DTypeLike,
    *,
    order: str = "K",
    copy: bool | None = True,
) -> Any:
    """``source`` in another dtype or layout: one kernel, or ``source`` itself when nothing changes.

    ``copy=None`` copies when it must, ``False`` raises ``ValueError`` instead of copying.
    """
    memory, wanted = source._memory, check_dtype(dtype)
    flags = memory.flags
    fits = order == "K" or (order == "A" and flags.forc)
    fits = fits or (order == "C" and flags.c_contiguous) or (order == "F" and flags.f_contiguous)
    if not copy and wanted == memory.dtype and fits:
        return source
    if copy is False:
        raise ValueError("a copy cannot be avoided: the dtype or the layout changes")
    with np.errstate(all="ignore"):
        made = memory.astype(wanted, order=order)  # type: ignore[call-overload]
    if made.size:
        boundary.kernel("copy")
    return made


def _lengthen(memory: Memory, ndmin: int) -> Memory:
    return memory.reshape((1,) * (ndmin - memory.ndim) + memory.shape)


def _all_on_device(obj: Any) -> bool:
    if isinstance(obj, (list, tuple)):
        return bool(obj) and all(_all_on_device(element) for element in obj)
    return isinstance(obj, DeviceMemory)


def _join_nested(obj: Any) -> Memory:
    """A nested sequence of device arrays of one shape, concatenated as CuPy does it."""
    parts: list[Memory] = []
    shape = _flatten(obj, parts)
    return join(parts).reshape(shape)


def _flatten(obj: Any, parts: list[Memory]) -> tuple[int, ...]:
    if isinstance(obj, DeviceMemory):
        parts.append(np.atleast_1d(obj._memory))
        return obj.shape
    shapes = {_flatten(element, parts) for element in obj}
    if len(shapes) != 1:
        raise ValueError(f"the device arrays of a sequence differ in shape: {sorted(shapes)}")
    return (len(obj), *shapes.pop())


def ascontiguousarray(a: DeviceMemory, dtype: npt.DTypeLike | None = None) -> Any:
    """``a`` in row-major order."""
    return _ordered(a, dtype, "C")


def asfortranarray(a: DeviceMemory, dtype: npt.DTypeLike | None = None) -> Any:
    """``a`` in column-major order."""
    return _ordered(a, dtype, "F")


def _ordered(a: DeviceMemory, dtype: npt.DTypeLike | None, order: str) -> Any:
    memory = a._memory
    if dtype is not None and check_dtype(dtype) != memory.dtype:
        return cast(a, dtype, order=order)
    ordered = contiguous(memory, order)
    return a if ordered is memory else ordered


def copy(a: DeviceMemory, order: str = "K") -> Any:
    """A new array with the values of ``a``."""
    return cast(a, a.dtype, order=order)


def empty(shape: Any, dtype: npt.DTypeLike = float, order: str = "C") -> Memory:
    """Uninitialised memory."""
    return allocate(shape, dtype, order)


def zeros(shape: Any, dtype: npt.DTypeLike = float, order: str = "C") -> Memory:
    """Zeros, by one memset."""
    memory = np.zeros(shape, check_dtype(dtype), order="F" if order == "F" else "C")
    boundary.memset(memory.nbytes)
    return memory


def ones(shape: Any, dtype: npt.DTypeLike = float, order: str = "C") -> Memory:
    """Ones, by one kernel."""
    memory = allocate(shape, dtype, order)
    fill(memory, 1)
    return memory


def full(
    shape: Any, fill_value: Any, dtype: npt.DTypeLike | None = None, order: str = "C"
) -> Memory:
    """One value everywhere; the value may be on the host or a 0-d device array."""
    if dtype is None:
        on_device = isinstance(fill_value, DeviceMemory)
        dtype = fill_value.dtype if on_device else np.array(fill_value).dtype
    memory = np.empty(shape, check_dtype(dtype), order="F" if order == "F" else "C")
    with np.errstate(all="ignore"):
        memory[...] = to_memory(fill_value, "full")
    if memory.size:
        boundary.kernel("copy")
    return memory


def _like(make: Callable[..., Memory]) -> Callable[..., Memory]:
    def like(
        a: DeviceMemory,
        dtype: npt.DTypeLike | None = None,
        order: str = "K",
        subok: None = None,
        shape: Any = None,
    ) -> Memory:
        _no_subclasses(subok)
        columns = order == "F" or (order in "KA" and a.flags.fnc)
        return make(shape or a.shape, dtype or a.dtype, "F" if columns else "C")

    like.__name__ = make.__name__ + "_like"
    like.__doc__ = f"``{make.__name__}`` with the shape and dtype of ``a``."
    return like


def empty_like(
    prototype: DeviceMemory,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    subok: None = None,
    shape: Any = None,
) -> Memory:
    """``empty`` with the shape and dtype of ``prototype``."""
    return _like(empty)(prototype, dtype, order, subok, shape)


def _no_subclasses(subok: object) -> None:
    if subok is not None:
        raise TypeError("device arrays have no subclasses to pass through: subok must be None")


def full_like(
    a: DeviceMemory,
    fill_value: Any,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    subok: None = None,
    shape: Any = None,
) -> Memory:
    """``full`` with the shape and dtype of ``a``."""
    _no_subclasses(subok)
    columns = order == "F" or (order in "KA" and a.flags.fnc)
    wanted = shape or a.shape
    return full(wanted, fill_value, dtype or a.dtype, "F" if columns else "C")


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: str = "C") -> Memory:  # noqa: N803 - the names NumPy and CuPy give them
    """Ones on one diagonal: one memset and one kernel."""
    memory = zeros((N, N if M is None else M), dtype, order)
    memory[...] = np.eye(N, M, k, dtype=memory.dtype)
    boundary.kernel("fill")
    return memory


def identity(n: int, dtype: npt.DTypeLike = float) -> Memory:
    """A square ``eye``."""
    return eye(n, dtype=dtype)


def frombuffer(*args: Any, **kwargs: Any) -> Memory:
    """``numpy.frombuffer``, copied to the device."""
    return upload(np.frombuffer(*args, **kwargs))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "array": array,
    "asanyarray": asarray,
    "asarray": asarray,
    "ascontiguousarray": ascontiguousarray,
    "asfortranarray": asfortranarray,
    "copy": copy,
    "empty": empty,
    "empty_like": empty_like,
    "eye": eye,
    "frombuffer": frombuffer,
    "full": full,
    "full_like": full_like,
    "identity": identity,
    "ones": ones,
    "ones_like": _like(ones),
    "zeros": zeros,
    "zeros_like": _like(zeros),
}
