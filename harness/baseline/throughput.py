"""Speed of one case against a baseline, as a result: what failed, against which promise, since when, and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.baseline.holding import Held, Reference, first_beyond
from harness.model.measurement import SPEED_PROBABILITIES, Estimate, Speed, SpeedChange
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.stats.bootstrap import fewest_values
from harness.stats.change import Decision, remedy
from harness.units import count_text, duration_text, percent_text, ratio_text

__all__ = ["THROUGHPUT_CHECK", "compare_throughput", "origin_text", "untimed"]

THROUGHPUT_CHECK = "throughput"

_MIDDLE = SPEED_PROBABILITIES.index(0.5)

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
    held: Sequence[Held], speeds: Sequence[Speed], *, name: str, doubt: str = ""
) -> CheckResult:
    """Put into words how a case stands against the ``speeds`` of baseline ``name``.

    ``held`` are its comparisons with the newest of them and, where that is another, with the anchor; the worse of
    the two decides, the newest where they are alike. Fails only where the whole interval of the slowdown lies beyond
    the margin, passes where it lies at or below it, and is inconclusive else. Raw timings (no frozen peer on both
    sides) fail only where the policy trusts them; else a raw slowdown beyond the margin is inconclusive, and a raw
    interval across it is no judgement: skipped. ``doubt`` says why the timings may be the machine's: it turns a
    failure into inconclusive, and nothing into a failure.
    """
    decisive = max(held, key=lambda each: each.outcome.severity)
    outcome = decisive.outcome
    relaxed = bool(doubt) and outcome is Outcome.FAILED
    summary, next_step = _summary(decisive, name), _next_step(decisive, held, name)
    if relaxed:
        outcome = Outcome.INCONCLUSIVE
        summary = f"slower, but timed under doubtful conditions ({doubt}): {summary}"
        next_step = "time it again on a GPU that is cool and free; no code is blamed until then"
    return CheckResult(
        check=THROUGHPUT_CHECK,
        outcome=outcome,
        summary=summary,
        evidence=_evidence(decisive),
        details=tuple(_details(decisive, held, speeds)),
        next_step=next_step,
        change=_recorded(decisive, name),
    )


def origin_text(speed: Speed) -> str:
    """Of which code a speed is: ``commit 0123456789ab``, or when it was taken where no commit is known."""
    if speed.commit is None:
        return f"the run of {speed.created}" if speed.created else "a run without a commit"
    commit, _, dirty = speed.commit.partition("-")
    return f"commit {commit[:12]}{'-' if dirty else ''}{dirty}"


def _recorded(held: Held, name: str) -> SpeedChange | None:
    """The decision in numbers, for reports; none where there is no ratio."""
    if held.change.ratio is None:
        return None
    return SpeedChange(
        ratio=held.change.ratio,
        margin=held.change.margin,
        decision=held.judged.decision.value,
        against=_promise(held, name),
        baseline_ns=_median(held.then.call_ns),
        raw=held.change.raw,
    )


def _promise(held: Held, name: str) -> str:
    anchor = held.reference is Reference.ANCHOR
    return f"the anchor of baseline {name!r}" if anchor else f"baseline {name!r}"


def _summary(held: Held, name: str) -> str:
    change, outcome, promise = held.change, held.outcome, _promise(held, name)
    if change.ratio is None:
        return f"not comparable with {promise}: {change.reason}"
    if held.unusable:
        reason = change.reason.removesuffix(f"; {remedy(change)}")
        return f"cannot be compared with {promise}: {reason}"
    figures = f"{_interval(change.ratio)} the time per call of {promise}"
    allowed = ratio_text(1 + change.margin)
    if outcome is Outcome.SKIPPED:
        return f"speed not judged: no frozen peer; {figures}"
    if not held.certain:
        return f"too few rounds to tell: {figures}"
    if outcome is Outcome.FAILED:
        slower = percent_text(1 / change.ratio.value - 1, signed=True)
        since = f"throughput {slower} since {origin_text(held.then)}"
        return f"{figures}, at most {allowed} is allowed; {since}"
    if outcome is Outcome.PASSED:
        gain = change.decision is Decision.IMPROVED
        return f"faster: {figures}" if gain else f"{figures}, at most {allowed} is allowed"
    if change.decision is not Decision.REGRESSED:
        return f"cannot tell: {figures}, and {allowed} is the most allowed"
    if held.unjudged:
        return f"{figures}, but raw times cannot tell slow code from a slow machine"
    return f"cannot tell against {promise}: {held.judged.reason}"


def _interval(ratio: Estimate) -> str:
    return f"{ratio_text(ratio.value)} ({ratio_text(ratio.low)} to {ratio_text(ratio.high)})"


def _evidence(held: Held) -> str:
    if held.change.ratio is None:
        return ""
    against = "raw times" if held.change.raw else "ratios to the frozen peer"
    rounds = f"{count_text(held.then.rounds, 'round')} then, {held.now.rounds:,} now"
    confidence = percent_text(held.change.ratio.confidence)
    return f"{confidence} interval of {against}, {rounds}, {held.now.timer}"


def _details(decisive: Held, held: Sequence[Held], speeds: Sequence[Speed]) -> Iterator[str]:
    """The plain medians, so that a reader sees how much of a change is the machine's, then the other promise."""
    if decisive.change.ratio is None:
        return
    yield from _medians(decisive.then, decisive.now)
    for other in held:
        if other is not decisive:
            against = f"against its {other.reference.value} speed ({origin_text(other.then)})"
            ratio = other.change.ratio
            figures = other.change.reason if ratio is None else _interval(ratio)
            yield f"{against}: {figures}, {other.outcome.value}"
    if decisive.reference is Reference.ANCHOR and decisive.outcome is Outcome.FAILED:
        yield from _course(decisive, speeds)


