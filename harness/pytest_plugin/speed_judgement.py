"""What the timings of one test come to, as a result and as the text of a failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from harness.baseline.holding import QUIET_BETWEEN_RUNS
from harness.baseline.policy import DEFAULT_MARGIN
from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.interchange.pytest_benchmark import StoredBenchmark
from harness.model.measurement import Sample, Speed, Throughput
from harness.model.outcome import Outcome
from harness.pytest_plugin.policy import Situation
from harness.pytest_plugin.speed_settings import SPEED_CHECKS
from harness.pytest_plugin.speed_wording import Finding, Told, not_judged, refused, told_finding
from harness.stats.change import Change, Decision, compare_pairs, decide
from harness.stats.speed import compare_speeds, speed_of
from harness.units import count_text, duration_text, percent_text, rate_text

__all__ = [
    "BASELINE_MARGIN",
    "PEER_MARGIN",
    "SLOWDOWN_CHECK",
    "Sureness",
    "against_baseline",
    "against_peer",
]

SLOWDOWN_CHECK = SPEED_CHECKS[0]

PEER_MARGIN = 0.01
"""Interleaved pairs of unchanged code differ by half a per cent from run to run, so that none was called slower by
more than one per cent in 112 runs."""

BASELINE_MARGIN = DEFAULT_MARGIN
"""What `harness run` uses: two sessions cannot settle less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sureness:
    """How sure one comparison must be for all ``comparisons`` of the session together to be ``together`` sure.

    Bonferroni's correction: tests fail one by one, so it cannot be known how the later ones will end, which Holm's
    would need; how many there are is known once they are collected.
    """

    together: float
    comparisons: int

    @property
    def each(self) -> float:
        """The confidence of one interval."""
        return 1.0 - (1.0 - self.together) / max(1, self.comparisons)

    @property
    def text(self) -> str:
        """``99.0 % interval``, and of how many comparisons that is said."""
        alone = f"{percent_text(self.together)} interval"
        if self.comparisons <= 1:
            return alone
        return f"{alone} (for all {self.comparisons:,} comparisons of this session together)"


def against_peer(
    sample: Sample,
    *,
    peer: str,
    margin: float,
    sure: Sureness,
    because: Sequence[str] = (),
    work: Throughput | None = None,
) -> Finding:
    """Hold a test's callable against the frozen peer that was timed in the same rounds."""
    change = compare_pairs(sample.call_ns, sample.peer_ns, margin=margin, confidence=sure.each)
    if change.ratio is None:
        step = "run it again"
        why = f"not comparable with {peer}: {change.reason}"
        return not_judged(SLOWDOWN_CHECK, why, step, Situation.INCONCLUSIVE)
    lines = Told(
        than=peer,
        because=because,
        paired=f"{peer}, a frozen peer timed in the same {count_text(len(sample.call_ns), 'round')}",
        medians=f"{_per_call(sample.call_ns, work)}, {duration_text(median(sample.peer_ns))} of {peer}",
        evidence=f"{sure.text} of {count_text(len(sample.call_ns), 'pair ratio')}, {sample.timer}",
        mend="make it as fast as its peer, or freeze the peer again if this is meant",
    )
    return told_finding(SLOWDOWN_CHECK, change, _outcome(change, sure), lines)


def against_baseline(
    now: Sequence[Sample],
    then: StoredBenchmark,
    *,
    name: str,
    margin: float,
    sure: Sureness,
    trust_raw: bool,
    doubts: Sequence[str] = (),
    work: Throughput | None = None,
    decided: bool = False,
) -> tuple[Finding, ...]:
    """Hold a test against what a baseline keeps of it: its first promise and its last, all of which apply.

    ``doubts`` are facts in which the two sessions differ. Raw times decide nothing unless trusted: beyond the margin
    they are inconclusive, and otherwise shown as not judged.
    ``decided`` says that a peer of this session has judged it: then a comparison of two sessions can still find a
    slowdown, but its doubt counts for nothing.
    """
    pairs = list(_comparable(now, then))
    if not pairs:
        why = then.why_none or _no_timer(now, then)
        unjudged = not (decided or trust_raw)
        return (refused(name, why, quiet=decided or unjudged, unjudged=unjudged),)
    raw = not (pairs[0][1].relative and pairs[0][0].peer_ns)
    unjudged = raw and not (decided or trust_raw)
    quiet = decided or unjudged
    if then.throughput is not None and work is not None and then.throughput != work:
        doubts = (*doubts, "the work of one call is not what it was")
    if doubts:
        return (refused(name, "the two sessions differ", doubts, quiet=quiet, unjudged=unjudged),)
    found: dict[Outcome, Finding] = {}
    for sample, speed in dict.fromkeys((pairs[0], pairs[-1])):
        finding = _against(
            sample, speed, name, margin, sure, trust_raw, decided, work, sealed=then.sealed
        )
        found.setdefault(finding.result.outcome, finding)
    return tuple(found.values())


