"""Page-locked host memory: NumPy arrays that a copy engine can reach without the host's help."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.model.event import MemoryKind
from harness.probes.simulated.refusal import absent

__all__ = [
    "PinnedMemory",
    "alloc_pinned_memory",
    "empty_like_pinned",
    "empty_pinned",
    "host_memory_kind",
    "zeros_like_pinned",
    "zeros_pinned",
]


class PinnedMemory(bytearray):
    """A block of page-locked host memory; use it as a buffer of ``numpy.frombuffer`` or ``numpy.ndarray``.

    Every NumPy array on top of it, and every view of such an array, counts as pinned.
    """

    def __getattr__(self, name: str) -> Any:
        raise absent("cuda.PinnedMemoryPointer", name)


def alloc_pinned_memory(size_bytes: int) -> PinnedMemory:
    """``size_bytes`` of page-locked host memory (``cupy.cuda.alloc_pinned_memory``)."""
    return PinnedMemory(size_bytes)


def empty_pinned(
    shape: int | tuple[int, ...], dtype: npt.DTypeLike = float, order: str = "C"
) -> npt.NDArray[Any]:
    """A pinned host array (``cupyx.empty_pinned``)."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    memory = alloc_pinned_memory(math.prod(sizes) * np.dtype(dtype).itemsize)
    return np.ndarray(sizes, dtype, buffer=memory, order="F" if order == "F" else "C")


def zeros_pinned(
    shape: int | tuple[int, ...], dtype: npt.DTypeLike = float, order: str = "C"
) -> npt.NDArray[Any]:
    """A pinned host array of zeros (``cupyx.zeros_pinned``); fresh pinned memory is zero here."""
    return empty_pinned(shape, dtype, order)


def empty_like_pinned(
    a: Any,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    subok: None = None,
    shape: int | tuple[int, ...] | None = None,
) -> npt.NDArray[Any]:
    """A pinned host array with the shape of ``a``, a host or a device array (``cupyx.empty_like_pinned``)."""
    if subok is not None:
        raise TypeError("pinned arrays have no subclasses to pass through: subok must be None")
    wanted = tuple(a.shape) if shape is None else shape
    columns = order == "F" or (order in ("K", "A") and a.flags.fnc)
    return empty_pinned(wanted, a.dtype if dtype is None else dtype, "F" if columns else "C")


def zeros_like_pinned(
    a: Any,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    subok: None = None,
    shape: int | tuple[int, ...] | None = None,
) -> npt.NDArray[Any]:
    """Like ``empty_like_pinned``, of zeros (``cupyx.zeros_like_pinned``)."""
    return empty_like_pinned(a, dtype, order, subok, shape)


def host_memory_kind(array: npt.NDArray[Any]) -> MemoryKind:
    """Pinned when the memory at the bottom of ``array``'s views is; pageable otherwise."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    return MemoryKind.PINNED if isinstance(owner, PinnedMemory) else MemoryKind.PAGEABLE
