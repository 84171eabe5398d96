"""Which classes the labels name: their kinds, and the checks that tell a bad one.

On the host every label is looked at, and a bad one raises. On a device to look is to copy and wait, so
nothing there is read back: a bad label turns its row into NaN, and no index out of range is ever used.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np

from reference_impl.backend import Array, accumulation_dtype, is_host, namespace

__all__ = ["LabelKind", "checked_ids", "label_kind", "normalised_rows"]

_SIGNED, _UNSIGNED = "i", "u"
_UINT64_BYTES = 8
"""uint64 is left out: its upper half does not fit the int64 that offsets are computed in."""


class LabelKind(Enum):
    """How labels name classes."""

    IDS = "one class id per row"
    COUNTS = "one integer per row and class: one-hot, multi-hot or counts"
    SOFT = "one floating-point weight per row and class"


def label_kind(t: Array, *, rows: int, classes: int) -> LabelKind:
    """The kind of labels ``t`` for ``rows`` x ``classes`` logits, from shape and dtype alone.

    Integers of shape (N,) or (N, 1) are ids; integers of shape (N, C) are counts; floating-point numbers
    must have shape (N, C). Where there is one class, integers of shape (N, 1) are both, and called ids:
    see ``checked_ids``. Raises ``TypeError`` for any other dtype, and
    for floating-point ids; ``ValueError`` for any other shape.
    """
    dtype, shape = np.dtype(t.dtype), t.shape
    if _is_integer(dtype):
        if shape in ((rows,), (rows, 1)):
            return LabelKind.IDS
        if shape == (rows, classes):
            return LabelKind.COUNTS
        raise ValueError(
            f"labels of shape {shape} fit no logits of shape {(rows, classes)}: "
            f"need ids ({rows},) or ({rows}, 1), or one integer per class {(rows, classes)}"
        )
    if _is_floating(dtype):
        if shape == (rows, classes):
            return LabelKind.SOFT
        if shape in ((rows,), (rows, 1)):
            raise TypeError(f"class ids must be integers, got {dtype.name} labels of shape {shape}")
        raise ValueError(f"soft labels of shape {shape} fit no logits of shape {(rows, classes)}")
    raise TypeError(
        f"labels of dtype {dtype.name} are neither int8..int64, uint8..uint32 nor floating-point"
    )


def checked_ids(t: Array, *, classes: int, ignore_index: int | None) -> tuple[Array, Array, Array]:
    """Ids that are safe to index with, (N,) int64; which rows count; and which have a bad label.

    A row whose id is ``ignore_index`` does not count. The second and third item are None where no row is
    ignored and none can be bad. On the host a bad label raises ``ValueError``. In a column (N, 1) for one
    class, which is ids and counts at once, id 0 and any count above 0 name that class.
    """
    xp = namespace(t)
    ids = t.reshape(t.shape[:1]).astype(np.int64, copy=False)
    kept = None if ignore_index is None else ids != ignore_index
    if classes == 1 and t.ndim == 2:
        ids = xp.where(ids > 0, 0, ids)
    # As unsigned numbers negative ids are huge, so one comparison sees both ends of the range.
    unsigned = ids.view(np.uint64)
    if not is_host(t):
        bad = unsigned >= classes
        return xp.where(bad, 0, ids), kept, bad
    if kept is None or kept.all():
        if ids.size and unsigned.max() >= classes:
            _raise_bad_id(ids, unsigned >= classes, classes, ignore_index)
        return ids, None, None
    bad = (unsigned >= classes) & kept
    if bad.any():
        _raise_bad_id(ids, bad, classes, ignore_index)
    return xp.where(kept, ids, 0), kept, None


def normalised_rows(t: Array, dtype: Any) -> Array:
    """Counts (N, C) divided by the sum of their row, in ``dtype``.

    On the host a negative count, and a row of zeros, raise ``ValueError``; on a device they make NaN.
    """
    xp = namespace(t)
    total = t.sum(axis=1, dtype=np.float64, keepdims=True)
    if is_host(t):
        _check_counts(t, total)
    elif t.dtype.kind == "i":
        total = xp.where(t.min(axis=1, keepdims=True) < 0, math.nan, total)
    rows: Array = t.astype(dtype, order="C")
    rows /= total.astype(dtype)
    return rows


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == _SIGNED or (dtype.kind == _UNSIGNED and dtype.itemsize < _UINT64_BYTES)


def _is_floating(dtype: np.dtype[Any]) -> bool:
    try:
        accumulation_dtype(dtype)
    except TypeError:
        return False
    return True


def _raise_bad_id(ids: Array, bad: Array, classes: int, ignore_index: int | None) -> None:
    row = int(bad.argmax())
    excuse = "" if ignore_index is None else f" and is not ignore_index {ignore_index}"
    more = int(bad.sum()) - 1
    others = f" ({more} more such rows)" if more else ""
    raise ValueError(f"label {ids[row]} in row {row} is outside [0, {classes}){excuse}{others}")


def _check_counts(t: Array, total: Array) -> None:
    if t.size and t.min() < 0:
        row, column = (int(i) for i in np.argwhere(t < 0)[0])
        raise ValueError(f"label count {t[row, column]} in row {row}, class {column} is below 0")
    if not total.all():
        row = int((total[:, 0] == 0).argmax())
        raise ValueError(
            f"labels in row {row} are all 0: the row names none of its {t.shape[1]} classes"
        )
