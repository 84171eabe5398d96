"""What the decisions of a self-check mean for a gate on this machine, in words."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime

from harness.benchmark.selfcheck import MOST_TRIED, Findings, Op, Plan, rate_bound
from harness.errors import WorkloadError
from harness.model.outcome import Outcome
from harness.model.selfcheck import POWER, SelfCheck
from harness.session.foreign import CannotTellError
from harness.stats.bootstrap import fewest_values
from harness.units import count_text, duration_text, percent_text

__all__ = ["judged", "unchecked"]

_MOST_TIMES_LONGER = 10
"""Advice one can follow: forty seconds instead of four. What needs more needs another machine."""

_PROMISED_BOUND = 0.14
"""What docs/selfcheck.md promises of an op that passed: without a false alarm their rate is below this. It takes 20
decisions; of five, none says no more than that fewer than 45 in 100 are false."""

_QUIET = "a quieter machine (other work stopped, the process pinned to a core)"


def judged(op: Op, plan: Plan, found: Findings) -> SelfCheck:
    """The record of one op: passed where a gate would raise no alarm for nothing and find what it should."""
    problem, next_step = _verdict(found, plan)
    return SelfCheck(
        key=op.key,
        parameters=dict(op.parameters),
        device=op.device,
        created=_now(),
        seed=plan.seed,
        seconds=plan.seconds,
        margin=found.margin,
        confidence=plan.confidence,
        find=found.find,
        outcome=Outcome.INCONCLUSIVE if problem else Outcome.PASSED,
        summary=f"{problem}; {_figures(found)}" if problem else _figures(found),
        next_step=next_step,
        timer=found.timer,
        call_ns=found.call_ns,
        decisions=found.decisions,
        false_alarms=found.false_alarms,
        false_alarm_bound=found.false_alarm_bound,
        ratios=found.ratios,
        spread=found.spread,
        pairs=found.pairs,
        injections=found.injections,
        smallest=found.smallest,
        estimated=found.estimated,
        computed=found.computed,
    )


def unchecked(key: str, device: str, plan: Plan, error: Exception, *, given: str = "") -> SelfCheck:
    """The record of an op that could not be checked: failed where it broke its contract."""
    broken = isinstance(error, WorkloadError) and not isinstance(error, CannotTellError)
    return unfinished(
        key,
        device,
        plan,
        Outcome.FAILED if broken else Outcome.INCONCLUSIVE,
        str(error) or type(error).__name__,
        next_step=f"make `harness run {shlex.quote(given or key)}` pass first",
    )


def unfinished(
    key: str, device: str, plan: Plan, outcome: Outcome, why: str, *, next_step: str = ""
) -> SelfCheck:
    """The record of an op that was not checked to the end."""
    return SelfCheck(
        key=key,
        parameters={},
        device=device,
        created=_now(),
        seed=plan.seed,
        seconds=plan.seconds,
        margin=plan.margin,
        confidence=plan.confidence,
        find=plan.find,
        outcome=outcome,
        summary=f"not checked: {why}",
        next_step=next_step or "repair that, then check again for the rest",
    )


def _verdict(found: Findings, plan: Plan) -> tuple[str, str]:
    """Why this machine must not gate this op, and what to do; two empty texts where it may."""
    every = found.decisions + sum(each.decisions for each in found.injections)
    if found.unsure > every * (1 - POWER):
        rounds = fewest_values(plan.confidence)
        times = max(2, math.ceil(2 * rounds / max(1, found.pairs)))
        took = duration_text(found.call_ns)
        return (
            f"too slow for {plan.seconds:g} s: {count_text(found.pairs, 'pair')} of {took} per call in a decision",
            f"give each decision more time (--seconds {plan.seconds * times:g}) or check a smaller case",
        )
    if found.false_alarms > max(1.0, found.decisions * (1 - plan.confidence)):
        return (
            "this machine calls identical code different",
            f"do not gate here before it is quiet: {_QUIET}, or a wider margin (--margin)",
        )
    if found.asked.share < POWER:
        return (
            f"this machine must not gate at {percent_text(found.find, signed=True)}",
            "; ".join(_remedies(found, plan)),
        )
    fewest = _fewest_decisions()
    if found.decisions < fewest:
        return (
            f"too few decisions to vouch: at least {fewest}",
            f"make {fewest} of each kind (--decisions {fewest})",
        )
    return "", ""


def _fewest_decisions() -> int:
    """How many decisions without any false alarm bound their rate as tightly as is promised."""
    return next(number for number in itertools.count(1) if rate_bound(0, number) < _PROMISED_BOUND)


def _remedies(found: Findings, plan: Plan) -> Iterator[str]:
    """More time where it would do, as the interval narrows with its square root; quiet; a larger slowdown."""
    needed = found.smallest or found.estimated
    if needed is not None and needed > MOST_TRIED:
        needed = None
    if needed is not None:
        times = ((needed - found.margin) / (found.find - found.margin)) ** 2
        if times <= _MOST_TIMES_LONGER:
            longer = plan.seconds * max(2, math.ceil(times))
            yield f"give each decision more time (--seconds {longer:g})"
    yield f"use {_QUIET}"
    if needed is not None:
        yield f"or be content with larger slowdowns (--find {math.ceil(needed * 1000) / 10:g}%)"
    else:
        yield "or be content with larger slowdowns (--find) and a wider margin (--margin)"


def _figures(found: Findings) -> str:
    bound = percent_text(found.false_alarm_bound)
    parts = [
        f"{count_text(found.false_alarms, 'false alarm')} in {count_text(found.decisions, 'decision')} (rate below {bound})",
        *(
            f"{percent_text(each.slowdown, signed=True)} found in {each.found} of {each.decisions}"
            for each in found.injections
        ),
    ]
    return ", ".join(parts)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
