"""Functions of device arrays whose result is a host value: metadata, which is free, and text, which is a read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

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


_SHAPES = "common_type iscomplexobj isfortran isrealobj may_share_memory ndim shape size"
_DTYPES = "can_cast min_scalar_type result_type"
_TEXTS = "array2string array_repr array_str"

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: _of(name, _memory) for name in _SHAPES.split()},
    **{name: _of(name, _dtype) for name in _DTYPES.split()},
    **{name: _text(name) for name in _TEXTS.split()},
}
"""Host answers by name; their results are not device arrays."""
