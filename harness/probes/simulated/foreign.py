"""Arrays of another library on the same device, exchanged through ``__cuda_array_interface__``."""

from __future__ import annotations

from typing import Any

from harness.model.event import SyncKind
from harness.probes.simulated import boundary
from harness.probes.simulated.refusal import not_modelled
from harness.probes.simulated.storage import DeviceMemory

__all__ = ["ForeignArray", "adopt", "is_foreign"]


class ForeignArray:
    """Stands for an array of another library that shares the memory of a device array.

    ``stream`` is the stream its producer works on, as version 3 of the protocol exports it; ``None`` is
    version 2, as PyTorch exports it.
    """

    def __init__(self, array: DeviceMemory, *, stream: int | None = None) -> None:
        self._array = array
        self._stream = stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface: dict[str, Any] = {
            "shape": self._array.shape,
            "typestr": self._array.dtype.str,
            "strides": self._array.strides,
            "data": (self._array.data.ptr, False),
            "version": 2,
        }
        if self._stream is not None:
            interface.update(version=3, stream=self._stream)
        return interface


def is_foreign(value: object) -> bool:
    """Whether ``value`` is a device array of another library."""
    return not isinstance(value, DeviceMemory) and hasattr(value, "__cuda_array_interface__")


def adopt(value: Any) -> DeviceMemory:
    """The device array behind a ``ForeignArray``, sharing memory.

    Version 3 of the protocol makes the consumer wait for the producer's stream (cupy/_core/core.pyx:3328-3334).
    Any other exporter points at memory the simulated device does not own: ``NotModelledError``.
    """
    if not isinstance(value, ForeignArray):
        raise not_modelled(
            f"the memory of {type(value).__module__}.{type(value).__qualname__}",
            "wrap a device array in ForeignArray to stand for another library's",
        )
    stream = value.__cuda_array_interface__.get("stream")
    if stream is not None:
        boundary.wait(SyncKind.STREAM, stream)
    return value._array
