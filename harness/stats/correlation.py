"""How much values taken one after the other are worth, when they resemble each other."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["effective_count"]

_FEWEST_TO_TELL = 30
"""The estimate's standard error is about 0.5 of the variance at 20 values, too coarse to act on."""

_FEWEST_WORTH = 8
"""Correlation widens an interval and does not forbid one: 8 values can still be 99 % sure."""


def effective_count(values: npt.NDArray[np.float64]) -> float:
    """How many independent values have a median as uncertain as that of this series, in the order it was taken.

    The variance of a median of a stationary series is that of independent values times ``1 + 2 sum(r_k)``, with
    ``r_k`` the autocorrelation at lag k of the signs of the deviations from the median (Gastwirth and Rubin,
    Annals of Statistics 3, 1975). Lags up to ``sqrt(n)`` count, with weights that fall linearly (Bartlett), so
    that the sum is never negative. Values that alternate are worth no more than independent ones, fewer than 30
    are taken as independent. Values of one memory layout, and of one mood of the machine, are found this way
    without having been marked.
    """
    count = values.size
    if count < _FEWEST_TO_TELL:
        return float(count)
    signs = np.sign(values - np.median(values))
    signs -= signs.mean()
    variance = float(signs @ signs)
    if variance == 0.0:
        return float(count)
    lags = math.isqrt(count)
    inflation = 1.0 + 2.0 * sum(
        (1.0 - lag / (lags + 1)) * float(signs[lag:] @ signs[:-lag]) / variance
        for lag in range(1, lags + 1)
    )
    return min(float(count), max(_FEWEST_WORTH, count / max(1.0, inflation)))
