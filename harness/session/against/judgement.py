"""From pairs to a decision per case: sure of it over all cases together, and only where one could have seen."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.model.measurement import Sample, SpeedChange
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.session.against.subjects import Record
from harness.stats.change import BASELINES_TIME, PIN, Change, Decision, compare_pairs, remedy
from harness.stats.family import judge_family
from harness.stats.power import smallest_detectable
from harness.units import count_text, duration_text, percent_text

__all__ = ["Criteria", "change_of", "judge"]

_OUTCOMES: Mapping[Decision, Outcome] = {
    Decision.REGRESSED: Outcome.FAILED,
    Decision.IMPROVED: Outcome.PASSED,
    Decision.UNCHANGED: Outcome.PASSED,
    Decision.INCONCLUSIVE: Outcome.INCONCLUSIVE,
    Decision.NOT_COMPARABLE: Outcome.INCONCLUSIVE,
}

_POWER = 0.9
"""A slowdown is one that can be found where nine in ten of its kind would have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """How big a change matters, how sure to be of it, and what must have been findable.

    ``margin`` and ``find`` are fractions of time; a case's own ``margin`` comes before this one. Without ``find``
    it is twice the margin.
    """

    margin: float = 0.01
    confidence: float = 0.95
    find: float | None = None
    seed: int = 0

    def margin_of(self, record: Record) -> float:
        """The margin one case is held to."""
        own = record.subject.margin
        return self.margin if own is None else own

    def find_of(self, record: Record) -> float:
        """The slowdown that must be findable before a case may pass as unchanged."""
        return 2 * self.margin_of(record) if self.find is None else self.find


def change_of(record: Record, sample: Sample, criteria: Criteria, *, among: int = 1) -> Change:
    """What the pairs of one case say by themselves; ``among`` so many cases, of which the first must stand out."""
    return compare_pairs(
        sample.call_ns,
        sample.peer_ns,
        margin=criteria.margin_of(record),
        confidence=1.0 - (1.0 - criteria.confidence) / among,
        process_starts=sample.process_starts,
    )


def judge(
    records: Sequence[Record],
    criteria: Criteria,
    *,
    paired_with: str,
    named: str,
    fewest: int = 1,
) -> dict[str, CheckResult]:
    """A result per timed case, by key.

    ``paired_with`` says what the other of each pair was, ``named`` is its name in a sentence. A case timed in less than
    ``fewest`` processes, as one is when the user stops it, is inconclusive whatever its pairs say.
    """
    samples = {
        record.subject.key: (record, sample)
        for record in records
        if record.ended is None and (sample := record.sample()) is not None and sample.peer_ns
    }
    alone = {key: change_of(record, sample, criteria) for key, (record, sample) in samples.items()}
    together = judge_family(alone, confidence=criteria.confidence) if alone else {}
    found = {}
    for key, (record, sample) in samples.items():
        processes = _processes(len(sample.process_starts), apart=record.apart)
        design = f"{processes}, order and layout random"
        pairing = _Pairing(paired_with, named, f"{design}, seed {criteria.seed}, {sample.timer}")
        strictest = change_of(record, sample, criteria, among=len(samples))
        smallest = smallest_detectable(strictest, power=_POWER)
        found[key] = _result(together[key], record, sample, criteria, pairing, smallest)
        if (taken := len(sample.process_starts)) < fewest:
            found[key] = _undecided(found[key], taken, fewest)
    return found


def _undecided(result: CheckResult, taken: int, fewest: int) -> CheckResult:
    """What was found, without a decision: what a process draws once is in every pair of it, and in the interval."""
    _, _, figures = result.summary.partition(": ")
    decision = Decision.INCONCLUSIVE.value
    change = result.change and replace(result.change, decision=decision)
    few = f"{taken} of {count_text(fewest, 'process', plural='processes')} cannot decide"
    return replace(
        result,
        outcome=Outcome.INCONCLUSIVE,
        summary=f"{decision}: {figures}; but {few}",
        next_step="compare again and let it end; --processes says how many decide",
        change=change,
    )


