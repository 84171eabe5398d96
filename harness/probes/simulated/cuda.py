"""The part of ``cupy.cuda`` that a program under test calls; what CuPy has besides is refused."""

from __future__ import annotations as _annotations

from typing import Any as _Any

from harness.probes.simulated import cupy_names as _cupy_names
from harness.probes.simulated.pinned import PinnedMemory, alloc_pinned_memory
from harness.probes.simulated.pool import MemoryAsyncPool, MemoryPool, PinnedMemoryPool
from harness.probes.simulated.refusal import absent as _absent
from harness.probes.simulated.storage import MemoryPointer
from harness.probes.simulated.streams import (
    Device,
    Event,
    Stream,
    get_current_stream,
    get_elapsed_time,
    runtime,
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
    "get_device_id",
    "get_elapsed_time",
    "is_available",
    "nvtx",
    "runtime",
]


class _Nvtx:
    """``cupy.cuda.nvtx``: marks for a profiler, which neither copy nor wait."""

    available = True

    def __getattr__(self, name: str) -> _Any:
        raise _absent("cuda.nvtx", name)

    @staticmethod
    def RangePush(message: str, id_color: int = -1) -> None:  # noqa: N802 - NVTX's name
        """Begin a range."""

    @staticmethod
    def RangePushC(message: str, color: int = 0) -> None:  # noqa: N802 - NVTX's name
        """Begin a coloured range."""

    @staticmethod
    def RangePop() -> None:  # noqa: N802 - NVTX's name
        """End the innermost range."""

    @staticmethod
    def Mark(message: str, id_color: int = -1) -> None:  # noqa: N802 - NVTX's name
        """Mark a moment."""

    @staticmethod
    def MarkC(message: str, color: int = 0) -> None:  # noqa: N802 - NVTX's name
        """Mark a moment in a colour."""


nvtx = _Nvtx()


def is_available() -> bool:
    """Always: the simulated device needs no driver."""
    return True


def get_device_id() -> int:
    """The number of the one simulated device."""
    return 0


def __getattr__(name: str) -> _Any:
    raise _absent("cuda", name)


def __dir__() -> list[str]:
    return sorted(_cupy_names.OWNERS["cuda"])
