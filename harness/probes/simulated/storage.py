"""Device memory: NumPy memory that only operations of the device may touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from harness.probes.simulated import process
from harness.probes.simulated.refusal import (
    UnsupportedOperandError,
    absent,
    host_array_refused,
    not_modelled,
)

__all__ = [
    "DeviceMemory",
    "Flags",
    "Memory",
    "MemoryPointer",
    "allocate",
    "check_dtype",
    "is_scalar",
    "to_memory",
]

Memory = npt.NDArray[Any]
"""The NumPy array that plays the device memory of one device array."""

_EXTENDED = frozenset({np.longdouble, np.clongdouble})
"""Formats no GPU has."""

_PYTHON_SCALARS = frozenset({bool, int, float, complex})


@dataclass(frozen=True, slots=True)
class Flags:
    """Memory layout of a device array; indexable by NumPy's upper-case names."""

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool

    @property
    def fnc(self) -> bool:
        """Column-major and not row-major."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        """Contiguous either way."""
        return self.f_contiguous or self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        if name not in ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA"):
            raise KeyError(f"{name!r} is not a flag of a device array")
        return bool(getattr(self, name.lower()))


class MemoryPointer(NamedTuple):
    """Where an array starts in device memory; equal for two views that start at the same element."""

    ptr: int
    device_id: int = 0

    def __getattr__(self, name: str) -> Any:
        raise absent("cuda.MemoryPointer", name)


class DeviceMemory:
    """The part of a device array the host knows without asking the device: shape, dtype and layout."""

    __slots__ = ("__weakref__", "_memory")

    _memory: Memory

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self._memory.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes; assigning reshapes without a copy or raises ``AttributeError``."""
        return self._memory.shape

    @shape.setter
    def shape(self, shape: int | tuple[int, ...]) -> None:
        reshaped = self._memory.reshape(shape)
        if not np.may_share_memory(reshaped, self._memory):
            raise AttributeError(
                f"shape {self.shape} cannot become {shape} in place: use reshape(), which copies"
            )
        self._memory = reshaped

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, per axis."""
        return self._memory.strides

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._memory.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._memory.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._memory.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._memory.nbytes

    @property
    def flags(self) -> Flags:
        """Memory layout."""
        flags = self._memory.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, flags.owndata)

    @property
    def data(self) -> MemoryPointer:
        """Start of the array in device memory."""
        return MemoryPointer(int(self._memory.ctypes.data))

    def __len__(self) -> int:
        if not self._memory.ndim:
            raise TypeError("len() of a 0-d device array")
        return int(self._memory.shape[0])


def is_scalar(value: object) -> bool:
    """Whether ``value`` travels to a kernel as a launch argument: a Python or NumPy number."""
    if type(value) in _PYTHON_SCALARS:
        return True
    return isinstance(value, np.generic) and value.dtype.kind not in "OSUMm"


def to_memory(value: object, where: str) -> Any:
    """The memory of a device array, or the scalar itself; ``TypeError`` for anything else.

    ``where`` names the operation in the message.
    """
    if isinstance(value, DeviceMemory):
        return value._memory
    if value is None or is_scalar(value):
        return value
    if isinstance(value, np.ndarray):
        raise host_array_refused(where)
    raise UnsupportedOperandError(
        f"unsupported type {type(value).__name__} in {where}: expected a device array or a scalar"
    )


def check_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """``dtype`` in this machine's byte order; ``ValueError`` when no device array can have it."""
    checked = np.dtype(dtype)
    if checked.names is not None:
        raise not_modelled(f"structured dtype {checked}", "keep one array per field")
    supported = checked.kind in "biufc" or checked.name == "bfloat16"
    if not supported or checked.type in _EXTENDED:
        raise ValueError(f"unsupported dtype {checked} for a device array")
    return checked.newbyteorder("=") if not checked.isnative else checked


def allocate(
    shape: int | tuple[int, ...], dtype: npt.DTypeLike = float, order: str = "C"
) -> Memory:
    """Uninitialised memory, filled with NaN or the largest value so that a read of it shows.

    Real device memory holds whatever was there before; a fixed filling keeps runs repeatable.
    """
    if process.owner is None:
        process.device_is_used()
    memory = np.empty(shape, check_dtype(dtype), order="F" if order == "F" else "C")
    kind = memory.dtype.kind
    if kind in "iu":
        memory.fill(np.iinfo(memory.dtype).max)
    else:
        memory.fill(True if kind == "b" else np.nan)
    return memory
