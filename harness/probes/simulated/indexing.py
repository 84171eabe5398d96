"""Indexing of device memory: which index is a view, which is a kernel, which copies, which waits.

Follows cupy/_core/_routines_indexing.pyx of CuPy 14.2:

===========================  ==================================================================
index                        cost
===========================  ==================================================================
int, slice, None, Ellipsis   none: a view
device array of integers     one kernel; an index out of bounds wraps around
device array of booleans     one 4-byte read (how many are true), then one kernel (:802, :123)
list, host array             one copy to the device each (:291), then as a device array
===========================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.probes.simulated import boundary
from harness.probes.simulated.storage import DeviceMemory, Memory, is_scalar, to_memory
from harness.probes.simulated.transfer import fill, upload

__all__ = ["count_true", "get_item", "set_item", "ufunc_at"]

_AT: Mapping[np.ufunc, str] = {
    np.add: "int32 int64 uint32 uint64 float16 float32 float64",
    np.subtract: "int32 uint32",
    np.maximum: "int32 int64 uint32 uint64 float32 float64",
    np.minimum: "int32 int64 uint32 uint64 float32 float64",
    np.bitwise_and: "int32 int64 uint32 uint64",
    np.bitwise_or: "int32 int64 uint32 uint64",
    np.bitwise_xor: "int32 int64 uint32 uint64",
}
"""The atomic scatters CuPy has and the dtypes each has an instruction for (:938-1022)."""

_LARGEST_INT32_COUNT = 2**31 - 1
"""Up to here CuPy counts the true elements of a mask in int32, beyond it in int64."""


def count_true(mask: Memory) -> None:
    """The host reads how many elements of a mask are true, to know the shape of a result."""
    if mask.size:
        boundary.read_back(4 if mask.size <= _LARGEST_INT32_COUNT else 8)


def get_item(memory: Memory, key: Any) -> Memory:
    """``a[key]``: a view for a basic index, else a new array."""
    parts, arrays = _resolve(key)
    if not arrays:
        return _view(memory, parts)
    _check(memory, parts)
    for mask in _masks(arrays):
        count_true(mask)
    selected = _select(memory, parts)
    if selected.size:
        boundary.kernel("getitem")
    return selected


def set_item(memory: Memory, key: Any, value: Any) -> None:
    """``a[key] = value``; host arrays are refused as values of a basic index, as CuPy refuses them."""
    parts, arrays = _resolve(key)
    if not arrays:
        _set_view(_view(memory, parts), value)
        return
    _check(memory, parts)
    for mask in _masks(arrays):
        count_true(mask)
        if not mask.any():
            return
    stored = _value_on_device(value, memory.dtype)
    with np.errstate(all="ignore"):
        try:
            memory[parts] = stored
        except IndexError:
            memory[_wrapped(memory, parts)] = stored
    boundary.kernel("setitem")


def ufunc_at(ufunc: np.ufunc, target: Any, key: Any, value: Any = None) -> None:
    """``ufunc.at(target, key, value)``: an atomic scatter, one kernel."""
    if ufunc not in _AT:
        raise NotImplementedError(f"{ufunc.__name__}.at: CuPy has no such scatter either")
    if not isinstance(target, DeviceMemory):
        raise TypeError(f"{ufunc.__name__}.at takes a device array, not {type(target).__name__}")
    memory = target._memory
    if memory.dtype.name not in _AT[ufunc].split():
        raise TypeError(f"{ufunc.__name__}.at supports {_AT[ufunc]}, not {memory.dtype}")
    parts, arrays = _resolve(key)
    _check(memory, parts)
    for mask in _masks(arrays):
        count_true(mask)
    stored = _value_on_device(value, memory.dtype)
    with np.errstate(all="ignore"):
        cast = stored.astype(memory.dtype)
        try:
            ufunc.at(memory, parts, cast)
        except IndexError:
            ufunc.at(memory, _wrapped(memory, parts), cast)
    boundary.kernel(f"{ufunc.__name__}.at")


def _resolve(key: Any) -> tuple[tuple[Any, ...], list[Memory]]:
    """The index in terms of device memory, and the arrays in it; host lists and arrays are copied over."""
    if isinstance(key, DeviceMemory):
        return (key._memory,), [key._memory]
    parts: list[Any] = []
    arrays: list[Memory] = []
    for part in key if isinstance(key, tuple) else (key,):
        if part is None or part is Ellipsis:
            parts.append(part)
        elif isinstance(part, slice):
            parts.append(_host_slice(part))
        elif is_scalar(part) and not isinstance(part, (bool, np.bool_)):
            parts.append(_host_integer(part))
        else:
            parts.append(_index_array(part))
            arrays.append(parts[-1])
    return tuple(parts), arrays


def _host_slice(part: slice) -> slice:
    for bound in (part.start, part.stop, part.step):
        if isinstance(bound, DeviceMemory):
            raise TypeError(
                "slice bounds must be host integers: a device array has no __index__, "
                "and reading it with int() would be a copy and a wait"
            )
    return part


def _host_integer(part: Any) -> int:
    if not isinstance(part, (int, np.integer)):
        raise IndexError(
            f"indices must be integers, slices, ellipsis, None or integer or boolean arrays, not {part!r}"
        )
    return int(part)


def _index_array(part: Any) -> Memory:
    if isinstance(part, DeviceMemory):
        return part._memory
    if isinstance(part, (list, tuple)) and _all_on_device(part):
        boundary.kernel("concatenate")
        return np.array([element._memory for element in part])
    try:
        memory = upload(part)
    except ValueError as error:
        raise IndexError(f"not an index of a device array: {part!r}") from error
    if isinstance(part, (list, tuple)) and not memory.size:
        return memory.astype(np.int32)
    return memory


def _all_on_device(parts: list[Any] | tuple[Any, ...]) -> bool:
    return bool(parts) and all(isinstance(part, DeviceMemory) for part in parts)


def _masks(arrays: list[Memory]) -> list[Memory]:
    return [array for array in arrays if array.dtype.kind == "b"]


def _check(memory: Memory, parts: tuple[Any, ...]) -> None:
    """Refuse what CuPy refuses before it reads anything."""
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype.kind not in "biu":
            raise IndexError(f"index arrays must be integer or boolean, not {part.dtype}")
    used = _axes_used(parts)
    if used > memory.ndim:
        raise IndexError(f"too many indices: the array has {memory.ndim} axes, the index {used}")
    for part, axis in zip(parts, _first_axes(memory, parts), strict=True):
        if isinstance(part, np.ndarray) and part.dtype.kind == "b":
            indexed = memory.shape[axis : axis + part.ndim]
            if part.shape != indexed:
                raise IndexError(f"mask of shape {part.shape} on axes of shape {indexed}")


def _view(memory: Memory, parts: tuple[Any, ...]) -> Memory:
    # The Ellipsis keeps a full index a 0-d view; without it NumPy would hand out a host scalar.
    ellipsis = any(part is Ellipsis for part in parts)
    view: Memory = memory[parts if ellipsis else (*parts, Ellipsis)]
    return view


def _select(memory: Memory, parts: tuple[Any, ...]) -> Memory:
    try:
        selected = np.asarray(memory[parts])
    except IndexError:
        selected = np.asarray(memory[_wrapped(memory, parts)])
    # NumPy takes a 0-d integer array for an integer and hands out a view; the device gathers.
    return selected.copy() if np.may_share_memory(selected, memory) else selected


def _wrapped(memory: Memory, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same index with integer arrays taken modulo their axis: a kernel cannot raise."""
    wrapped = list(parts)
    for position, axis in enumerate(_first_axes(memory, parts)):
        part = parts[position]
        if isinstance(part, np.ndarray) and part.dtype.kind in "iu":
            length = memory.shape[axis]
            wrapped[position] = part % length if length else part
    return tuple(wrapped)


