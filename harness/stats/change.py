"""Slower, faster, unchanged, or not known: the decision between two samples, in words.

A ratio is candidate time over baseline time, so above 1 is slower. Two thresholds decide: how big a change
matters (the margin) and how sure one must be (the confidence of the interval). Never the estimate alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from harness.model.measurement import Estimate, Sample
from harness.stats.bootstrap import pair_ratio_interval, ratio_interval
from harness.stats.outlook import PRACTICAL, narrows, time_factor, widened
from harness.units import count_text, percent_text, ratio_text

__all__ = [
    "BETWEEN_RUNS_RAW",
    "BETWEEN_RUNS_WITH_PEER",
    "Change",
    "Decision",
    "compare_pairs",
    "compare_samples",
    "decide",
    "remedy",
]

BETWEEN_RUNS_WITH_PEER = 0.0058
"""Standard deviation of the log ratio of unchanged code between two runs when each is divided by a frozen copy
timed in the same rounds: 60 runs of a softmax cross-entropy on two shared cores. A run's own values cannot
show it, since every buffer of a process has one placement."""

BETWEEN_RUNS_RAW = 0.046
"""The same without a peer: the machine's own mood from run to run, eight times as much."""

_BETWEEN_RUNS_CONFIDENCE = 0.99
"""On a machine with twice as many busy processes as cores, where one run's interval spans a factor of two and no
margin helps, 1225 comparisons of 50 runs of the same code at a margin of 5 % called 26 regressed at 95 %
confidence, which is what 95 % means, and 1 at 99 %."""


_QUIET = "pin the process to one core (taskset -c) and stop other work on the machine"


class Decision(Enum):
    """What can be said about the speed of one case."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A decision with what it rests on.

    ``ratio`` is candidate time over baseline time, ``None`` when not comparable. ``raw`` marks a comparison of
    plain times from two runs, where slow code and a slow machine look alike: show it, but do not fail on it
    unless asked to. ``reason`` is one sentence. ``within_runs`` is the ratio before it was widened by
    ``between_runs``; ``narrows`` says whether more values would narrow it.
    """

    decision: Decision
    ratio: Estimate | None
    margin: float
    raw: bool
    reason: str
    within_runs: Estimate | None = None
    between_runs: float = 0.0
    narrows: bool = True


def decide(ratio: Estimate, margin: float, *, confidence: float = 0.95) -> Decision:
    """Decide from where the whole interval lies.

    Beyond ``1 + margin``: regressed; below ``1 / (1 + margin)``, the same change undone: improved; between
    them: unchanged; across one of them, or of less confidence than asked: inconclusive. Raises ``ValueError``
    when the margin is negative or not finite.
    """
    if not 0 <= margin < math.inf:
        raise ValueError(f"margin is {margin}; give a fraction of at least 0, such as 0.02")
    upper = 1.0 + margin
    if ratio.confidence < confidence:
        return Decision.INCONCLUSIVE
    if ratio.low > upper:
        return Decision.REGRESSED
    if ratio.high < 1.0 / upper:
        return Decision.IMPROVED
    if 1.0 / upper <= ratio.low and ratio.high <= upper:
        return Decision.UNCHANGED
    return Decision.INCONCLUSIVE


def compare_pairs(
    candidate_ns: Sequence[float],
    baseline_ns: Sequence[float],
    *,
    margin: float,
    confidence: float = 0.95,
    seed: int = 0,
) -> Change:
    """Compare two implementations timed in the same rounds, pair by pair: the strongest comparison.

    Raises ``ValueError`` for values that are not positive and finite, and for lengths that differ.
    """
    ratio = pair_ratio_interval(candidate_ns, baseline_ns, confidence=confidence, seed=seed)
    ratios = [call / base for call, base in zip(candidate_ns, baseline_ns, strict=True)]
    return _change(_Evidence(ratio, 0.0, narrows(ratios), raw=False), margin, confidence)


def remedy(change: Change, *bounds: float) -> str:
    """What would let the interval clear these bounds; timing longer only where that is to be expected.

    Raises ``ValueError`` where nothing was compared.
    """
    if change.within_runs is None:
        raise ValueError(f"nothing was compared: {change.reason}")
    factor = time_factor(change.within_runs, change.between_runs, *bounds)
    if change.narrows and factor <= PRACTICAL:
        sides = ", then and now" if change.between_runs else ""
        return f"time {count_text(max(2, math.ceil(factor)), 'time')} as long{sides}"
    if change.narrows and factor == math.inf:
        apart = (
            f", and unchanged code differs by {percent_text(change.between_runs)} from run to run"
        )
        return f"the ratio lies near the margin{apart if change.between_runs else ''}: widen the margin"
    why = "scatter too much" if change.narrows else "do not average out"
    return f"the values {why} for more time to help: {_QUIET}"


