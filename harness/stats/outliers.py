"""How scattered a sample is, by measures that a few disturbed values cannot move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Spread", "spread"]

_NORMAL_SCALE = 1.4826
"""1 / (third quartile of the standard normal): makes the MAD of normal noise its standard deviation."""

_FENCE = 3.0
"""Tukey's outer fence, in interquartile ranges beyond the quartiles: one normal value in 400,000 lies out there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Scatter of a sample, in the sample's unit.

    ``deviation`` is the scaled median absolute deviation (a standard deviation that ignores outliers),
    ``iqr`` the range of the middle half, ``outliers`` the count beyond Tukey's outer fences, which bursts of
    other work on the machine produce and a property of the code rarely does.
    """

    median: float
    deviation: float
    iqr: float
    outliers: int

    @property
    def relative(self) -> float:
        """Deviation over median: 0.02 is a noise of 2 % per value; 0 when the median is 0."""
        return self.deviation / self.median if self.median else 0.0


def spread(values: Sequence[float]) -> Spread:
    """Measure the scatter of finite values; a constant or single value has none.

    Raises ``ValueError`` for no values or values that are not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size or not np.isfinite(array).all():
        raise ValueError("values: give at least one, all of them finite")
    median = float(np.median(array))
    lower, upper = (float(quartile) for quartile in np.quantile(array, [0.25, 0.75]))
    reach = _FENCE * (upper - lower)
    beyond = (array < lower - reach) | (array > upper + reach)
    return Spread(
        median=median,
        deviation=_NORMAL_SCALE * float(np.median(np.abs(array - median))),
        iqr=upper - lower,
        outliers=int(np.count_nonzero(beyond)),
    )
