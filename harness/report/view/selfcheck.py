"""What this machine can tell apart, as one row per op and one sentence for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from harness.model.outcome import Outcome
from harness.model.selfcheck import Injection, SelfCheck
from harness.report.view.mark import Mark
from harness.report.wording import shortened, visible
from harness.units import count_text, duration_text, percent_text

__all__ = [
    "SELF_CHECK_COMMAND",
    "CheckedOp",
    "FoundSlowdown",
    "SelfCheckView",
    "self_check_text",
    "self_check_view",
]

SELF_CHECK_COMMAND = "harness selfcheck"

_MOST_TOLD = 1.0
"""Where only code twice as slow might be found, nobody is helped by how much slower it would have to be."""

_OLD = timedelta(days=30)
"""A month: kernels, neighbours and firmware of a runner have changed by then."""


@dataclass(frozen=True, slots=True)
class FoundSlowdown:
    """``+2.0 % in 19 of 20``, and what it was ``seen`` as."""

    text: str
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOp:
    """One op: how often identical code was called different, and which slowdowns were found how often."""

    key: str
    mark: Mark
    call_time: str
    alarms: str
    spread: str
    found: tuple[FoundSlowdown, ...]
    smallest: str
    settings: str
    created: str
    age: str
    summary: str
    next_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheckView:
    """``sentence`` is all of it in a line; ``ops`` are empty, and ``command`` says what to do, where none was made."""

    sentence: str
    ops: tuple[CheckedOp, ...]
    command: str
    mark: Mark


def self_check_view(checks: Sequence[SelfCheck], *, now: str) -> SelfCheckView:
    """The stored checks of one machine, their ages as of ``now`` (ISO 8601), those that did not pass first."""
    if not checks:
        return SelfCheckView(
            sentence="none was made on this machine, so nobody knows which slowdowns it can find",
            ops=(),
            command=SELF_CHECK_COMMAND,
            mark=Mark.of(Outcome.SKIPPED),
        )
    ordered = sorted(checks, key=lambda check: -check.outcome.severity)
    old = any(_is_old(check, now) for check in checks)
    return SelfCheckView(
        sentence=_sentence(checks, now),
        ops=tuple(_op(check, now) for check in ordered),
        command=SELF_CHECK_COMMAND if old else "",
        mark=Mark.of(ordered[0].outcome),
    )


def self_check_text(view: SelfCheckView) -> str:
    """The sentence with the command that helps, where one does."""
    return f"{view.sentence}; make one: {view.command}" if view.command else view.sentence


def _sentence(checks: Sequence[SelfCheck], now: str) -> str:
    """``7 of 8 ops can be gated; 0 false alarms in 160 decisions; smallest slowdown found +1.3 % to +1.9 %; 3 h ago``."""
    able = sum(check.outcome is Outcome.PASSED for check in checks)
    decisions = sum(check.decisions for check in checks)
    parts = [f"{able} of {count_text(len(checks), 'op')} can be gated on this machine"]
    if decisions:
        alarms = sum(check.false_alarms for check in checks)
        parts.append(
            f"{count_text(alarms, 'false alarm')} in {count_text(decisions, 'decision')} on identical code"
        )
    found = [check.smallest for check in checks if check.smallest is not None]
    if found:
        parts.append(f"smallest slowdown found {_range(found)}")
    parts.append(_oldest(checks, now))
    return "; ".join(parts)


def _range(found: Sequence[float]) -> str:
    least, most = (percent_text(each, signed=True) for each in (min(found), max(found)))
    return least if least == most else f"{least} to {most}"


def _oldest(checks: Sequence[SelfCheck], now: str) -> str:
    oldest = max(checks, key=lambda check: _since(check, now) or timedelta())
    return f"{_age(oldest, now)}{', which is old' if _is_old(oldest, now) else ''}"


def _is_old(check: SelfCheck, now: str) -> bool:
    since = _since(check, now)
    return since is not None and since > _OLD


def _op(check: SelfCheck, now: str) -> CheckedOp:
    checked = bool(check.decisions)
    return CheckedOp(
        key=shortened(check.key),
        mark=Mark.of(check.outcome),
        call_time=duration_text(check.call_ns) if check.call_ns else "",
        alarms=f"{check.false_alarms} of {check.decisions} (< {_bound(check)})" if checked else "",
        spread=_fine(check.spread) if check.spread is not None else "",
        found=tuple(map(_found, check.injections)),
        smallest=_smallest(check),
        settings=(
            f"{check.seconds:g} s per decision, margin {percent_text(check.margin)}, "
            f"{percent_text(check.confidence)} sure, on {shortened(check.device)}"
        ),
        created=shortened(check.created),
        age=_age(check, now),
        summary=visible(check.summary),
        next_step=visible(check.next_step),
    )


def _bound(check: SelfCheck) -> str:
    return percent_text(check.false_alarm_bound)


def _found(each: Injection) -> FoundSlowdown:
    text = f"{percent_text(each.slowdown, signed=True)} in {each.found} of {each.decisions}"
    return FoundSlowdown(text, percent_text(each.measured, signed=True))


def _smallest(check: SelfCheck) -> str:
    """The least that was found; else where it should lie, which was not tried."""
    if check.smallest is not None:
        return percent_text(check.smallest, signed=True)
    if check.estimated is not None and check.estimated < _MOST_TOLD:
        return f"none; about {percent_text(check.estimated, signed=True)} might be"
    return "none" if check.decisions else ""


def _fine(fraction: float) -> str:
    """A scatter, which may well be a tenth of a per cent."""
    return f"{fraction * 100:.2f} %"


def _since(check: SelfCheck, now: str) -> timedelta | None:
    """How long ago; ``None`` where one of the dates is none."""
    try:
        return max(timedelta(), datetime.fromisoformat(now) - datetime.fromisoformat(check.created))
    except (
        ValueError,
        TypeError,
        OverflowError,
    ):  # TypeError: one with a time zone and one without
        return None


def _age(check: SelfCheck, now: str) -> str:
    since = _since(check, now)
    if since is None:
        return "no date known"
    if since >= timedelta(days=2):
        return f"{count_text(since.days, 'day')} ago"
    if since >= timedelta(hours=2):
        return f"{int(since / timedelta(hours=1))} h ago"
    if since >= timedelta(minutes=2):
        return f"{int(since / timedelta(minutes=1))} min ago"
    return "just now"