def _processes(count: int, *, apart: bool) -> str:
    if apart:
        return count_text(count, "process pair")
    return count_text(count, "process", plural="processes")


@dataclass(frozen=True, slots=True)
class _Pairing:
    """What each value was paired with, and how the pairs were taken."""

    paired_with: str
    named: str
    design: str


def _result(
    change: Change,
    record: Record,
    sample: Sample,
    criteria: Criteria,
    pairing: _Pairing,
    smallest: float,
) -> CheckResult:
    """``smallest`` is the slowdown that would mostly have been found, as the first among all cases to stand out."""
    outcome, step = _OUTCOMES[change.decision], _advice(change)
    reason = change.reason.replace(BASELINES_TIME, f"the time of {pairing.named}", 1)
    summary = f"{change.decision.value}: {reason}".removesuffix(f"; {step}")
    find = criteria.find_of(record)
    blind = change.decision is Decision.UNCHANGED and smallest > find
    if blind:
        outcome = Outcome.INCONCLUSIVE
        summary = f"{summary}; but a slowdown of {percent_text(find)} might have been missed"
    power = (
        f"a slowdown of {percent_text(smallest)} would have been found {_POWER * 10:g} times in 10"
        if smallest < math.inf
        else "no slowdown could have been found"
    )
    return CheckResult(
        check=THROUGHPUT_CHECK,
        outcome=outcome,
        summary=summary,
        evidence=_evidence(change, sample, pairing),
        details=(_medians(sample, pairing), power, *record.details),
        next_step=_next_step(change, find, blind=blind),
        change=_recorded(change, sample, pairing),
    )


def _recorded(change: Change, sample: Sample, pairing: _Pairing) -> SpeedChange | None:
    """The decision in numbers, for reports; none where there is no ratio."""
    if change.ratio is None:
        return None
    return SpeedChange(
        ratio=change.ratio,
        margin=change.margin,
        decision=change.decision.value,
        against=pairing.paired_with,
        baseline_ns=median(sample.peer_ns),
    )


def _evidence(change: Change, sample: Sample, pairing: _Pairing) -> str:
    pairs = count_text(len(sample.call_ns), "pair ratio")
    if change.ratio is not None:
        pairs = f"{percent_text(change.ratio.confidence)} interval from {pairs}"
    return f"{pairs}, {pairing.design}; paired with {pairing.paired_with}"


def _medians(sample: Sample, pairing: _Pairing) -> str:
    now, then = duration_text(median(sample.call_ns)), duration_text(median(sample.peer_ns))
    return f"median time per call: {now} now, {then} of {pairing.paired_with}"


def _next_step(change: Change, find: float, *, blind: bool) -> str:
    match change.decision:
        case Decision.REGRESSED:
            return (
                "make it as fast as it was, or give the case a `margin` if this slowdown is meant"
            )
        case Decision.UNCHANGED if blind and find <= change.margin:
            return (
                f"its margin of {percent_text(change.margin)} lets {percent_text(find)} pass: "
                "ask to --find more than the margin"
            )
        case Decision.UNCHANGED if blind:
            return f"compare longer (--seconds), or be content with more than --find {percent_text(find)}"
        case Decision.IMPROVED | Decision.UNCHANGED:
            return ""
        case _:
            return _advice(change).replace(PIN, "") if _is_pinned() else _advice(change)


def _is_pinned() -> bool:
    """Whether this process, and so every one it starts, has one core already."""
    return hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) == 1


def _advice(change: Change) -> str:
    """What would let an open question be decided; the reason of a change ends with the same words."""
    if change.within_runs is None:
        return "compare longer (--seconds)"
    bound = 1 + change.margin
    return remedy(change, bound, 1 / bound)
