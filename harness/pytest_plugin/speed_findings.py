"""What was timed of one test, and what all of it comes to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.interchange.pytest_benchmark import timer_label
from harness.model.environment import Environment
from harness.model.measurement import Sample, Throughput
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.pytest_plugin.policy import Action, Situation
from harness.pytest_plugin.speed_judgement import (
    BASELINE_MARGIN,
    PEER_MARGIN,
    SLOWDOWN_CHECK,
    Sureness,
    against_baseline,
    against_peer,
)
from harness.pytest_plugin.speed_marks import SpeedLimit
from harness.pytest_plugin.speed_settings import SPEED_MARK, UNJUDGED, SpeedSettings
from harness.pytest_plugin.speed_wording import Finding, not_judged
from harness.pytest_plugin.stored import Stored

__all__ = [
    "Blocked",
    "Pairing",
    "Session",
    "Timed",
    "findings_of",
    "name_of",
    "peer_margin",
    "raw_sample",
    "work_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """Why the times of a test would mean nothing, and what to do; ``by_choice`` where the user turned timing off."""

    why: str
    next_step: str
    by_choice: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The rounds a test's callable was timed in beside one peer; ``doubt`` says why they do not count."""

    peer: Callable[..., object]
    sample: Sample | None = None
    conditions: CheckResult | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One use of the ``benchmark`` fixture: pytest-benchmark's own rounds, and ours."""

    raw: Sample | None
    pairings: tuple[Pairing, ...] = ()
    blocked: Blocked | None = None
    device: str = ""

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Every sample there is, those beside a peer first."""
        paired = [pairing.sample for pairing in self.pairings if pairing.sample is not None]
        return (*paired, *([self.raw] if self.raw is not None else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What all tests of a session share.

    ``sure`` is for comparisons that can fail a test. ``raw_sure`` is for raw times, which can only leave it
    inconclusive: a family of their own, so that many of them do not blunt the others.
    """

    settings: SpeedSettings
    sure: Sureness
    raw_sure: Sureness
    stored: Stored | None
    environment: Environment | None


def raw_sample(data: Sequence[float], iterations: int, timer: str) -> Sample | None:
    """pytest-benchmark's rounds, in seconds per call, as a sample; ``None`` where its clock showed none."""
    if not data or not all(0 < seconds < math.inf for seconds in data):
        return None
    return Sample(
        call_ns=tuple(seconds * 1e9 for seconds in data),
        calls_per_value=iterations,
        warmup_calls=0,
        timer=timer_label(timer),
        seed=0,
    )


def name_of(function: Callable[..., object]) -> str:
    """What a peer is called in messages: ``frozen.softmax``, since it often shares the name of what it is held against."""
    name = str(getattr(function, "__qualname__", None) or type(function).__name__)
    module = str(getattr(function, "__module__", None) or "").rpartition(".")[2]
    return f"{module}.{name}" if module else name


def peer_margin(
    limits: Sequence[SpeedLimit], peer: Callable[..., object], settings: SpeedSettings
) -> float:
    """The margin against a peer: all marks that name it apply, so the smallest."""
    default = PEER_MARGIN if settings.margin is None else settings.margin
    return min(
        default if limit.margin is None else limit.margin for limit in limits if limit.peer is peer
    )


def findings_of(
    item: pytest.Item, limits: Sequence[SpeedLimit], timed: Timed | None, session: Session
) -> tuple[Finding, ...]:
    """Every result on the speed of one test that came to its end, with the outcome the policy gives it."""
    found = tuple(_findings(item, limits, timed, session))
    return tuple(_by_policy(finding, session.settings.policy) for finding in found)


def _findings(
    item: pytest.Item, limits: Sequence[SpeedLimit], timed: Timed | None, session: Session
) -> Iterator[Finding]:
    if timed is None:
        if limits:
            yield not_judged(
                SLOWDOWN_CHECK,
                "nothing was timed: the test never called benchmark(...)",
                "call the op through the `benchmark` fixture of pytest-benchmark, or take the mark away",
                Situation.INCONCLUSIVE,
            )
        return
    if timed.blocked is not None:
        if limits or session.stored is not None:
            case = Situation.SKIPPED if timed.blocked.by_choice else Situation.INCONCLUSIVE
            check = SLOWDOWN_CHECK if limits else THROUGHPUT_CHECK
            yield not_judged(check, timed.blocked.why, timed.blocked.next_step, case)
        return
    for pairing in timed.pairings:
        yield from _against_peer(pairing, limits, session)
    if session.stored is not None:
        yield from _against_stored(item, limits, timed, session, session.stored)
    elif limits and not timed.pairings:
        yield _without_baseline(session.settings)