def _against(
    sample: Sample,
    speed: Speed,
    name: str,
    margin: float,
    sure: Sureness,
    trust_raw: bool,
    decided: bool,
    work: Throughput | None,
    *,
    sealed: bool,
) -> Finding:
    raw = not (speed.relative and sample.peer_ns)
    unjudged = raw and not (decided or trust_raw)
    change = compare_speeds(
        speed_of(sample),
        speed,
        margin=margin,
        confidence=sure.each,
        between_runs=QUIET_BETWEEN_RUNS if raw and trust_raw else None,
    )
    if change.ratio is None:
        return refused(name, change.reason, quiet=decided or unjudged, unjudged=unjudged)
    outcome = _outcome(change, sure)
    if unjudged and outcome is Outcome.FAILED:
        outcome = Outcome.INCONCLUSIVE
    elif (raw and not trust_raw) or (decided and outcome is Outcome.INCONCLUSIVE):
        outcome = Outcome.SKIPPED
    against = "raw times of two sessions" if raw else "ratios to the frozen peer, then and now"
    saved = f", saved {speed.created}" if speed.created else ""
    lines = Told(
        than=f"baseline {name!r}",
        because=(),
        paired=f"{against}{saved}{'' if sealed else _UNSEALED}",
        medians=f"{_per_call(sample.call_ns, work)}, {_then(speed)} then",
        evidence=(
            f"{sure.text} of {against}, {count_text(speed.rounds, 'round')} then, "
            f"{len(sample.call_ns):,} now, {sample.timer}"
        ),
        mend="make it as fast as it was, or write the baseline again if this is meant",
        unjudged=unjudged,
    )
    return told_finding(THROUGHPUT_CHECK, change, outcome, lines)


_UNSEALED = "; unverified: the file has no digest of the harness, so an edit would not be seen"


def _outcome(change: Change, sure: Sureness) -> Outcome:
    """A regression must be certain to fail; so must its absence be to pass."""
    if change.ratio is None:
        return Outcome.INCONCLUSIVE
    if change.decision is Decision.REGRESSED:
        return Outcome.FAILED
    bare = decide(change.ratio, change.margin, confidence=sure.each)
    usable = bare is change.decision  # else its own values speak against it, as constant ones do
    certain = change.ratio.confidence >= sure.each
    if usable and certain and change.ratio.high <= 1 + change.margin:
        return Outcome.PASSED
    return Outcome.INCONCLUSIVE


def _comparable(now: Sequence[Sample], then: StoredBenchmark) -> Iterator[tuple[Sample, Speed]]:
    """Samples and the speeds taken with the same clock, oldest speed first; only pairs where there are any."""
    found = [
        (sample, speed) for speed in then.speeds for sample in now if sample.timer == speed.timer
    ]
    paired = [(sample, speed) for sample, speed in found if sample.peer_ns and speed.relative]
    yield from paired or found


def _no_timer(now: Sequence[Sample], then: StoredBenchmark) -> str:
    mine = ", ".join(dict.fromkeys(sample.timer for sample in now)) or "nothing"
    its = ", ".join(dict.fromkeys(speed.timer for speed in then.speeds))
    return f"timed by {mine} now and by {its} then"


def _per_call(call_ns: Sequence[float], work: Throughput | None) -> str:
    time = median(call_ns)
    rate = ""
    if work is not None and time > 0:
        rate = f" ({rate_text(work.units_per_call / time * 1e9, work.unit)})"
    return f"{duration_text(time)} per call{rate}"


def _then(speed: Speed) -> str:
    """The median of a speed; a file that was edited may keep the ratios alone."""
    return duration_text(speed.call_ns[len(speed.call_ns) // 2]) if speed.call_ns else "not kept"