def _medians(then: Speed, now: Speed) -> Iterator[str]:
    for what, medians in (
        ("call:", [_median(speed.call_ns) for speed in (then, now)]),
        ("frozen peer: about", [_peer_median(speed) for speed in (then, now)]),
    ):
        texts = ["not timed" if math.isnan(one) else duration_text(one) for one in medians]
        what = what.removesuffix(" about") if "not timed" in texts else what
        yield f"median time of the {what} {texts[0]} then, {texts[1]} now"


def _course(held: Held, speeds: Sequence[Speed]) -> Iterator[str]:
    """How a creep went, promise by promise, and with which of them it was too much."""
    anchor = speeds[0]
    steps = ", ".join(
        f"{ratio_text(_times(speed, anchor, raw=held.change.raw))} {origin_text(speed)}"
        for speed in (*speeds[1:], held.now)
    )
    yield f"against the anchor, save by save: {steps}"
    margin, policy = held.change.margin, held.policy
    first = first_beyond(speeds, held.now, margin=margin, policy=policy)
    where = "this run" if first is held.now else origin_text(first)
    yield f"surely beyond the {ratio_text(1 + margin)} allowed since {where}"


def _times(speed: Speed, anchor: Speed, *, raw: bool) -> float:
    """How many times as long as at the anchor a call took, by its median; not a number where one has no peer."""
    if raw:
        return _median(speed.call_ns) / _median(anchor.call_ns)
    return _median(speed.relative) / _median(anchor.relative)


def _median(quantiles: Sequence[float]) -> float:
    return quantiles[_MIDDLE] if quantiles else math.nan


def _peer_median(speed: Speed) -> float:
    """About the median of the peer; that of a quotient is nearly the quotient of the medians."""
    return _median(speed.call_ns) / _median(speed.relative)


def _next_step(decisive: Held, held: Sequence[Held], name: str) -> str:
    change, outcome, policy = decisive.change, decisive.outcome, decisive.policy
    if outcome is Outcome.FAILED:
        crept = any(
            each.reference is Reference.ANCHOR and each.outcome is Outcome.FAILED for each in held
        )
        option = "--replace --new-anchor" if crept else "--replace"
        return (
            "make it as fast as it was; where this is meant, run without --baseline and save that with: "
            f"harness baseline save {name} {option}"
        )
    if outcome is Outcome.PASSED:
        faster = change.decision is Decision.IMPROVED
        return "save the baseline again to keep the gain" if faster else ""
    if change.ratio is None:
        option = " --new-anchor" if decisive.reference is Reference.ANCHOR else ""
        return f"save the baseline again: harness baseline save {name} --replace{option}"
    if decisive.unusable:
        return remedy(change)
    if change.raw and not policy.trust_raw:
        return (
            f"{_FROZEN_PEER}, or vouch for the machine (--trust-raw){_or_in_one_session(decisive)}"
        )
    if not decisive.certain:
        fewest = count_text(fewest_values(policy.confidence), "round")
        return f"time longer (--seconds), then and now: {fewest} on each side can decide"
    return f"{remedy(change, 1 + change.margin)}{_or_in_one_session(decisive)}"


def _or_in_one_session(held: Held) -> str:
    """Other load differs from run to run and not within one: said where the interval is wider than the margin."""
    ratio = held.change.ratio
    if ratio is None or ratio.high / ratio.value <= 1 + held.change.margin:
        return ""
    commit, _, dirty = (held.then.commit or "").partition("-")
    ref = commit if commit and not dirty else "REF"  # whole, as a shallow clone can fetch it
    return f"; or time both versions of it in one session: harness compare --against {ref}"
