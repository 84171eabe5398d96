"""Speed of one case against a baseline: who may fail it, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from harness.model.measurement import Estimate, Sample
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.stats.bootstrap import fewest_values
from harness.stats.change import Change, Decision, compare_samples, remedy
from harness.units import count_text, duration_text, percent_text, ratio_text

__all__ = ["QUIET_BETWEEN_RUNS", "THROUGHPUT_CHECK", "compare_throughput", "untimed"]

THROUGHPUT_CHECK = "throughput"

QUIET_BETWEEN_RUNS = 0.0056
"""Standard deviation of the log time of unchanged code from run to run on a quiet machine: what CodSpeed
published in 2025 for its bare-metal runners. Assumed for raw times only where the user vouches for them."""

_FROZEN_PEER = (
    "give the case peer(inputs, region), a frozen copy of the op on host arrays that is timed in the same rounds, "
    "and save the baseline again"
)


def untimed(*, by_baseline: bool, name: str) -> CheckResult:
    """The result where one side has timings: skipped if the baseline has none, inconclusive if only it has."""
    if by_baseline:
        outcome, summary = Outcome.SKIPPED, f"baseline {name!r} has no timings of this case"
        next_step = "save the baseline again to keep its speed"
    else:
        outcome, summary = Outcome.INCONCLUSIVE, f"timed in baseline {name!r}, but not now"
        next_step = "time it too, or save the baseline again"
    return CheckResult(
        check=THROUGHPUT_CHECK, outcome=outcome, summary=summary, evidence="", next_step=next_step
    )


def compare_throughput(
    then: Sample,
    now: Sample,
    *,
    name: str,
    fail_over: float,
    confidence: float = 0.99,
    trust_raw: bool = False,
) -> CheckResult:
    """Hold the timings ``now`` against those of baseline ``name``.

    Fails only where the whole interval of the slowdown lies beyond ``1 + fail_over``, passes where it lies at
    or below it, and is inconclusive else. Raw timings (no frozen peer on both sides) fail only with
    ``trust_raw``, which also takes them for those of a quiet machine; without it a raw slowdown beyond the
    margin is inconclusive, and a raw interval across it is no judgement: skipped. Costs one bootstrap and the
    intervals of the quarters of both samples, some milliseconds.
    """
    raw = not (then.peer_ns and now.peer_ns)
    change = compare_samples(
        now,
        then,
        margin=fail_over,
        confidence=confidence,
        between_runs=QUIET_BETWEEN_RUNS if raw and trust_raw else None,
    )
    certain = change.ratio is not None and change.ratio.confidence >= confidence
    outcome = _outcome(change, certain=certain, trust_raw=trust_raw)
    return CheckResult(
        check=THROUGHPUT_CHECK,
        outcome=outcome,
        summary=_summary(change, outcome, name=name, certain=certain),
        evidence=_evidence(change, then, now),
        details=tuple(_details(then, now)),
        next_step=_next_step(
            change, outcome, confidence=confidence, certain=certain, trust_raw=trust_raw
        ),
    )


def _outcome(change: Change, *, certain: bool, trust_raw: bool) -> Outcome:
    """A regression must be certain to fail; so must its absence be to pass."""
    if change.ratio is None:
        return Outcome.INCONCLUSIVE
    unjudged = change.raw and not trust_raw
    if certain and change.ratio.high <= 1 + change.margin:
        return Outcome.PASSED
    if unjudged and change.ratio.low <= 1 + change.margin:
        return Outcome.SKIPPED
    if certain and change.decision is Decision.REGRESSED and not unjudged:
        return Outcome.FAILED
    return Outcome.INCONCLUSIVE


def _summary(change: Change, outcome: Outcome, *, name: str, certain: bool) -> str:
    if change.ratio is None:
        return f"not comparable with baseline {name!r}: {change.reason}"
    figures = f"{_interval(change.ratio)} the time per call of baseline {name!r}"
    allowed = ratio_text(1 + change.margin)
    if outcome is Outcome.SKIPPED:
        return f"speed not judged: no frozen peer; {figures}"
    if not certain:
        return f"too few rounds to tell: {figures}"
    if outcome is Outcome.FAILED:
        slower = percent_text(1 / change.ratio.value - 1, signed=True)
        return f"{figures}, at most {allowed} is allowed; throughput {slower}"
    if outcome is Outcome.PASSED:
        gain = change.decision is Decision.IMPROVED
        return f"faster: {figures}" if gain else f"{figures}, at most {allowed} is allowed"
    if change.decision is Decision.REGRESSED:
        return f"{figures}, but raw times cannot tell slow code from a slow machine"
    return f"cannot tell: {figures}, and {allowed} is the most allowed"


def _interval(ratio: Estimate) -> str:
    return f"{ratio_text(ratio.value)} ({ratio_text(ratio.low)} to {ratio_text(ratio.high)})"


def _evidence(change: Change, then: Sample, now: Sample) -> str:
    if change.ratio is None:
        return ""
    against = "raw times" if change.raw else "ratios to the frozen peer"
    rounds = f"{count_text(len(then.call_ns), 'round')} then, {len(now.call_ns):,} now"
    return f"{percent_text(change.ratio.confidence)} interval of {against}, {rounds}, {now.timer}"


def _details(then: Sample, now: Sample) -> Iterator[str]:
    """The plain medians, so that a reader sees how much of a change is the machine's."""
    for what, before, after in (
        ("call", then.call_ns, now.call_ns),
        ("frozen peer", then.peer_ns, now.peer_ns),
    ):
        texts = [duration_text(median(side)) if side else "not timed" for side in (before, after)]
        yield f"median time of the {what}: {texts[0]} then, {texts[1]} now"


def _next_step(
    change: Change, outcome: Outcome, *, confidence: float, certain: bool, trust_raw: bool
) -> str:
    if outcome is Outcome.FAILED:
        return "make it as fast as it was, or save the baseline again if this is meant"
    if outcome is Outcome.PASSED:
        faster = change.decision is Decision.IMPROVED
        return "save the baseline again to keep the gain" if faster else ""
    if change.ratio is None:
        return "save the baseline again"
    if change.raw and not trust_raw:
        return f"{_FROZEN_PEER}, or vouch for the machine (--trust-raw)"
    if not certain:
        return f"time longer, then and now: {count_text(fewest_values(confidence), 'round')} on each side can decide"
    return remedy(change, 1 + change.margin)
