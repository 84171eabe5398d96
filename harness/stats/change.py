"""Slower, faster, unchanged, or not known: the decision between two samples, in words.

A ratio is candidate time over baseline time, so above 1 is slower. Two thresholds decide: how big a change
matters (the margin) and how sure one must be (the confidence of the interval). Never the estimate alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from statistics import NormalDist

from harness.model.measurement import Estimate
from harness.stats.bootstrap import require_confidence
from harness.stats.outlook import PRACTICAL, time_factor, widened
from harness.stats.pairs import pair_ratio
from harness.units import count_text, percent_text, ratio_text

__all__ = [
    "BASELINES_TIME",
    "BETWEEN_RUNS_RAW",
    "BETWEEN_RUNS_WITH_PEER",
    "PIN",
    "Change",
    "Decision",
    "Evidence",
    "compare_pairs",
    "conclude",
    "decide",
    "not_comparable",
    "remedy",
]

BASELINES_TIME = "the baseline's time"
"""What a reason calls the time a ratio is of; who knows a name for it puts that in its place."""

BETWEEN_RUNS_WITH_PEER = 0.0058
"""Standard deviation of the log ratio of unchanged code between two runs when each is divided by a frozen copy
timed in the same rounds: 60 runs of a softmax cross-entropy on two shared cores. A run's own values cannot
show it, since every buffer of a process has one placement."""

BETWEEN_RUNS_RAW = 0.046
"""The same without a peer: the machine's own mood from run to run, eight times as much."""

PIN = "pin the process to one core (taskset -c) and "
"""How the advice on a restless machine begins; who knows that it is done already takes it out."""

_QUIET = f"{PIN}stop other work on the machine"

_MORE_WORK = "give the case more work per call, or time it where the clock is finer"

_CONSTANT = (
    "every value is the same, which timings never are: the clock stands still or is coarser than their noise; "
    f"{_MORE_WORK}"
)


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
    ``between_runs``; ``narrows`` says whether more values would narrow it. ``p_regressed`` and ``p_improved``
    are one-sided p-values: the chance of evidence so strong if the true ratio were just at the bound. ``confidence``
    is what was asked for. ``constant``: the values were all the same, as no timings are.
    """

    decision: Decision
    ratio: Estimate | None
    margin: float
    raw: bool
    reason: str
    within_runs: Estimate | None = None
    between_runs: float = 0.0
    narrows: bool = True
    p_regressed: float = 1.0
    p_improved: float = 1.0
    confidence: float = 0.95
    constant: bool = False


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
    process_starts: Sequence[int] = (0,),
) -> Change:
    """Compare two implementations timed in the same rounds, pair by pair: the strongest comparison.

    ``process_starts`` are the indices at which pairs of another process begin. Values that are not positive and
    finite are not comparable, too few and constant ones inconclusive. Raises ``ValueError`` for a margin or confidence that makes no sense, and, naming it, for what is no
    list of pairs: lengths that differ, process starts that do not ascend. Costs half a millisecond for 100 pairs.
    """
    require_confidence(confidence)
    if problem := _unusable(candidate_ns, "candidate") or _unusable(baseline_ns, "baseline"):
        return not_comparable(margin, problem)
    pairs = pair_ratio(candidate_ns, baseline_ns, process_starts=process_starts)
    evidence = Evidence(
        within_runs=pairs.estimate(confidence),
        narrows=pairs.narrows,
        constant=pairs.constant,
    )
    change = conclude(evidence, margin=margin, confidence=confidence)
    if evidence.constant:
        return change
    upper = 1.0 + margin
    return replace(
        change,
        p_regressed=pairs.p_above(upper, confidence=confidence),
        p_improved=pairs.p_below(1.0 / upper, confidence=confidence),
    )


def remedy(change: Change, *bounds: float, option: str = "--seconds") -> str:
    """What would let the interval clear these bounds; timing longer only where that is to be expected.

    ``option`` is what sets the time. Raises ``ValueError`` where nothing was compared.
    """
    if change.within_runs is None:
        raise ValueError(f"nothing was compared: {change.reason}")
    if change.constant:
        return _MORE_WORK
    factor = time_factor(change.within_runs, change.between_runs, *bounds)
    if change.narrows and factor <= PRACTICAL:
        sides = ", then and now" if change.between_runs else ""
        times = count_text(max(2, math.ceil(factor)), "time")
        return f"give it {times} as much {option}{sides}"
    if change.narrows and factor == math.inf:
        apart = (
            f", and unchanged code differs by {percent_text(change.between_runs)} from run to run"
        )
        return f"the ratio lies near the margin{apart if change.between_runs else ''}: widen the margin"
    why = "scatter too much" if change.narrows else "do not average out"
    return f"the values {why} for more time to help: {_QUIET}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A ratio as the runs' own values give it, and what is known beside it.

    ``constant``: several values were all the same, so that their interval says nothing.
    """

    within_runs: Estimate
    between_runs: float = 0.0
    narrows: bool = True
    raw: bool = False
    constant: bool = False