def _without_baseline(settings: SpeedSettings) -> Finding:
    """A limited test without a peer in a session without a baseline, which may be the one that makes it."""
    if settings.makes_baseline and settings.json is not None:
        return not_judged(
            SLOWDOWN_CHECK,
            f"{UNJUDGED}: baseline made, {settings.json.name}, with nothing to hold this test against yet",
            f"hold the next session against it: --harness-benchmark-baseline {settings.json.name}",
            Situation.NO_BASELINE,
        )
    return not_judged(
        SLOWDOWN_CHECK,
        "there is nothing to hold it against: no peer and no baseline",
        f"give @pytest.mark.{SPEED_MARK} a peer=, a frozen copy of the op, or the session "
        "--harness-benchmark-baseline FILE; to allow a first run without: --harness-policy no-baseline=pass",
        Situation.NO_BASELINE,
    )


def _against_peer(
    pairing: Pairing, limits: Sequence[SpeedLimit], session: Session
) -> Iterator[Finding]:
    peer = name_of(pairing.peer)
    if pairing.sample is None:
        yield not_judged(
            SLOWDOWN_CHECK,
            f"peer {peer} is no yardstick: {pairing.doubt}",
            "give a frozen copy of the op that takes the same arguments and returns the same",
            Situation.INCONCLUSIVE,
        )
        return
    mine = [limit for limit in limits if limit.peer is pairing.peer]
    finding = against_peer(
        pairing.sample,
        peer=peer,
        margin=peer_margin(limits, pairing.peer, session.settings),
        sure=session.sure,
        because=tuple(dict.fromkeys(limit.because for limit in mine if limit.because)),
        work=work_of(limits),
    )
    conditions = pairing.conditions
    if conditions is None or conditions.outcome is Outcome.PASSED:
        yield finding
        return
    yield replace(
        finding,
        result=replace(finding.result, details=(*finding.result.details, conditions.summary)),
        text=f"{finding.text}\n  also      {conditions.summary}",
    )


def _against_stored(
    item: pytest.Item,
    limits: Sequence[SpeedLimit],
    timed: Timed,
    session: Session,
    stored: Stored,
) -> Iterator[Finding]:
    names = [limit.renamed_from for limit in limits if limit.renamed_from is not None]
    known = [stored.benchmarks[name] for name in (item.nodeid, *names) if name in stored.benchmarks]
    judged = any(pairing.sample is not None for pairing in timed.pairings)
    if not known:
        yield not_judged(
            THROUGHPUT_CHECK,
            f"new: baseline {stored.name!r} does not have this test",
            "write the baseline again to keep its speed, or say renamed_from= where it had another name",
            Situation.NEW,
        )
        return
    environment = session.environment
    # pytest-benchmark's own rounds do not wait for a GPU, so they are launches and no machine can vouch for them
    trust_raw = session.settings.trust_raw and not timed.device.startswith("cuda")
    yield from against_baseline(
        timed.samples,
        known[0],
        name=stored.name,
        margin=_baseline_margin(limits, session.settings),
        sure=session.sure if judged or trust_raw else session.raw_sure,
        trust_raw=trust_raw,
        doubts=stored.differences(environment) if environment is not None else (),
        work=work_of(limits),
        decided=judged,
    )


def _baseline_margin(limits: Sequence[SpeedLimit], settings: SpeedSettings) -> float:
    """The margin against a baseline; one that was meant for a peer is finer than two sessions can settle."""
    default = BASELINE_MARGIN if settings.margin is None else settings.margin
    said = [limit.margin for limit in limits if limit.margin is not None and limit.peer is None]
    return min(said, default=default)


def work_of(limits: Sequence[SpeedLimit]) -> Throughput | None:
    """The work of one call, as the closest mark that names a unit says."""
    for limit in limits:
        if limit.unit is not None:
            return Throughput(
                unit=limit.unit,
                units_per_call=limit.units_per_call,
                bytes_per_call=limit.bytes_per_call,
            )
    return None


_OUTCOMES = {
    Action.PASS: Outcome.SKIPPED,
    Action.SKIP: Outcome.INCONCLUSIVE,
    Action.FAIL: Outcome.INCONCLUSIVE,
}


def _by_policy(finding: Finding, policy: dict[Situation, Action]) -> Finding:
    """What is let pass is told and does not count; a new or skipped test that must not be is a failure."""
    if finding.situation is None:
        return finding
    action = policy[finding.situation]
    outcome = _OUTCOMES[action]
    if action is Action.FAIL and finding.situation in (Situation.NEW, Situation.SKIPPED):
        outcome = Outcome.FAILED
    text = finding.text
    if finding.situation is not Situation.INCONCLUSIVE:
        text = text.replace("INCONCLUSIVE: ", "", 1)
    return replace(finding, result=replace(finding.result, outcome=outcome), text=text)