def _first_axes(memory: Memory, parts: tuple[Any, ...]) -> list[int]:
    """The axis of ``memory`` each part of the index starts at."""
    axes, axis = [], 0
    for part in parts:
        axes.append(axis)
        axis += memory.ndim - _axes_used(parts) if part is Ellipsis else _axes_used((part,))
    return axes


def _axes_used(parts: tuple[Any, ...]) -> int:
    used = 0
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype.kind == "b":
            used += part.ndim
        elif part is not None and part is not Ellipsis:
            used += 1
    return used


def _value_on_device(value: Any, dtype: np.dtype[Any]) -> Memory:
    """The value of a scatter: host arrays and lists cost one copy, scalars one fill (:917, :1036)."""
    if isinstance(value, DeviceMemory):
        return value._memory
    return upload(value, dtype)


def _set_view(view: Memory, value: Any) -> None:
    """Assignment through a view (:1088-1103)."""
    if not isinstance(value, DeviceMemory):
        if np.ndim(value):
            raise ValueError(
                "a host array or list is not assigned to a device array implicitly: "
                "copy it first with asarray(value), or use a.set(value)"
            )
        fill(view, value)
        return
    source = to_memory(value, "assignment")
    while source.ndim > view.ndim and source.shape[0] == 1:
        source = source[0, ...]
    same_layout = view.shape == source.shape and view.strides == source.strides
    if same_layout and view.ctypes.data == source.ctypes.data:
        return
    with np.errstate(all="ignore"):
        view[...] = source
    if same_layout and view.flags.c_contiguous and view.dtype == source.dtype:
        boundary.device_to_device(view.nbytes)
    elif view.size:
        boundary.kernel("copy")
