"""Memory pools, as far as the host waits for them."""

from __future__ import annotations

from typing import Any, ClassVar

from harness.model.event import SyncKind
from harness.probes.simulated import boundary
from harness.probes.simulated.refusal import absent
from harness.probes.simulated.storage import Memory, MemoryPointer, allocate
from harness.probes.simulated.streams import Stream

__all__ = ["MemoryAsyncPool", "MemoryPool", "PinnedMemoryPool"]


class MemoryPool:
    """Reuses blocks (``cupy.cuda.MemoryPool``).

    Freeing them is one ``cudaFree`` each, which waits inside the driver and leaves no wait to count.
    """

    _name: ClassVar[str] = "cuda.MemoryPool"

    def __init__(self) -> None:
        self._blocks: list[Memory] = []

    def __getattr__(self, name: str) -> Any:
        raise absent(self._name, name)

    def malloc(self, size: int) -> MemoryPointer:
        """A block from the pool: no CUDA call once the pool is warm."""
        self._blocks.append(allocate(size, "uint8"))
        return MemoryPointer(self._blocks[-1].ctypes.data)

    def free_all_blocks(self, stream: Stream | None = None) -> None:
        """Give the blocks back."""
        self._blocks.clear()


class PinnedMemoryPool:
    """Reuses blocks of page-locked host memory (``cupy.cuda.PinnedMemoryPool``)."""

    def __getattr__(self, name: str) -> Any:
        raise absent("cuda.PinnedMemoryPool", name)

    def free_all_blocks(self) -> None:
        """Give the free blocks back."""


class MemoryAsyncPool(MemoryPool):
    """The driver's stream-ordered pool (``cupy.cuda.MemoryAsyncPool``)."""

    _name = "cuda.MemoryAsyncPool"

    def free_all_blocks(self, stream: Stream | None = None) -> None:
        """Wait for the stream, then give the blocks back (cupy/cuda/memory.pyx:1922)."""
        super().free_all_blocks()
        boundary.wait(SyncKind.STREAM, None if stream is None else stream.ptr)
