"""The memory that host and kernels share, field by field as ``softmax_cross_entropy.cu`` declares it."""

from __future__ import annotations

from enum import IntFlag
from typing import Any

import numpy as np

__all__ = ["COMPLAINT", "TASK", "WORKSPACE", "Flag"]


class Flag(IntFlag):
    """What a kernel is to do, and what its arguments are."""

    MEAN = 1
    SUM = 2
    HAS_IGNORE_INDEX = 4
    LABELS_ARE_INT64 = 8
    STREAMING_STORES = 16
    DY_PER_ROW = 32


def _struct(fields: dict[str, type[np.generic]]) -> np.dtype[Any]:
    return np.dtype(list(fields.items()), align=True)


TASK = _struct(
    {
        "logits": np.uint64,
        "labels": np.uint64,
        "gradient": np.uint64,
        "losses": np.uint64,
        "loss": np.uint64,
        "partials": np.uint64,
        "workspace": np.uint64,
        "complaint": np.uint64,
        "dy": np.uint64,
        "rows": np.int64,
        "ignore_index": np.int64,
        "expected_dy": np.float64,
        "classes": np.int32,
        "rows_per_group": np.int32,
        "flags": np.int32,
        "unused": np.int32,
    }
)
"""The one argument of every kernel, passed by value. Its pointers are device addresses, or 0."""

WORKSPACE = _struct(
    {
        "counting": np.uint64,
        "counted": np.int64,
        "groups_done": np.uint32,
        "counters_done": np.uint32,
        "claimed": np.uint32,
    }
)
"""Device memory, zeroed once: the kernels leave it ready for their next launch."""

COMPLAINT = _struct({"raised": np.int64, "row": np.int64, "label": np.int64})
"""Pinned host memory that a kernel writes to when it meets a bad label."""
