"""The target distribution a loss is measured against, in the two forms it comes in.

A target holds T (N, C), the weight of each class in each row, with label smoothing and class weights
already in it. The loss of row i is sum_c T[i,c] * -log p[i,c], its gradient mass[i] * p[i] - T[i].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from reference_impl.backend import Array, namespace
from reference_impl.ops.labels import LabelKind, checked_ids, label_kind, normalised_rows

__all__ = ["ClassTargets", "DenseTargets", "Targets", "read_targets"]


class Targets(Protocol):
    """What a loss needs of its target."""

    @property
    def mass(self) -> Array | float:
        """The sum of T over the classes: (N,), or one number for all rows."""
        ...

    @property
    def kept(self) -> Array | None:
        """Which rows count, (N,) bool; None when all do."""
        ...

    @property
    def count(self) -> Array | int:
        """What the sum of losses is divided by for their mean."""
        ...

    def dot(self, z: Array) -> Array:
        """sum_c T[i,c] * z[i,c] for C-ordered z, (N,); a class of weight 0 adds nothing, not even NaN."""
        ...

    def subtract_from(self, dx: Array, scale: Array | float) -> None:
        """Subtract ``T * scale`` from C-ordered dx in place; ``scale`` is (N,), 0-d or a number."""
        ...


@dataclass(frozen=True, slots=True)
class ClassTargets:
    """``hit`` on one class of each row, plus ``floor`` on every class.

    ``position`` (N,) int64 is the offset of that class in a C-ordered (N, C) array. ``hit`` is (N,) or one
    number; ``floor`` is (C,), or one number for all classes. N * C may exceed 2**31.
    """

    position: Array
    hit: Array | float
    floor: Array | float
    mass: Array | float
    kept: Array | None
    count: Array | int

    def dot(self, z: Array) -> Array:
        """See ``Targets.dot``: a gather, and a pass over z only where there is a floor."""
        chosen = _weigh(self.hit, z.reshape(-1).take(self.position))
        if isinstance(self.floor, float):
            return chosen + self.floor * z.sum(axis=1) if self.floor else chosen
        return chosen + _weigh(self.floor, z).sum(axis=1)

    def subtract_from(self, dx: Array, scale: Array | float) -> None:
        """See ``Targets.subtract_from``: one scatter, and a pass over dx only where there is a floor."""
        if not isinstance(self.floor, float) or self.floor:
            dx -= self.floor * _column(scale)
        flat = dx.reshape(-1)
        flat[self.position] -= self.hit * scale


@dataclass(frozen=True, slots=True)
class DenseTargets:
    """T written out, (N, C)."""

    weights: Array
    mass: Array | float
    count: int
    kept: None = None

    def dot(self, z: Array) -> Array:
        """See ``Targets.dot``: three passes."""
        return _weigh(self.weights, z).sum(axis=1)

    def subtract_from(self, dx: Array, scale: Array | float) -> None:
        """See ``Targets.subtract_from``: two passes."""
        dx -= self.weights * _column(scale)


def read_targets(
    t: Array,
    *,
    shape: tuple[int, int],
    dtype: Any,
    ignore_index: int | None,
    label_smoothing: float,
    weight: Array | None,
) -> Targets:
    """The target that labels ``t`` describe for logits of ``shape``, to be used in ``dtype``.

    Smoothing moves ``label_smoothing`` of each row's weight evenly onto all classes; then each class is
    multiplied by its ``weight``. The mean over class ids divides by the sum of the weights of the labels
    that count, any other mean by N. These are PyTorch's definitions.
    """
    rows, classes = shape
    kind = label_kind(t, rows=rows, classes=classes)
    if weight is not None:
        weight = weight.astype(dtype, copy=False)
    if kind is LabelKind.IDS:
        return _class_targets(
            t,
            shape=shape,
            dtype=dtype,
            ignore_index=ignore_index,
            smoothing=label_smoothing,
            weight=weight,
        )
    if ignore_index is not None:
        raise ValueError(f"ignore_index needs class ids, but labels have shape {t.shape}")
    if kind is LabelKind.COUNTS:
        weights = normalised_rows(t, dtype)
    else:
        weights = t.astype(dtype, order="C", copy=False)
    if label_smoothing:
        weights = weights * (1.0 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        weights = weights * weight
    is_distribution = kind is LabelKind.COUNTS and weight is None
    return DenseTargets(weights, 1.0 if is_distribution else weights.sum(axis=1), rows)


def _class_targets(
    t: Array,
    *,
    shape: tuple[int, int],
    dtype: Any,
    ignore_index: int | None,
    smoothing: float,
    weight: Array | None,
) -> ClassTargets:
    xp = namespace(t)
    rows, classes = shape
    ids, kept, bad = checked_ids(t, classes=classes, ignore_index=ignore_index)
    position = xp.arange(0, rows * classes, classes, dtype=np.int64)
    position += ids
    hit: Array | float = 1.0 - smoothing
    floor: Array | float = smoothing / classes
    mass: Array | float = 1.0
    count: Array | int = rows
    if weight is None:
        if kept is not None:
            count = kept.sum()
    else:
        of_label = weight.take(ids)
        counted = of_label if kept is None else xp.where(kept, of_label, 0)
        count = counted.sum(dtype=np.float64)
        hit = hit * of_label
        mass = hit
        if smoothing:
            floor = floor * weight
            mass = hit + floor.sum()
    if bad is not None:
        # The mass multiplies the whole row, of the loss and of the gradient.
        mass = xp.where(bad, math.nan, mass).astype(dtype, copy=False)
    return ClassTargets(position, hit, floor, mass, kept, count)


def _weigh(weight: Array | float, values: Array) -> Array:
    xp = namespace(values)
    # 0 * -inf is NaN, but a class of no weight must not decide the loss.
    if isinstance(weight, float):
        if weight == 1.0:
            return values
        return weight * values if weight else xp.full(values.shape, 0.0, dtype=values.dtype)
    return xp.where(weight == 0, 0, weight * values)


def _column(scale: Array | float) -> Array | float:
    if isinstance(scale, float) or not scale.ndim:
        return scale
    return scale.reshape((scale.shape[0], 1))
