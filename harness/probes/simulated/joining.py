"""Joining, repeating and overwriting arrays on the device, where the cost depends on sizes and sources."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.model.event import MemoryKind
from harness.probes.simulated import boundary
from harness.probes.simulated.indexing import count_true
from harness.probes.simulated.operation import on_device
from harness.probes.simulated.storage import DeviceMemory, Memory, is_scalar, to_memory
from harness.probes.simulated.transfer import upload

__all__ = ["FUNCTIONS", "concatenate", "join"]

_POINTER_BYTES = 8
_FEW_ARRAYS = 8
_SMALL_ARRAY_BYTES = 2 * 1024 * 1024
"""More than eight arrays, on average smaller than this, are copied by one kernel, which needs a table of
their addresses on the device (cupy/_core/_routines_manipulation.pyx:743-762)."""


def join(
    arrays: Sequence[Memory],
    axis: int | None = 0,
    *,
    out: Memory | None = None,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> Memory:
    """Memories joined along an axis: one kernel per array, or tables of addresses and one kernel.

    The tables go through a pinned buffer: one when all arrays are contiguous and equally long, three
    (addresses, offsets, strides) when they are not (:881, :899).
    """
    if axis is None:
        arrays, axis = [memory.ravel() for memory in arrays], 0
    joined: Memory = np.concatenate(arrays, axis, out=out, dtype=dtype, casting=casting)  # type: ignore[call-overload]
    count = len(arrays)
    one_dtype = all(memory.dtype == joined.dtype for memory in arrays)
    if count > _FEW_ARRAYS and one_dtype and joined.nbytes < _SMALL_ARRAY_BYTES * count:
        length = joined.shape[axis] // count
        even = all(m.flags.c_contiguous and m.shape[axis] == length for m in arrays)
        tables = [count] if even else [count, count, count * joined.ndim]
        for entries in tables:
            boundary.host_to_device(entries * _POINTER_BYTES, source=MemoryKind.PINNED)
        boundary.kernel("concatenate")
        return joined
    for memory in arrays:
        if memory.size:
            boundary.kernel("concatenate")
    return joined


def _memories(arrays: Any, where: str) -> list[Memory]:
    if isinstance(arrays, DeviceMemory):
        return list(arrays._memory)
    memories = [to_memory(array, where) for array in arrays]
    for memory in memories:
        if not isinstance(memory, np.ndarray):
            raise TypeError(f"{where} takes device arrays, not {type(memory).__name__}")
    return memories


def concatenate(
    tup: Any,
    axis: int | None = 0,
    out: DeviceMemory | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> Any:
    """Device arrays joined along an axis."""
    target = None if out is None else to_memory(out, "concatenate(out=...)")
    joined = join(_memories(tup, "concatenate"), axis, out=target, dtype=dtype, casting=casting)
    return joined if out is None else out


def stack(
    tup: Any,
    axis: int = 0,
    out: DeviceMemory | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> Any:
    """Device arrays joined along a new axis."""
    target = None if out is None else to_memory(out, "stack(out=...)")
    expanded = [np.expand_dims(memory, axis) for memory in _memories(tup, "stack")]
    joined = join(expanded, axis, out=target, dtype=dtype, casting=casting)
    return joined if out is None else out


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Memory:
    """Device arrays joined as rows."""
    rows = [np.atleast_2d(memory) for memory in _memories(tup, "vstack")]
    return join(rows, 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Memory:
    """Device arrays joined along the second axis, the first for 1-D arrays."""
    parts = [np.atleast_1d(memory) for memory in _memories(tup, "hstack")]
    return join(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Memory:
    """Device arrays joined along the third axis."""
    return join([np.atleast_3d(memory) for memory in _memories(tup, "dstack")], 2)


def column_stack(tup: Any) -> Memory:
    """1-D device arrays joined as columns."""
    memories = _memories(tup, "column_stack")
    return join([m[:, None] if m.ndim == 1 else m for m in memories], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Memory:
    """``values`` joined to the end of ``arr``; either may come from the host at one copy each."""
    parts = [np.asarray(on_device(value, "append")) for value in (arr, values)]
    return join(parts, axis)


def copyto(dst: DeviceMemory, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    """Values written into ``dst``: a device-to-device copy when the layouts agree, else one kernel.

    (cupy/_manipulation/basic.py:15-143)
    """
    memory = to_memory(dst, "copyto")
    if isinstance(src, np.ndarray):
        if src.size != 1:
            raise ValueError("copyto() takes a host array of one element only: use dst.set(src)")
        src = src.item()
    source = to_memory(src, "copyto")
    options = {} if where is None else {"where": to_memory(where, "copyto(where=...)")}
    with np.errstate(all="ignore"):
        np.copyto(memory, source, casting=casting, **options)  # type: ignore[arg-type]
    if where is None and isinstance(source, np.ndarray) and _same_layout(memory, source):
        boundary.device_to_device(memory.nbytes)
    elif memory.size:
        boundary.kernel("copy")


def _same_layout(destination: Memory, source: Memory) -> bool:
    rows = destination.flags.c_contiguous and source.flags.c_contiguous
    columns = destination.flags.f_contiguous and source.flags.f_contiguous
    alike = destination.dtype == source.dtype and destination.size == source.size
    return alike and (rows or columns)


def repeat(a: DeviceMemory, repeats: Any, axis: int | None = None) -> Memory:
    """Elements repeated: by a host number for free, by an array on the device after two reads.

    One read for a single count; a list costs a copy to the device besides (:565, :566, :642).
    """
    memory = to_memory(a, "repeat")
    counts: Any
    if isinstance(repeats, np.ndarray):
        raise TypeError("repeat() does not take a NumPy array of counts: copy it with asarray()")
    if isinstance(repeats, DeviceMemory):
        counts = repeats._memory
        if not np.can_cast(counts.dtype, np.intp, "safe"):
            raise TypeError(f"repeat() takes counts that fit intp, not {counts.dtype}")
    elif isinstance(repeats, (list, tuple)):
        counts = upload(repeats, np.intp)
    else:
        counts = operator.index(repeats)
    if isinstance(counts, np.ndarray) and counts.size:
        for _ in range(1 if counts.size == 1 else 2):
            boundary.read_back(8)
    repeated = np.repeat(memory, counts, axis)
    if repeated.size:
        boundary.kernel("repeat")
    return repeated


def put(a: DeviceMemory, ind: Any, v: Any, mode: str = "wrap") -> None:
    """``a.put``: one kernel; ``mode="raise"``, not the default, reads whether any index was bad (cupy/_core/_routines_indexing.pyx:157-180)."""
    memory = to_memory(a, "put")
    indices = on_device(ind, "put") if not is_scalar(ind) else upload(ind)
    values = on_device(v, "put", memory.dtype) if not is_scalar(v) else upload(v, memory.dtype)
    if mode == "raise":
        boundary.read_back(1)
    if mode == "wrap" and memory.size:
        indices = indices % memory.size
    with np.errstate(all="ignore"):
        np.put(memory, indices, values, mode=mode)  # type: ignore[arg-type]
    boundary.kernel("put")


def put_along_axis(arr: DeviceMemory, indices: Any, values: Any, axis: int | None) -> None:
    """Values scattered along one axis by a kernel."""
    memory = to_memory(arr, "put_along_axis")
    where = on_device(indices, "put_along_axis")
    source = on_device(values, "put_along_axis", memory.dtype)
    np.put_along_axis(memory, where, np.asarray(source).astype(memory.dtype), axis)
    boundary.kernel("setitem")


def delete(arr: DeviceMemory, indices: Any, axis: int | None = None) -> Memory:
    """Elements left out; the host reads how many are left (cupy/_manipulation/add_remove.py:12-71)."""
    memory = to_memory(arr, "delete")
    if not isinstance(indices, (slice, int, np.integer)) or isinstance(indices, bool):
        indices = on_device(indices, "delete")
    along = memory.ravel() if axis is None else np.empty(memory.shape[axis], bool)
    masked = isinstance(indices, np.ndarray) and indices.dtype.kind == "b"
    if masked and axis is not None and memory.ndim > 1:
        count_true(along)
    count_true(along)
    left = np.delete(memory, indices, axis)
    if left.size:
        boundary.kernel("delete")
    return left


def ix_(*args: Any) -> tuple[Memory, ...]:
    """Open mesh of index arrays; a boolean one is turned into indices after one read each."""
    parts = []
    for arg in args:
        part = np.asarray(on_device(arg, "ix_"))
        if part.dtype.kind == "b":
            count_true(part)
            boundary.kernel("nonzero")
        parts.append(part)
    return np.ix_(*parts)


def resize(a: Any, new_shape: Any) -> Memory:
    """``a`` repeated or cut to a new shape, by one kernel."""
    resized = np.resize(np.asarray(on_device(a, "resize")), new_shape)
    boundary.kernel("resize")
    return resized


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        append,
        column_stack,
        concatenate,
        copyto,
        delete,
        dstack,
        hstack,
        ix_,
        put,
        put_along_axis,
        repeat,
        resize,
        stack,
        vstack,
    )
}
