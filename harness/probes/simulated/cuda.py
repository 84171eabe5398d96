"""The part of ``cupy.cuda`` that a program under test calls."""

from __future__ import annotations

from typing import Any

from harness.probes.simulated.pinned import PinnedMemory, alloc_pinned_memory
from harness.probes.simulated.pool import MemoryAsyncPool, MemoryPool, PinnedMemoryPool
from harness.probes.simulated.refusal import NotModelledError
from harness.probes.simulated.storage import MemoryPointer
from harness.probes.simulated.streams import (
    Device,
    Event,
    Stream,
    get_current_stream,
    get_elapsed_time,
)

__all__ = [
    "Device",
    "Event",
    "MemoryAsyncPool",
    "MemoryPointer",
    "MemoryPool",
    "PinnedMemory",
    "PinnedMemoryPool",
    "Stream",
    "alloc_pinned_memory",
    "get_current_stream",
    "get_elapsed_time",
    "is_available",
    "runtime",
]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"the simulated cuda module has no attribute {name!r}")
    raise NotModelledError(f"cuda.{name}")


def is_available() -> bool:
    """Always: the simulated device needs no driver."""
    return True


class runtime:  # noqa: N801 - stands for the module cupy.cuda.runtime
    """The runtime calls that hold the host."""

    @staticmethod
    def deviceSynchronize() -> None:  # noqa: N802 - CUDA's name
        """Hold the host until all work of the device is done."""
        Device().synchronize()

    @staticmethod
    def streamSynchronize(stream: int) -> None:  # noqa: N802 - CUDA's name
        """Hold the host until all work of a stream is done."""
        queue = Stream(null=True)
        queue.ptr = stream
        queue.synchronize()
