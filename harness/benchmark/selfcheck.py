"""One op against itself, again and again: how often identical code is called different, and what slowdown is found."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, stdev

from harness.benchmark.injection import InjectingTimer
from harness.benchmark.placement import ChangeLayout
from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.errors import UsageError
from harness.model.selfcheck import POWER, Injection
from harness.stats.change import Change, Decision, compare_pairs
from harness.stats.distributions import beta_quantile
from harness.stats.power import smallest_detectable
from harness.timers.base import Timer
from harness.units import percent_text

__all__ = ["ARMS", "MOST_TRIED", "Findings", "Op", "Plan", "check_op", "rate_bound"]

Call = Callable[[], object]

_TRIES = 2
"""Where neither the slowdown asked for nor the first one tried beside it was found, a second one is tried."""

ARMS = 2 + _TRIES
"""Decisions come in so many kinds at most, equally many of each: identical code, the slowdown asked for, and those
tried beside it to learn the smallest."""

_STEP = 0.001
"""Slowdowns are tried in steps of 0.1 %: finer differences vanish in what the machine does from hour to hour."""

MOST_TRIED = 0.5
"""Where only code half as slow again would be found, the answer is no, and trying it out is a waste of time."""

_FURTHER = 1.2
"""How far beyond a slowdown that was not found the next one is at least: a finer step would likely miss again."""

_AS_GOOD = 0.95
"""A smallest slowdown this near the one asked for is that one: it has been tried already."""

_TRIED_POWER = (1.0 + POWER) / 2
"""What is found 95 times in 100 is found at least 18 times in 20 in 92 of 100 self-checks; what is found 90 times,
only in 68 of them."""

_BOUND_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to check: ``decisions`` of each kind, each as long as ``seconds``; ``find`` is the slowdown to be found.

    ``margin`` and ``confidence`` are those of the decisions. Raises ``UsageError`` for a slowdown that no decision
    with this margin can find.
    """

    seconds: float = 4.0
    decisions: int = 20
    find: float = 0.02
    margin: float = 0.01
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.find > self.margin:
            raise UsageError(
                f"a slowdown of {percent_text(self.find)} is not beyond the margin of {percent_text(self.margin)}, so "
                "no decision can find it; ask for more (--find) or narrow the margin (--margin)"
            )

    def for_margin(self, margin: float | None) -> tuple[float, float]:
        """Margin and slowdown to be found of an op: one with a margin of its own is asked for as many times that."""
        if margin is None:
            return self.margin, self.find
        return margin, max(self.find, margin * self.find / self.margin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """What is checked: ``pair`` makes two identical calls, each with inputs of its own, for one decision.

    ``timer`` makes a clock for one decision. ``margin`` is the op's own, ``None`` for that of the plan.
    """

    key: str
    device: str
    pair: Callable[[], tuple[Call, Call]]
    timer: Callable[[], Timer]
    change_layout: ChangeLayout
    parameters: Mapping[str, str] = field(default_factory=dict)
    margin: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the decisions on one op were; see ``harness.model.selfcheck.SelfCheck`` for the names.

    ``unsure`` of all decisions had too few pairs to be sure of anything.
    """

    margin: float
    find: float
    decisions: int
    false_alarms: int
    ratios: tuple[float, ...]
    injections: tuple[Injection, ...]
    estimated: float | None
    computed: float | None
    unsure: int
    pairs: int
    call_ns: float
    timer: str

    @property
    def false_alarm_bound(self) -> float:
        """The rate of false alarms is below this, with 95 % confidence."""
        return rate_bound(self.false_alarms, self.decisions)

    @property
    def spread(self) -> float | None:
        """The standard deviation of the logarithms of the estimated ratios."""
        return stdev(map(math.log, self.ratios)) if len(self.ratios) > 1 else None

    @property
    def asked(self) -> Injection:
        """What became of the slowdown that was to be found."""
        return next(each for each in self.injections if each.slowdown == self.find)

    @property
    def smallest(self) -> float | None:
        """The least slowdown found often enough, as long as every larger one was too."""
        return _smallest(self.injections)


def rate_bound(events: int, trials: int) -> float:
    """What the rate of an event seen so often lies below with 95 % confidence (exact: Clopper and Pearson 1934).

    None in 20 trials means below 14 %.
    """
    if events >= trials:
        return 1.0
    return beta_quantile(_BOUND_CONFIDENCE, events + 1.0, trials - events)


def check_op(op: Op, plan: Plan, *, told: Callable[[], object] = lambda: None) -> Findings:
    """Decide on identical code and on code slowed by what is to be found, in random order; then on the smallest.

    The smallest slowdown is first read off the lower bounds of the injected decisions: had the same values been
    slower by another factor, the bounds would have been too. Then it is injected. ``told`` is called after each
    decision. What the op raises passes through, as does ``UnavailableError`` of a clock that stands still.
    """
    margin, find = plan.for_margin(op.margin)
    chance = random.Random(plan.seed)
    maker = _Decider(op, plan, margin=margin, find=find, told=told)
    order = [0.0] * plan.decisions + [find] * plan.decisions
    chance.shuffle(order)
    made = [maker.decide(slowdown) for slowdown in order]
    for _ in range(_TRIES):
        tried = _worth_trying(made, find=find, margin=margin)
        if tried is None:
            break
        made += [maker.decide(tried) for _ in range(plan.decisions)]
    identical = [each for each in made if not each.slowdown]
    ratios = [each.change.ratio.value for each in identical if each.change.ratio is not None]
    within = [each.change for each in identical if each.change.ratio is not None]
    return Findings(
        margin=margin,
        find=find,
        decisions=len(identical),
        false_alarms=sum(each.change.decision in _DIFFERENT for each in identical),
        ratios=tuple(ratios),
        injections=_injections(made),
        estimated=_found_at(made, margin, POWER),
        computed=_finite(median(map(smallest_detectable, within))) if within else None,
        unsure=sum(not each.sure for each in made),
        pairs=round(median(each.pairs for each in made)),
        call_ns=median(each.call_ns for each in identical),
        timer=made[0].timer,
    )


_DIFFERENT = (Decision.REGRESSED, Decision.IMPROVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """One decision, on code slower by ``slowdown``."""

    slowdown: float
    change: Change
    sure: bool
    pairs: int
    call_ns: float
    timer: str

    @property
    def unslowed_bound(self) -> float:
        """The lower bound of the ratio had nothing been injected; 0 where there is none to rely on."""
        ratio = self.change.ratio
        return ratio.low / (1.0 + self.slowdown) if ratio is not None and self.sure else 0.0


class _Decider:
    """Makes decisions, each on fresh inputs, in a memory layout and an order of its own."""

    def __init__(
        self, op: Op, plan: Plan, *, margin: float, find: float, told: Callable[[], object]
    ) -> None:
        self._op, self._plan, self._margin, self._told = op, plan, margin, told
        usual = StoppingRule(time_cap_ns=plan.seconds * 1e9)
        # An interval this wide around what is to be found stays clear of the margin nine times in ten.
        narrow = min(usual.half_width, (find - margin) / 2)
        self._rule = StoppingRule(time_cap_ns=plan.seconds * 1e9, half_width=narrow)
        self._number = 0

    def decide(self, slowdown: float) -> _Made:
        """Time the pair and decide; which of the two counts as the candidate changes from decision to decision."""
        self._number += 1
        seed = self._plan.seed + self._number
        candidate, baseline = self._op.pair()
        if self._number % 2:
            candidate, baseline = baseline, candidate
        sample = measure(
            candidate,
            baseline,
            timer=InjectingTimer(self._op.timer(), candidate, slowdown),
            seed=seed,
            rule=self._rule,
            change_layout=self._op.change_layout,
        )
        change = compare_pairs(
            sample.call_ns,
            sample.peer_ns,
            margin=self._margin,
            confidence=self._plan.confidence,
            process_starts=sample.process_starts,
        )
        self._told()
        ratio = change.ratio
        return _Made(
            slowdown=slowdown,
            change=change,
            sure=ratio is not None and ratio.confidence >= self._plan.confidence,
            pairs=len(sample.call_ns),
            call_ns=median(sample.peer_ns),
            timer=sample.timer,
        )


def _found_at(made: Sequence[_Made], margin: float, power: float) -> float | None:
    """The slowdown whose lower bound would have cleared the margin in this share of the injected decisions."""
    bounds = sorted(each.unslowed_bound for each in made if each.slowdown)
    missed = math.floor(len(bounds) * (1.0 - power) + 1e-9)
    bound = bounds[missed]
    return (1.0 + margin) / bound - 1.0 if bound > 0 else None


def _worth_trying(made: Sequence[_Made], *, find: float, margin: float) -> float | None:
    """The slowdown to inject beside the one asked for, in whole steps; ``None`` where nothing is left to learn."""
    injections = _injections(made)
    smallest, tried = _smallest(injections), [each.slowdown for each in injections]
    if smallest is not None and len(tried) > 1:
        return None
    estimated = _found_at(made, margin, _TRIED_POWER)
    if estimated is None:
        return None
    wanted = max(estimated, margin + _STEP / 2)
    if smallest is None:
        wanted = max(wanted, _FURTHER * max(tried))
    rounded = round(math.ceil(wanted / _STEP - 1e-9) * _STEP, 6)
    if rounded > MOST_TRIED or (smallest is not None and rounded >= _AS_GOOD * find):
        return None
    return rounded


def _smallest(injections: Sequence[Injection]) -> float | None:
    least = None
    for each in sorted(injections, key=lambda each: -each.slowdown):
        if each.share < POWER:
            break
        least = each.slowdown
    return least


def _injections(made: Sequence[_Made]) -> tuple[Injection, ...]:
    by_slowdown: dict[float, list[_Made]] = {}
    for each in made:
        if each.slowdown:
            by_slowdown.setdefault(each.slowdown, []).append(each)
    return tuple(
        Injection(
            slowdown=slowdown,
            found=sum(each.change.decision is Decision.REGRESSED for each in group),
            decisions=len(group),
            measured=median(
                each.change.ratio.value if each.change.ratio is not None else 1.0 for each in group
            )
            - 1.0,
        )
        for slowdown, group in sorted(by_slowdown.items())
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
