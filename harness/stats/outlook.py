"""Whether timing longer would decide, and how much longer; where it would not, nobody should be told to."""

from __future__ import annotations

import math
from statistics import NormalDist

from harness.model.measurement import Estimate

__all__ = ["PRACTICAL", "time_factor", "widened"]

PRACTICAL = 10.0
"""Up to ten times as long is advice one can follow; beyond, the machine is what to change."""


def widened(ratio: Estimate, between_runs: float) -> Estimate:
    """Join the uncertainty within and between runs, independent of each other, on the log scale.

    ``between_runs`` is a standard deviation of the log ratio.
    """
    beyond = _reach(ratio.confidence, between_runs)
    down = math.hypot(math.log(ratio.value / ratio.low), beyond)
    up = math.hypot(math.log(ratio.high / ratio.value), beyond)
    return Estimate(
        value=ratio.value,
        low=ratio.value * math.exp(-down),
        high=ratio.value * math.exp(up),
        confidence=ratio.confidence,
    )


def time_factor(within_runs: Estimate, between_runs: float, *bounds: float) -> float:
    """How many times as long both sides must be timed for the widened interval to clear every bound, most likely.

    Taken from how the part within runs shrinks with the square root of the number of values; the part between
    runs stays. 1 where it clears them already, infinite where the estimate lies too near a bound to ever do. An
    estimate known no better than the margin is taken to be 1.
    """
    return max((_to_clear(within_runs, between_runs, bound) for bound in bounds), default=1.0)


def _to_clear(within_runs: Estimate, between_runs: float, bound: float) -> float:
    beyond = _reach(within_runs.confidence, between_runs)
    distance = abs(math.log(bound / within_runs.value))
    edge = within_runs.high if bound > within_runs.value else within_runs.low
    width = abs(math.log(edge / within_runs.value))
    if math.hypot(width, beyond) <= distance:
        return 1.0
    margin = abs(math.log(bound))
    if (
        width > margin
    ):  # the estimate may be anywhere; ask what would clear the bound from a ratio of 1
        distance = max(distance, margin)
    if distance <= beyond:
        return math.inf
    spare = 1.0 + 1.0 / _reach(
        within_runs.confidence, 1.0
    )  # the next estimate is another: one standard error
    return (spare * width) ** 2 / (distance**2 - beyond**2)


def _reach(confidence: float, between_runs: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2) * between_runs
