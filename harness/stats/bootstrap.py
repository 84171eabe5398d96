"""Bootstrap intervals of medians and of their ratios, free of resampling loops.

A percentile bootstrap draws n values with replacement, takes their median, and repeats. With the sample
sorted, the k-th smallest of the n draws is the sample's entry at ``floor(n U)``, where U is the k-th smallest
of n uniform numbers and so Beta(k, n + 1 - k) distributed (David and Nagaraja, Order Statistics, 2003,
section 2.2). One or two Beta draws therefore replace n draws and a sort, with the same distribution: 4000
resampled medians cost a fraction of a millisecond whatever n is.

Values come in the order they were taken. Where neighbours resemble each other, n is as many independent values
as they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.model.measurement import Estimate
from harness.stats.correlation import effective_count

__all__ = [
    "attainable_confidence",
    "fewest_values",
    "median_interval",
    "pair_ratio_interval",
    "ratio_interval",
]

_RESAMPLES = 4000
"""The outer quantile of a 95 % interval then rests on 100 resamples, that of a 99 % interval on 20."""

_SIGN_TEST_VALUES = 100
"""From here on bootstrap and sign test agree to within a rank of a hundred."""

_Floats = npt.NDArray[np.float64]


def attainable_confidence(count: int) -> float:
    """The most confidence any interval of a median can have from ``count`` values: that of minimum to maximum.

    All values lie on one side of the true median with probability ``2**(1 - count)``, so 95 % needs 6 values.
    """
    return 1.0 - 2.0 ** (1 - count)


def fewest_values(confidence: float) -> int:
    """How many values it takes for any interval of a median to have this confidence: 8 for 99 %."""
    _require_confidence(confidence)
    return 1 + math.ceil(-math.log2(1.0 - confidence))


def median_interval(
    values: Sequence[float], *, confidence: float = 0.95, seed: int = 0, resamples: int = _RESAMPLES
) -> Estimate:
    """The median with its percentile bootstrap interval (Efron 1979), of values in the order they were taken.

    Of up to 100 values the interval is never narrower than the distribution-free one between two order
    statistics (sign test), which the bootstrap undercuts: of 7 values it covers 87 % where 95 % is asked.
    With too few values for ``confidence`` the interval is minimum to maximum and carries the confidence that
    has, 0 for a single value. Raises ``ValueError`` for no values or values that are not finite.
    """
    _require_confidence(confidence)
    series = _series(values, "values")
    ordered, value = series.ordered, float(np.median(series.ordered))
    attainable = attainable_confidence(ordered.size)
    if attainable < confidence:
        return _estimate(value, float(ordered[0]), float(ordered[-1]), attainable)
    medians = _resampled_medians(series, resamples, np.random.default_rng(seed))
    bootstrap = _quantile_estimate(value, medians, confidence)
    if ordered.size > _SIGN_TEST_VALUES:
        return bootstrap
    worth = math.floor(series.worth)
    rank = _sign_test_rank(worth, confidence) * ordered.size // worth
    low, high = min(bootstrap.low, ordered[rank]), max(bootstrap.high, ordered[-1 - rank])
    return _estimate(value, float(low), float(high), confidence)


def ratio_interval(
    numerator: Sequence[float],
    denominator: Sequence[float],
    *,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = _RESAMPLES,
) -> Estimate:
    """The ratio of the medians of two unpaired samples of positive values, resampled independently.

    With too few values on a side the interval is that of the extremes and carries the confidence both sides
    have together. Raises ``ValueError`` as ``median_interval`` does, and for values that are not positive.
    """
    _require_confidence(confidence)
    above, below = _positive(numerator, "numerator"), _positive(denominator, "denominator")
    value = float(np.median(above.ordered)) / float(np.median(below.ordered))
    sides = [attainable_confidence(side.ordered.size) for side in (above, below)]
    if min(sides) < confidence:
        low = float(above.ordered[0] / below.ordered[-1])
        high = float(above.ordered[-1] / below.ordered[0])
        return _estimate(value, low, high, min(confidence, sides[0] * sides[1]))
    rng = np.random.default_rng(seed)
    ratios = _resampled_medians(above, resamples, rng) / _resampled_medians(below, resamples, rng)
    return _quantile_estimate(value, ratios, confidence)


def pair_ratio_interval(
    numerator: Sequence[float],
    denominator: Sequence[float],
    *,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = _RESAMPLES,
) -> Estimate:
    """The median of the ratios of values taken in pairs, which cancels what slows both sides of a pair.

    Raises ``ValueError`` as ``ratio_interval`` does, and when the lengths differ.
    """
    if len(numerator) != len(denominator):
        raise ValueError(
            f"pairs need as many values on both sides: {len(numerator)} and {len(denominator)} given"
        )
    above, below = _positive(numerator, "numerator"), _positive(denominator, "denominator")
    ratios = (above.values / below.values).tolist()
    return median_interval(ratios, confidence=confidence, seed=seed, resamples=resamples)


@dataclass(frozen=True, slots=True)
class _Series:
    """Values as they were taken, sorted, and how many independent ones they are worth."""

    values: _Floats
    ordered: _Floats
    worth: float


def _resampled_medians(series: _Series, resamples: int, rng: np.random.Generator) -> _Floats:
    """Medians of resamples of a series, drawn through the order statistics of uniform numbers."""
    ordered, count = series.ordered, series.ordered.size
    if series.worth < count:
        shape = (series.worth + 1) / 2  # of the middle one of so many, which need not be whole
        return _entries_at(ordered, rng.beta(shape, shape, size=resamples))
    middle = (count + 1) // 2  # 1-based rank of the lower median
    lower = rng.beta(middle, count + 1 - middle, size=resamples)
    if count % 2:
        return _entries_at(ordered, lower)
    # given the k-th smallest, the next is the least of the n - k uniform numbers above it
    upper = lower + (1.0 - lower) * rng.beta(1, count - middle, size=resamples)
    return (_entries_at(ordered, lower) + _entries_at(ordered, upper)) / 2


def _sign_test_rank(count: int, confidence: float) -> int:
    """How many values may be cut off at each end for the rest to span the true median this surely."""
    tail = (1.0 - confidence) / 2 * 2.0**count
    rank, beyond = 0, 1  # the subsets of the values that could lie below the median: none of them
    while beyond + math.comb(count, rank + 1) <= tail:
        rank += 1
        beyond += math.comb(count, rank)
    return rank


def _entries_at(ordered: _Floats, position: _Floats) -> _Floats:
    index = np.minimum((position * ordered.size).astype(np.intp), ordered.size - 1)
    entries: _Floats = ordered[index]
    return entries


def _quantile_estimate(value: float, resampled: _Floats, confidence: float) -> Estimate:
    tail = (1.0 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1.0 - tail])
    return _estimate(value, float(low), float(high), confidence)


def _estimate(value: float, low: float, high: float, confidence: float) -> Estimate:
    """An interval always holds its point, even where a discrete sample's quantiles just miss it."""
    return Estimate(value=value, low=min(low, value), high=max(high, value), confidence=confidence)


def _series(values: Sequence[float], name: str) -> _Series:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name}: no values given, at least one is needed")
    finite = np.isfinite(array)
    if not finite.all():
        first = int(np.argmin(finite))
        raise ValueError(
            f"{name}: value {first + 1} of {array.size} is {array[first]}; give finite numbers"
        )
    return _Series(array, np.sort(array), effective_count(array))


def _positive(values: Sequence[float], name: str) -> _Series:
    series = _series(values, name)
    lowest = float(series.ordered[0])
    if lowest <= 0:
        raise ValueError(f"{name}: the lowest value is {lowest:g}; a ratio needs positive values")
    return series


def _require_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; give a number between 0 and 1, such as 0.95")
