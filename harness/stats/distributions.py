"""The few distributions the statistics need, in a page of plain Python: beta, binomial, Student, normal."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

__all__ = ["beta_cdf", "beta_quantile", "student_cdf", "student_quantile"]

_FRACTION_STEPS = 500
"""The continued fraction needs about ``sqrt(max(a, b))`` terms: enough for a hundred thousand values."""

_CLOSE = 1e-14
_TINY = 1e-300
_NARROW = 1e-12


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function ``I_x(a, b)`` for positive ``a`` and ``b``, to 12 digits.

    By its continued fraction, evaluated from the front (Lentz), on the side where it converges fast.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_cdf(1.0 - x, b, a)
    log_front = a * math.log(x) + b * math.log1p(-x) - _log_beta(a, b)
    return math.exp(log_front) * _continued_fraction(x, a, b) / a


@lru_cache(maxsize=4096)
def beta_quantile(probability: float, a: float, b: float) -> float:
    """Where ``beta_cdf`` reaches a probability strictly between 0 and 1: by bisection, and remembered."""
    low, high = 0.0, 1.0
    while high - low > _NARROW * high:
        middle = (low + high) / 2.0
        if beta_cdf(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def student_cdf(t: float, freedom: float) -> float:
    """Student's distribution function for positive, not necessarily whole degrees of freedom."""
    tail = beta_cdf(freedom / (freedom + t * t), freedom / 2.0, 0.5) / 2.0
    return 1.0 - tail if t > 0.0 else tail


def student_quantile(probability: float, freedom: float) -> float:
    """Where ``student_cdf`` reaches a probability strictly between 0 and 1."""
    if freedom == math.inf:
        return NormalDist().inv_cdf(probability)
    both_tails = 2.0 * min(probability, 1.0 - probability)
    x = beta_quantile(both_tails, freedom / 2.0, 0.5)
    return math.copysign(math.sqrt(freedom * (1.0 - x) / x), probability - 0.5)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _continued_fraction(x: float, a: float, b: float) -> float:
    upper, lower = 1.0, 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1.0))
    value, step = lower, 0
    while step < _FRACTION_STEPS and (step == 0 or abs(upper * lower - 1.0) >= _CLOSE):
        step += 1
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            upper = _nonzero(1.0 + term / upper)
            lower = 1.0 / _nonzero(1.0 + term * lower)
            value *= upper * lower
    return value


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