def compare_samples(
    candidate: Sample,
    baseline: Sample,
    *,
    margin: float,
    confidence: float = _BETWEEN_RUNS_CONFIDENCE,
    between_runs: float | None = None,
    seed: int = 0,
) -> Change:
    """Compare two samples taken at different times.

    Where both have a peer, each value is first divided by its peer's of the same round, so that what slowed
    the machine cancels; else plain times are compared and the change is ``raw``. The interval is widened by
    ``between_runs``, the standard deviation of the log ratio from run to run (default: the measured constants
    of this module). Samples of different timers, or with unusable values, are not comparable.
    """
    if candidate.timer != baseline.timer:
        reason = f"timed by {candidate.timer} now and by {baseline.timer} in the baseline"
        return _not_comparable(margin, reason)
    raw = not (candidate.peer_ns and baseline.peer_ns)
    if between_runs is None:
        between_runs = BETWEEN_RUNS_RAW if raw else BETWEEN_RUNS_WITH_PEER
    try:
        sides = _relative_times(candidate, raw=raw), _relative_times(baseline, raw=raw)
        within_runs = ratio_interval(*sides, confidence=confidence, seed=seed)
    except ValueError as error:
        return _not_comparable(margin, f"a sample cannot be used: {error}")
    evidence = _Evidence(within_runs, between_runs, narrows(*sides), raw=raw)
    return _change(evidence, margin, confidence)


def _relative_times(sample: Sample, *, raw: bool) -> list[float]:
    if raw:
        return list(sample.call_ns)
    if len(sample.call_ns) != len(sample.peer_ns):
        raise ValueError(f"{len(sample.call_ns)} values with {len(sample.peer_ns)} of the peer")
    if min(sample.peer_ns) <= 0:
        raise ValueError(f"the peer took {min(sample.peer_ns):g} ns")
    return [call / peer for call, peer in zip(sample.call_ns, sample.peer_ns, strict=True)]


@dataclass(frozen=True, slots=True)
class _Evidence:
    """A ratio as the runs' own values give it, and what is known beside it."""

    within_runs: Estimate
    between_runs: float
    narrows: bool
    raw: bool


def _change(evidence: _Evidence, margin: float, confidence: float) -> Change:
    ratio = widened(evidence.within_runs, evidence.between_runs)
    change = Change(
        decision=decide(ratio, margin, confidence=confidence),
        ratio=ratio,
        margin=margin,
        raw=evidence.raw,
        reason="",
        within_runs=evidence.within_runs,
        between_runs=evidence.between_runs,
        narrows=evidence.narrows,
    )
    return replace(change, reason=_reason(change, ratio, confidence))


def _not_comparable(margin: float, reason: str) -> Change:
    return Change(
        decision=Decision.NOT_COMPARABLE, ratio=None, margin=margin, raw=True, reason=reason
    )


def _reason(change: Change, ratio: Estimate, confidence: float) -> str:
    figures = (
        f"{ratio_text(ratio.value)} the baseline's time "
        f"({percent_text(ratio.confidence)} interval {ratio_text(ratio.low)} to {ratio_text(ratio.high)})"
    )
    bound = f"the margin of {percent_text(change.margin)}"
    beside = (
        "; plain times of two runs, where a slow machine looks like slow code" if change.raw else ""
    )
    match change.decision:
        case _ if ratio.confidence < confidence:
            why = f"too few values to be {percent_text(confidence)} sure; time longer"
        case Decision.REGRESSED:
            why = f"slower by more than {bound}"
        case Decision.IMPROVED:
            why = f"faster by more than {bound}"
        case Decision.UNCHANGED:
            why = f"within {bound}"
        case _ if change.raw:
            why = f"the interval reaches across {bound}; give the case a frozen peer or widen the margin"
        case _:
            upper = 1.0 + change.margin
            why = f"the interval reaches across {bound}; {remedy(change, upper, 1.0 / upper)}"
    return f"{figures}, {why}{beside}"
