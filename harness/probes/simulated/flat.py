"""``a.flat``: an array as if it had one axis (``cupy.flatiter``, cupy/_indexing/iterate.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.probes.simulated import boundary
from harness.probes.simulated.refusal import absent
from harness.probes.simulated.storage import DeviceMemory, is_scalar
from harness.probes.simulated.transfer import upload

__all__ = ["FlatIterator"]


class FlatIterator:
    """Elements in row-major order: an element or a slice read is one kernel and new memory, as is one written."""

    __slots__ = ("_base", "_index")

    def __init__(self, a: Any) -> None:
        self._base = a
        self._index = 0

    @property
    def base(self) -> Any:
        """The array iterated over."""
        return self._base

    def __getattr__(self, name: str) -> Any:
        raise absent("flatiter", name)

    def __len__(self) -> int:
        return int(self._base.size)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._index == len(self):
            raise StopIteration
        self._index += 1
        return self[self._index - 1]

    def __getitem__(self, index: Any) -> Any:
        if index is Ellipsis or isinstance(index, slice):
            memory = self._base._memory.reshape(-1)
            taken = memory[slice(None) if index is Ellipsis else index].copy()
            if taken.size:
                boundary.kernel("flatiter_getitem")
            return self._base._view(taken)
        return self._base[self._position(index)].copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not (index is Ellipsis or isinstance(index, slice)):
            self._base[self._position(index)] = value
            return
        memory = self._base._memory
        source = value._memory if isinstance(value, DeviceMemory) else upload(value, memory.dtype)
        with np.errstate(all="ignore"):
            positions = np.arange(memory.size)[slice(None) if index is Ellipsis else index]
            np.put(memory, positions, source.astype(memory.dtype))
        boundary.kernel("flatiter_setitem")

    def copy(self) -> Any:
        """The elements as a 1-D array, by one kernel."""
        return self._base.flatten()

    def _position(self, index: Any) -> tuple[int, ...]:
        if isinstance(index, (bool, tuple)) or not is_scalar(index):
            raise IndexError("a.flat takes an integer, a slice or an Ellipsis")
        flat = int(index)
        if not -len(self) <= flat < len(self):
            raise IndexError(f"index {flat} is out of bounds of {len(self)} elements")
        return tuple(int(i) for i in np.unravel_index(flat % len(self), self._base.shape))
