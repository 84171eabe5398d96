"""Functions of device arrays whose result is a host value: metadata, which is free, and what has to be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated import boundary
from harness.probes.simulated.storage import DeviceMemory
from harness.probes.simulated.transfer import download

__all__ = ["FUNCTIONS"]


def _memory(value: Any) -> Any:
    return value._memory if isinstance(value, DeviceMemory) else value


def _dtype(value: Any) -> Any:
    return value.dtype if isinstance(value, DeviceMemory) else value


def _of(name: str, translate: Callable[[Any], Any]) -> Callable[..., Any]:
    function = getattr(np, name)

    def answer(*args: Any, **kwargs: Any) -> Any:
        return function(*map(translate, args), **{k: translate(v) for k, v in kwargs.items()})

    answer.__name__ = name
    answer.__doc__ = f"``numpy.{name}``, from what the host knows about a device array."
    return answer


def _text(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def text(a: Any, *args: Any, **kwargs: Any) -> Any:
        return function(download(a._memory) if isinstance(a, DeviceMemory) else a, *args, **kwargs)

    text.__name__ = name
    text.__doc__ = f"``numpy.{name}`` of a host copy: one copy and one wait."
    return text


def min_scalar_type(a: Any) -> np.dtype[Any]:
    """The smallest dtype of a host value; of a device array its own, whatever its values."""
    return a.dtype if isinstance(a, DeviceMemory) else np.min_scalar_type(a)


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether the bounds of two arrays overlap."""
    if max_work is not None:
        raise NotImplementedError("may_share_memory() takes no max_work on the device")
    return bool(np.may_share_memory(_memory(a), _memory(b)))


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays have an element in common: found on the device, and read (cupy/_misc/memory_ranges.py:32)."""
    if a is b and a.size:
        return True
    if max_work == "MAY_SHARE_BOUNDS":
        return may_share_memory(a, b)
    if max_work not in (None, "MAY_SHARE_EXACT"):
        raise NotImplementedError("shares_memory() takes no number as max_work on the device")
    boundary.kernel("shares_memory")
    boundary.read_back(1)
    return bool(np.shares_memory(_memory(a), _memory(b)))


def byte_bounds(a: Any) -> tuple[int, int]:
    """Where an array begins and ends in device memory."""
    low, high = np.lib.array_utils.byte_bounds(_memory(a))
    return int(low), int(high)


_SHAPES = "common_type iscomplexobj isfortran isrealobj ndim shape size"
_DTYPES = "can_cast result_type"
_TEXTS = "array2string array_repr array_str"

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: _of(name, _memory) for name in _SHAPES.split()},
    **{name: _of(name, _dtype) for name in _DTYPES.split()},
    **{name: _text(name) for name in _TEXTS.split()},
    "byte_bounds": byte_bounds,
    "may_share_memory": may_share_memory,
    "min_scalar_type": min_scalar_type,
    "shares_memory": shares_memory,
}
"""Host answers by name; their results are not device arrays."""
