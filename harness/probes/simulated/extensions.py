"""The part of ``cupyx`` that a program under test calls; what CuPy has besides is refused."""

from __future__ import annotations as _annotations

from typing import Any as _Any

import numpy as _np

from harness.probes.simulated import boundary as _boundary
from harness.probes.simulated import cupy_names as _cupy_names
from harness.probes.simulated.array import DeviceArray as _DeviceArray
from harness.probes.simulated.array import wrap as _wrap
from harness.probes.simulated.errstate import errstate, geterr, seterr
from harness.probes.simulated.indexing import ufunc_at as _ufunc_at
from harness.probes.simulated.pinned import (
    empty_like_pinned,
    empty_pinned,
    zeros_like_pinned,
    zeros_pinned,
)
from harness.probes.simulated.refusal import absent as _absent
from harness.probes.simulated.silence import silently as _silently
from harness.probes.simulated.storage import to_memory as _to_memory

__all__ = [
    "empty_like_pinned",
    "empty_pinned",
    "errstate",
    "geterr",
    "rsqrt",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "seterr",
    "zeros_like_pinned",
    "zeros_pinned",
]


def __getattr__(name: str) -> _Any:
    raise _absent("cupyx", name)


def __dir__() -> list[str]:
    return sorted(_cupy_names.OWNERS["cupyx"])


def scatter_add(a: _Any, slices: _Any, value: _Any) -> None:
    """Add ``value`` at every index, repeated ones included: one kernel."""
    _ufunc_at(_np.add, a, slices, value)


def scatter_max(a: _Any, slices: _Any, value: _Any) -> None:
    """Keep the maximum at every index: one kernel."""
    _ufunc_at(_np.maximum, a, slices, value)


def scatter_min(a: _Any, slices: _Any, value: _Any) -> None:
    """Keep the minimum at every index: one kernel."""
    _ufunc_at(_np.minimum, a, slices, value)


def rsqrt(x: _Any, out: _DeviceArray | None = None) -> _Any:
    """One over the square root, by one kernel."""
    memory = _to_memory(x, "rsqrt")
    roots = _silently(_reciprocal_root, memory)
    if roots.size:
        _boundary.kernel("rsqrt")
    if out is None:
        return _wrap(roots)
    _to_memory(out, "rsqrt(out=...)")[...] = roots
    return out


def _reciprocal_root(x: _Any) -> _Any:
    return _np.asarray(1 / _np.sqrt(x))