def conclude(evidence: Evidence, *, margin: float, confidence: float) -> Change:
    """Widen, decide, and put into words."""
    ratio = widened(evidence.within_runs, evidence.between_runs)
    decision = decide(ratio, margin, confidence=confidence)
    change = Change(
        decision=Decision.INCONCLUSIVE if evidence.constant else decision,
        ratio=ratio,
        margin=margin,
        raw=evidence.raw,
        reason="",
        within_runs=evidence.within_runs,
        between_runs=evidence.between_runs,
        narrows=evidence.narrows,
        p_regressed=_beyond(ratio, 1.0 + margin),
        p_improved=_beyond(_inverse(ratio), 1.0 + margin),
        confidence=confidence,
        constant=evidence.constant,
    )
    if evidence.constant:
        return replace(change, reason=_CONSTANT, p_regressed=1.0, p_improved=1.0)
    return replace(change, reason=_reason(change, ratio, confidence))


def _beyond(ratio: Estimate, bound: float) -> float:
    """The chance of so high an estimate if the true ratio were ``bound``, from the interval on the log scale."""
    if ratio.confidence <= 0.0:
        return 1.0
    edge = ratio.low if ratio.value > bound else ratio.high
    width = abs(math.log(edge / ratio.value))
    distance = math.log(ratio.value / bound)
    if width == 0.0:
        return 0.0 if distance > 0.0 else 1.0
    normal = NormalDist()
    return normal.cdf(-distance / width * normal.inv_cdf((1.0 + ratio.confidence) / 2))


def _inverse(ratio: Estimate) -> Estimate:
    return Estimate(
        value=1 / ratio.value, low=1 / ratio.high, high=1 / ratio.low, confidence=ratio.confidence
    )


def _unusable(values: Sequence[float], side: str) -> str:
    """What keeps times from being compared, empty when nothing does."""
    if not len(values):
        return f"no timings of the {side}"
    for number, value in enumerate(values, 1):
        if not 0.0 < value < math.inf:
            return (
                f"timing {number} of {len(values)} of the {side} is {value:g} ns, "
                f"times are positive and finite"
            )
    return ""


def not_comparable(margin: float, reason: str) -> Change:
    """The change between what cannot be compared, with the sentence that says why."""
    return Change(
        decision=Decision.NOT_COMPARABLE, ratio=None, margin=margin, raw=True, reason=reason
    )


def _reason(change: Change, ratio: Estimate, confidence: float) -> str:
    figures = (
        f"{ratio_text(ratio.value)} {BASELINES_TIME} "
        f"({percent_text(ratio.confidence)} interval {ratio_text(ratio.low)} to {ratio_text(ratio.high)})"
    )
    bound = f"the margin of {percent_text(change.margin)}"
    beside = (
        "; plain times of two runs, where a slow machine looks like slow code" if change.raw else ""
    )
    match change.decision:
        case _ if ratio.confidence < confidence:
            why = f"too few values to be {percent_text(confidence)} sure; time longer (--seconds)"
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
