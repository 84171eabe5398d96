"""Where a series of medians over commits changed its level: for trends, not for the gate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from harness.stats.distributions import student_cdf

__all__ = ["ChangePoint", "change_points"]

_FEWEST_AT_A_LEVEL = 3
"""One or two values apart are a disturbed run, not a level."""

_WILD = 3.0
"""Values count as at most three standard deviations from the middle of their segment: a single one then can never
make a change of its own, and a step keeps its place."""

_ROUNDING = 1e-12
_LEAST_TAIL = 1e-300
"""Where values at two levels have no noise left, or a tail no number: as clear as can be."""

_NORMAL_SCALE = 1.4826
"""1 / (third quartile of the standard normal): makes the MAD of normal noise its standard deviation."""

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """A change of level: ``index`` is the first value after it.

    ``before`` and ``after`` are the medians of the stretches up to the neighbouring changes, ``p`` the chance of
    so clear a change anywhere in the two stretches if there were none.
    """

    index: int
    before: float
    after: float
    p: float


def change_points(values: Sequence[float], *, p: float = 0.001) -> tuple[ChangePoint, ...]:
    """Find the changes of level in a series, in its order.

    Binary segmentation: each stretch is split where a two-sample t-test of its clipped values is clearest, as long as
    the chance of that, maximised over all places, is under ``p`` (Miller and Siegmund, Biometrics 38, 1982). Then
    every change is tested again between its neighbours. In noise, whatever its law, a series has a change with
    probability ``p`` at most; in a drift, changes stand for it. At least 3 values make a level. Costs ``n`` times the
    number of changes: 2 ms for 10,000 values without one. Raises ``ValueError`` for values that are not finite, and
    for a ``p`` that is no probability.
    """
    if not 0 < p < 1:
        raise ValueError(f"p is {p}; give a number between 0 and 1, such as 0.001")
    series = np.asarray(values, dtype=np.float64)
    if not np.isfinite(series).all():
        raise ValueError(f"value {int(np.argmin(np.isfinite(series))) + 1} is not a finite number")
    splits = _segmented(series, p)
    while True:
        tested = _between_neighbours(series, splits)
        if all(p_value <= p for p_value in tested):
            break
        del splits[int(np.argmax(tested))]
    levels = [float(np.median(level)) for level in np.split(series, splits) if level.size]
    return tuple(
        ChangePoint(index=index, before=before, after=after, p=p_value)
        for index, (before, after), p_value in zip(
            splits, itertools.pairwise(levels), tested, strict=True
        )
    )


@dataclass(frozen=True, slots=True)
class _Split:
    """The clearest split of a stretch: the first index after it, and how likely chance makes one so clear."""

    index: int
    p: float


def _segmented(series: _Floats, p: float) -> list[int]:
    """Split, and the parts again, while a split is clear."""
    found, stretches = [], [(0, series.size)]
    while stretches:
        low, high = stretches.pop()
        split = _clearest_split(series[low:high])
        if split.p <= p:
            middle = low + split.index
            found.append(middle)
            stretches += [(low, middle), (middle, high)]
    return sorted(found)


def _between_neighbours(series: _Floats, splits: list[int]) -> list[float]:
    """Move each split to its clearest place between its neighbours; returns how likely chance makes them."""
    p_values = []
    for position in range(len(splits)):
        low = splits[position - 1] if position else 0
        high = splits[position + 1] if position + 1 < len(splits) else series.size
        split = _clearest_split(series[low:high])
        p_values.append(split.p)
        splits[position] = low + split.index
    return p_values


def _clearest_split(stretch: _Floats) -> _Split:
    """Where the two-sample t-statistic is largest, with its p-value: 1 in a short or constant stretch."""
    count = stretch.size
    nowhere = _Split(count // 2, 1.0)
    if count < 2 * _FEWEST_AT_A_LEVEL:
        return nowhere
    clipped = _clipped(stretch)
    deviations = clipped - clipped.mean()
    total = float(deviations @ deviations)
    if total <= 0.0:
        return nowhere
    places = np.arange(_FEWEST_AT_A_LEVEL, count - _FEWEST_AT_A_LEVEL + 1)
    sums = np.cumsum(deviations)[places - 1]
    between = sums**2 * count / (places * (count - places))
    best = int(np.argmax(between))
    explained = float(between[best])
    rest = max(total - explained, _ROUNDING * total)
    return _Split(int(places[best]), _p_anywhere(math.sqrt(explained * (count - 2) / rest), count))


def _p_anywhere(statistic: float, count: int) -> float:
    """The chance that the largest of the t-statistics at all places is so large in a stretch without a change."""
    tail = max(student_cdf(-statistic, count - 2), _LEAST_TAIL)
    z = -NormalDist().inv_cdf(tail)
    if z <= 1.0:
        return 1.0
    reach = 2.0 * math.log((count - _FEWEST_AT_A_LEVEL) / _FEWEST_AT_A_LEVEL)
    return min(1.0, NormalDist().pdf(z) * ((z - 1.0 / z) * reach + 4.0 / z))


def _clipped(stretch: _Floats) -> _Floats:
    """The stretch with wild values drawn in; the noise is read from neighbours, which a step hardly changes."""
    noise = _NORMAL_SCALE * float(np.median(np.abs(np.diff(stretch)))) / math.sqrt(2.0)
    reach = _WILD * (noise or float(stretch.std()))
    middle = float(np.median(stretch))
    drawn_in: _Floats = np.clip(stretch, middle - reach, middle + reach)
    return drawn_in
