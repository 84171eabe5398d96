"""What is kept of a sample, and the comparison of two such records from different sessions.

A ``Speed`` holds the quantile function of a sample and how many independent values it is worth. That is all the
bootstrap of a median asks for: the median of n values drawn with replacement is the quantile at a Beta((n + 1)/2,
(n + 1)/2) distributed place, so the ends of the percentile interval are the quantiles at that law's own quantiles,
found without drawing anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.model.measurement import SPEED_PROBABILITIES, Estimate, Sample, Speed
from harness.stats.bootstrap import attainable_confidence, median_places
from harness.stats.change import (
    BETWEEN_RUNS_RAW,
    BETWEEN_RUNS_WITH_PEER,
    Change,
    Evidence,
    conclude,
    not_comparable,
)
from harness.stats.correlation import averages_out, effective_count

__all__ = ["compare_speeds", "speed_of"]

_BETWEEN_RUNS_CONFIDENCE = 0.99
"""On a machine with twice as many busy processes as cores, where one run's interval spans a factor of two and no
margin helps, 1225 comparisons of 50 runs of the same code at a margin of 5 % called 26 regressed at 95 %
confidence, which is what 95 % means, and 1 at 99 %."""


def speed_of(sample: Sample, *, commit: str | None = None, created: str = "") -> Speed:
    """Reduce a sample to its quantiles and its worth in independent values.

    Timings that are not positive and finite are kept as they are and make every comparison "not comparable"; an
    empty sample has no quantiles. Raises ``ValueError`` where the peer was not timed as often as the call.
    """
    call = np.asarray(sample.call_ns, dtype=np.float64)
    peer = np.asarray(sample.peer_ns, dtype=np.float64)
    if peer.size and peer.size != call.size:
        raise ValueError(f"{call.size} values with {peer.size} of the peer")
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = call / peer if peer.size else peer
    return Speed(
        timer=sample.timer,
        rounds=call.size,
        calls_per_value=sample.calls_per_value,
        seed=sample.seed,
        call_ns=_quantiles(call),
        worth=_worth(call),
        relative=_quantiles(relative),
        relative_worth=_worth(relative),
        commit=commit,
        created=created,
    )


def compare_speeds(
    now: Speed,
    then: Speed,
    *,
    margin: float,
    confidence: float = _BETWEEN_RUNS_CONFIDENCE,
    between_runs: float | None = None,
) -> Change:
    """Compare the speeds of two sessions: by ratio of ratios where both have a peer, else by plain times (``raw``).

    The interval joins those of the two medians on the log scale (Zou and Donner, Statistics in Medicine 27, 2008)
    and ``between_runs``, the standard deviation of the log ratio of unchanged code from run to run (default: the
    measured constants of ``harness.stats.change``). Speeds of different timers, or with unusable values, are not
    comparable. Deterministic. Costs some 20 us, and a millisecond for each number of rounds seen for the first time.
    """
    if now.timer != then.timer:
        return not_comparable(
            margin, f"timed by {now.timer} now and by {then.timer} in the baseline"
        )
    raw = not (now.relative and then.relative)
    if between_runs is None:
        between_runs = BETWEEN_RUNS_RAW if raw else BETWEEN_RUNS_WITH_PEER
    try:
        sides = _side(now, "now", raw=raw), _side(then, "in the baseline", raw=raw)
    except ValueError as error:
        return not_comparable(margin, f"timings cannot be used: {error}")
    evidence = Evidence(
        within_runs=_ratio(*sides, confidence),
        between_runs=between_runs,
        narrows=all(averages_out(side.rounds, side.rounds / side.worth) for side in sides),
        raw=raw,
        constant=any(side.constant for side in sides),
    )
    return conclude(evidence, margin=margin, confidence=confidence)


@dataclass(frozen=True, slots=True)
class _Side:
    """A quantile function and how many values, independent ones too, it was found from."""

    quantiles: tuple[float, ...]
    rounds: int
    worth: int

    @property
    def constant(self) -> bool:
        """Whether several values are all the same, which no clock finer than the noise gives."""
        return self.rounds > 1 and self.quantiles[0] == self.quantiles[-1]

    def at(self, place: float) -> float:
        """The quantile at a probability, linear between those that were kept."""
        return float(np.interp(place, SPEED_PROBABILITIES, self.quantiles))

    def median(self, confidence: float) -> tuple[float, float, float]:
        """Median and the ends of its interval."""
        if attainable_confidence(self.rounds) < confidence:
            return self.quantiles[0], self.at(0.5), self.quantiles[-1]
        low, high = median_places(self.worth, confidence)
        return self.at(low), self.at(0.5), self.at(high)


def _side(speed: Speed, when: str, *, raw: bool) -> _Side:
    quantiles = speed.call_ns if raw else speed.relative
    worth = speed.worth if raw else speed.relative_worth
    if speed.rounds < 1 or len(quantiles) != len(SPEED_PROBABILITIES):
        raise ValueError(f"none were kept {when}")
    for value in quantiles:
        if not 0.0 < value < math.inf:
            raise ValueError(f"a value is {value:g} {when}, times are positive and finite")
    if not 1.0 <= worth <= speed.rounds:
        raise ValueError(f"{speed.rounds} rounds are said to be worth {worth:g} {when}")
    return _Side(quantiles, speed.rounds, math.floor(worth))


def _ratio(now: _Side, then: _Side, confidence: float) -> Estimate:
    above, below = now.median(confidence), then.median(confidence)
    value = above[1] / below[1]
    attained = [attainable_confidence(side.rounds) for side in (now, then)]
    if min(attained) < confidence:  # the extremes, with the confidence both sides have together
        low, high = above[0] / below[2], above[2] / below[0]
        return Estimate(
            value=value, low=low, high=high, confidence=min(confidence, math.prod(attained))
        )
    down = math.hypot(math.log(above[1] / above[0]), math.log(below[2] / below[1]))
    up = math.hypot(math.log(above[2] / above[1]), math.log(below[1] / below[0]))
    return Estimate(
        value=value,
        low=value * math.exp(-down),
        high=value * math.exp(up),
        confidence=confidence,
    )


def _quantiles(values: npt.NDArray[np.float64]) -> tuple[float, ...]:
    """At ``SPEED_PROBABILITIES``, the k-th of n values standing at ``(k - 1/2) / n`` as it does in the bootstrap."""
    if not values.size:
        return ()
    if not np.isfinite(values).all():
        return (math.nan,) * len(SPEED_PROBABILITIES)
    return tuple(np.quantile(values, SPEED_PROBABILITIES, method="hazen").tolist())


def _worth(values: npt.NDArray[np.float64]) -> float:
    return effective_count(values) if np.isfinite(values).all() else float(values.size)
