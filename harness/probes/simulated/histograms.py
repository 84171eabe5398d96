"""Histograms over several axes, composed as CuPy composes them (cupy/_statistics/histogram.py:258-476)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated.array import DeviceArray
from harness.probes.simulated.functions import functions as xp

__all__ = ["FUNCTIONS"]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Any, list[Any]]:
    """Counts in boxes; the edges of every axis are found or checked on the host, and the largest box read.

    Per axis a number of bins without a range costs four reads, as in ``histogram``, and edges on the device
    one. Then two reads per axis move what lies on the last edge, and two belong to ``bincount``.
    """
    sample = sample if isinstance(sample, DeviceArray) else xp.stack(sample, axis=-1)
    sample = sample[:, None] if sample.ndim == 1 else sample
    axes = sample.shape[1]
    weights = weights if weights is None else xp.asarray(weights)
    per_axis = [bins] * axes if _length(bins) is None else list(bins)
    ranges = [None] * axes if range is None else range
    if len(per_axis) != axes:
        raise ValueError(f"bins has {len(per_axis)} entries for {axes} axes")
    if len(ranges) != axes:
        raise ValueError(f"range has {len(ranges)} entries for {axes} axes")
    columns = [sample[:, axis] for axis in np.arange(axes)]
    edges = [
        _edges(column, wanted, limits)
        for column, wanted, limits in zip(columns, per_axis, ranges, strict=True)
    ]
    counts = _counted(columns, edges, weights)
    return (_density(counts, edges) if density else counts), edges


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, Any, Any]:
    """``histogramdd`` of two rows of samples; returns the edges of each."""
    if _length(bins) not in (None, 1, 2):
        if not isinstance(bins, DeviceArray):
            raise ValueError("bins is a number, two of them, or device arrays of edges")
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, weights, bool(density))
    return counts, edges[0], edges[1]


def _length(bins: Any) -> int | None:
    try:
        return len(bins)
    except TypeError:
        return None


def _edges(column: Any, bins: Any, limits: Any) -> Any:
    if isinstance(bins, DeviceArray) and bins.ndim == 1:
        if (bins[:-1] > bins[1:]).any():
            raise ValueError("edges must not fall")
        return bins
    if np.ndim(bins) != 0:
        raise ValueError("bins of an axis is a number or a 1-D device array of edges")
    if bins < 1:
        raise ValueError(f"an axis needs at least one bin, not {bins}")
    low, high = _outer_edges(column, limits)
    return xp.linspace(low, high, operator.index(int(bins + 1)))


def _outer_edges(column: Any, limits: Any) -> tuple[Any, Any]:
    if limits is not None:
        low, high = limits
        if low > high:
            raise ValueError("a range must not fall")
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"a range of [{low}, {high}] is not finite")
    elif column.size == 0:
        low, high = 0, 1
    else:
        low, high = column.min(), column.max()
        if not (xp.isfinite(low) and xp.isfinite(high)):
            raise ValueError("the values are not all finite, so there is no range")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _counted(columns: list[Any], edges: list[Any], weights: Any) -> Any:
    """Samples per box: outliers get a box at either end of their axis, which is left out at last."""
    boxes = tuple(len(edge) + 1 for edge in edges)
    places = [
        xp.searchsorted(edge, column, side="right")
        for edge, column in zip(edges, columns, strict=True)
    ]
    for place, edge, column in zip(places, edges, columns, strict=True):
        place[column == edge[-1]] -= 1
    flat = xp.ravel_multi_index(places, boxes)
    counts = xp.bincount(flat, weights, minlength=math.prod(boxes)).reshape(boxes).astype(float)
    return counts[(slice(1, -1),) * len(boxes)]


def _density(counts: Any, edges: list[Any]) -> Any:
    total = counts.sum()
    for axis, edge in enumerate(edges):
        widths = xp.diff(edge)
        counts = counts / widths.reshape(
            [-1 if axis == other else 1 for other in np.arange(len(edges))]
        )
    counts /= total
    return counts


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "histogram2d": histogram2d,
    "histogramdd": histogramdd,
}
"""By name; they take and return device arrays."""
