"""Copies between host arrays and device memory, as ``cupy.array``, ``ndarray.get`` and ``ndarray.set`` make them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from harness.model.event import MemoryKind, SyncKind
from harness.probes.simulated import boundary
from harness.probes.simulated.pinned import host_memory_kind
from harness.probes.simulated.storage import Memory, check_dtype

__all__ = ["contiguous", "download", "fill", "overwrite", "upload"]


def upload(
    source: object,
    dtype: npt.DTypeLike | None = None,
    *,
    order: str = "K",
    ndmin: int = 0,
    blocking: bool = False,
) -> Memory:
    """New device memory with the values of a host array, scalar or nested sequence of numbers.

    A scalar or 0-d array is a launch argument of a fill. Anything else is one copy of all its bytes from a
    pinned staging buffer, which does not hold the host; ``blocking`` adds one stream wait. Raises
    ``ValueError`` for a dtype no device array can have (cupy/_core/core.pyx:3020-3103).
    """
    host = np.array(source, dtype=dtype, copy=None, ndmin=ndmin)
    host = host.astype(check_dtype(host.dtype), copy=False)
    keeps_columns = order in "KA" and isinstance(source, np.ndarray) and host.flags.fnc
    layout = "F" if order == "F" or keeps_columns else "C"
    memory = np.empty(host.shape, host.dtype, order="F" if layout == "F" else "C")
    if not host.ndim:
        fill(memory, host[()])
        return memory
    memory[...] = host
    boundary.host_to_device(memory.nbytes, source=MemoryKind.PINNED)
    if blocking:
        boundary.wait(SyncKind.STREAM)
    return memory


def fill(memory: Memory, value: Any) -> None:
    """Write a host scalar, or a 0-d device value, to every element: a memset for a host zero, else a kernel.

    (cupy/_core/core.pyx:1000-1028)
    """
    if isinstance(value, np.ndarray):
        with np.errstate(all="ignore"):
            memory[...] = value.astype(memory.dtype)
        zero = False
    else:
        scalar = np.asarray(value, dtype=memory.dtype)
        zero = memory.flags.c_contiguous and not scalar.astype(bool)
        memory[...] = np.zeros_like(scalar) if zero else scalar  # a memset of -0.0 writes +0.0
    if zero:
        boundary.memset(memory.nbytes)
    elif memory.size:
        boundary.kernel("fill")


def contiguous(memory: Memory, order: str) -> Memory:
    """``memory`` itself when it has the layout, else a copy made by one kernel."""
    flags = memory.flags
    if flags.f_contiguous if order == "F" else flags.c_contiguous:
        return memory
    boundary.kernel("copy")
    return memory.copy(order="F" if order == "F" else "C")


def download(
    memory: Memory,
    *,
    stream: int | None = None,
    order: str = "C",
    out: npt.NDArray[Any] | None = None,
    blocking: bool = True,
) -> npt.NDArray[Any]:
    """A host copy of ``memory``: one copy, then a stream wait when ``blocking``.

    Into pageable memory the copy itself holds the host, with or without the wait. An empty array without
    ``out`` touches nothing (cupy/_core/core.pyx:2098-2207).
    """
    if out is None:
        if not memory.size:
            return np.empty(memory.shape, memory.dtype)
        if order.upper() == "A":
            order = "F" if memory.flags.f_contiguous else "C"
        if order.upper() not in ("C", "F"):
            raise ValueError(f"unsupported order: {order!r}")
        layout = order.upper()
    else:
        layout = _check_destination(memory, out)
    source = contiguous(memory, layout)
    host = source.copy(order="F" if layout == "F" else "C") if out is None else out
    if out is not None:
        out[...] = source
    boundary.device_to_host(memory.nbytes, destination=host_memory_kind(host), stream=stream)
    if blocking:
        boundary.wait(SyncKind.STREAM, stream)
    return host


def _check_destination(memory: Memory, out: object) -> str:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"get(out=...) takes a NumPy array, not {type(out).__name__}")
    if out.dtype != memory.dtype:
        raise TypeError(f"get(out=...) takes dtype {memory.dtype}, not {out.dtype}")
    if out.shape != memory.shape:
        raise ValueError(f"get(out=...) takes shape {memory.shape}, not {out.shape}")
    if not out.flags.forc:
        raise RuntimeError("get(out=...) takes a contiguous array")
    both_columns = out.flags.f_contiguous and memory.flags.f_contiguous
    return "F" if both_columns or not out.flags.c_contiguous else "C"


def overwrite(memory: Memory, source: object, *, stream: int | None = None) -> None:
    """``a.set(host)``: one copy straight from ``source``, which holds the host unless it is pinned.

    (cupy/_core/core.pyx:2210-2243)
    """
    if not isinstance(source, np.ndarray):
        raise TypeError(f"set() takes a NumPy array, not {type(source).__name__}")
    if source.dtype != memory.dtype:
        raise TypeError(f"set() takes dtype {memory.dtype}, not {source.dtype}")
    if source.shape != memory.shape:
        raise ValueError(f"set() takes shape {memory.shape}, not {source.shape}")
    if not memory.flags.forc:
        raise RuntimeError("set() needs a contiguous device array")
    layout = "C" if memory.flags.c_contiguous else "F"
    laid_out = np.asarray(source, order="F" if layout == "F" else "C")
    memory[...] = laid_out
    boundary.host_to_device(memory.nbytes, source=host_memory_kind(laid_out), stream=stream)
