"""Percentile bootstrap intervals of medians, in closed form.

A percentile bootstrap draws n values with replacement, takes their median, and repeats. With the sample
sorted, the k-th smallest of the n draws is the sample's entry at ``floor(n U)``, where U is the k-th smallest
of n uniform numbers and so Beta(k, n + 1 - k) distributed (David and Nagaraja, Order Statistics, 2003,
section 2.2). The quantiles of the resampled medians are therefore the sample's quantiles at those of a Beta law,
as endlessly many resamples would give them, and nothing needs drawing.

Values come in the order they were taken. Where neighbours resemble each other, n is as many independent values
as they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from harness.model.measurement import Estimate
from harness.stats.correlation import effective_count
from harness.stats.distributions import beta_quantile
from harness.stats.signed_rank import attainable_confidence

__all__ = [
    "attainable_confidence",
    "fewest_values",
    "finite",
    "median_interval",
    "median_places",
    "require_confidence",
]

_SIGN_TEST_VALUES = 100
"""From here on bootstrap and sign test agree to within a rank of a hundred."""

_Floats = npt.NDArray[np.float64]


def fewest_values(confidence: float) -> int:
    """How many values it takes for any interval of a median to have this confidence: 8 for 99 %."""
    require_confidence(confidence)
    return 1 + math.ceil(-math.log2(1.0 - confidence))


@lru_cache(maxsize=4096)
def median_places(worth: int, confidence: float) -> tuple[float, float]:
    """At which probabilities of a sample worth so many independent values the interval of its median ends.

    Those of the percentile bootstrap, and up to 100 values never inside those of the sign test. Asks for at
    least ``fewest_values(confidence)`` values, and gives 0 and 1 for fewer.
    """
    shape = (worth + 1) / 2
    low = beta_quantile((1.0 - confidence) / 2, shape, shape)
    if worth <= _SIGN_TEST_VALUES:
        low = min(low, (_sign_test_rank(worth, confidence) + 0.5) / worth)
    if attainable_confidence(worth) < confidence:
        low = 0.0
    return low, 1.0 - low


def median_interval(values: Sequence[float], *, confidence: float = 0.95) -> Estimate:
    """The median with its percentile bootstrap interval (Efron 1979), of values in the order they were taken.

    Of up to 100 values the interval is never narrower than the distribution-free one between two order
    statistics (sign test), which the bootstrap undercuts: of 7 values it covers 87 % where 95 % is asked.
    With too few values for ``confidence`` the interval is minimum to maximum and carries the confidence that
    has, 0 for a single value. Raises ``ValueError`` for no values or values that are not finite.
    """
    require_confidence(confidence)
    array = finite(values, "values")
    low, high = median_places(math.floor(effective_count(array)), confidence)
    ends = np.quantile(array, [low, 0.5, high], method="hazen")
    return Estimate(
        value=float(ends[1]),
        low=float(ends[0]),
        high=float(ends[2]),
        confidence=min(confidence, attainable_confidence(array.size)),
    )


def _sign_test_rank(count: int, confidence: float) -> int:
    """How many values may be cut off at each end for the rest to span the true median this surely."""
    tail = (1.0 - confidence) / 2 * 2.0**count
    rank, beyond = 0, 1  # the subsets of the values that could lie below the median: none of them
    while beyond + math.comb(count, rank + 1) <= tail:
        rank += 1
        beyond += math.comb(count, rank)
    return rank


def finite(values: Sequence[float], name: str) -> _Floats:
    """The values as an array; raises ``ValueError`` for none, or for one that is not finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name}: no values given, at least one is needed")
    sound = np.isfinite(array)
    if not sound.all():
        first = int(np.argmin(sound))
        raise ValueError(
            f"{name}: value {first + 1} of {array.size} is {array[first]}; give finite numbers"
        )
    return array


def require_confidence(confidence: float) -> None:
    """Raise ``ValueError`` for what is no probability strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; give a number between 0 and 1, such as 0.95")
