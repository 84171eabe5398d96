"""The part of ``cupyx`` that a program under test calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.probes.simulated.errstate import errstate
from harness.probes.simulated.indexing import ufunc_at
from harness.probes.simulated.pinned import (
    empty_like_pinned,
    empty_pinned,
    zeros_like_pinned,
    zeros_pinned,
)
from harness.probes.simulated.refusal import NotModelledError

__all__ = [
    "empty_like_pinned",
    "empty_pinned",
    "errstate",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "zeros_like_pinned",
    "zeros_pinned",
]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"the simulated extensions have no attribute {name!r}")
    raise NotModelledError(f"cupyx.{name}")


def scatter_add(a: Any, slices: Any, value: Any) -> None:
    """Add ``value`` at every index, repeated ones included: one kernel."""
    ufunc_at(np.add, a, slices, value)


def scatter_max(a: Any, slices: Any, value: Any) -> None:
    """Keep the maximum at every index: one kernel."""
    ufunc_at(np.maximum, a, slices, value)


def scatter_min(a: Any, slices: Any, value: Any) -> None:
    """Keep the minimum at every index: one kernel."""
    ufunc_at(np.minimum, a, slices, value)
