"""One speed held against those a baseline promised: the newest, so that a step is seen, and the anchor, so that a creep is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from harness.baseline.policy import Policy
from harness.model.measurement import Speed
from harness.model.outcome import Outcome
from harness.stats.change import Change, Decision, decide
from harness.stats.family import judge_family
from harness.stats.speed import compare_speeds

__all__ = ["QUIET_BETWEEN_RUNS", "Held", "Reference", "among_all", "first_beyond", "held_against"]

QUIET_BETWEEN_RUNS = 0.0056
"""Standard deviation of the log time of unchanged code from run to run on a quiet machine: what CodSpeed
published in 2025 for its bare-metal runners. Assumed for raw times only where the user vouches for them."""


class Reference(Enum):
    """Which promise a speed is held against."""

    NEWEST = "newest"
    ANCHOR = "anchor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One speed held against one promise.

    ``change`` is what the two say by themselves, ``judged`` what is left of it among all comparisons of the run.
    """

    reference: Reference
    then: Speed
    now: Speed
    change: Change
    judged: Change
    policy: Policy

    @property
    def certain(self) -> bool:
        """Whether the interval has the confidence asked for."""
        ratio = self.change.ratio
        return ratio is not None and ratio.confidence >= self.policy.confidence

    @property
    def unjudged(self) -> bool:
        """Whether these are raw times nobody vouches for, which fail nothing."""
        return self.change.raw and not self.policy.trust_raw

    @property
    def unusable(self) -> bool:
        """Whether there is no ratio, or one that its own values speak against, as constant ones do."""
        if self.change.ratio is None:
            return True
        bare = decide(self.change.ratio, self.change.margin, confidence=self.policy.confidence)
        return self.change.decision is Decision.INCONCLUSIVE and bare is not Decision.INCONCLUSIVE

    @property
    def outcome(self) -> Outcome:
        """A regression must be certain to fail, among all comparisons of the run; its absence, to pass."""
        ratio, most = self.change.ratio, 1 + self.change.margin
        if ratio is None or self.unusable:
            return Outcome.INCONCLUSIVE
        if self.certain and ratio.high <= most:
            return Outcome.PASSED
        if self.unjudged and ratio.low <= most:
            return Outcome.SKIPPED
        if self.judged.decision is Decision.REGRESSED and not self.unjudged:
            return Outcome.FAILED
        return Outcome.INCONCLUSIVE


def held_against(
    speeds: Sequence[Speed], now: Speed, *, margin: float, policy: Policy
) -> tuple[Held, ...]:
    """Hold a speed against the newest of at least one, and against the anchor where that is another."""
    promises = {Reference.NEWEST: speeds[-1]}
    if len(speeds) > 1:
        promises[Reference.ANCHOR] = speeds[0]
    return tuple(
        _held(reference, then, now, margin=margin, policy=policy)
        for reference, then in promises.items()
    )


def among_all(
    held: Mapping[str, Sequence[Held]], *, confidence: float
) -> dict[str, tuple[Held, ...]]:
    """The comparisons of a run, by case, judged as one family: more of them alarm no more often.

    What cannot fail, since its raw times are shown and not judged, takes no share of the confidence.
    """
    family = {
        f"{key} {each.reference.value}": each.change
        for key, several in held.items()
        for each in several
        if not each.unjudged
    }
    judged = judge_family(family, confidence=confidence)
    return {
        key: tuple(
            replace(each, judged=judged.get(f"{key} {each.reference.value}", each.change))
            for each in several
        )
        for key, several in held.items()
    }


def first_beyond(speeds: Sequence[Speed], now: Speed, *, margin: float, policy: Policy) -> Speed:
    """The first speed after the anchor that was slower than it by more than the margin; ``now`` if none was before."""
    for speed in speeds[1:]:
        held = _held(Reference.ANCHOR, speeds[0], speed, margin=margin, policy=policy)
        if held.change.decision is Decision.REGRESSED:
            return speed
    return now


def _held(reference: Reference, then: Speed, now: Speed, *, margin: float, policy: Policy) -> Held:
    raw = not (then.relative and now.relative)
    change = compare_speeds(
        now,
        then,
        margin=margin,
        confidence=policy.confidence,
        between_runs=QUIET_BETWEEN_RUNS if raw and policy.trust_raw else None,
    )
    return Held(
        reference=reference, then=then, now=now, change=change, judged=change, policy=policy
    )
