"""What a reader must know of a case beside its numbers, in a word each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from harness.model.outcome import Outcome
from harness.model.verdict import TIMING_CONDITIONS, CheckResult, Verdict
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["Flag", "few_values", "flags"]

_NEW = re.compile(r"not in baseline .*", re.DOTALL)
"""How a comparison with a baseline tells a case that the baseline does not have."""

_FEWEST_VALUES = 6
"""The extremes of n values miss the median with probability 2 x 0.5^n, above 5 % for fewer than six."""

_LONGEST = 280
"""Three lines of a tooltip; the whole of it stands with its check."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A word beside a case, and what it means there in a sentence."""

    word: str
    meaning: str


def flags(verdict: Verdict) -> tuple[Flag, ...]:
    """The flags of a case, what was accepted first."""
    return (
        *_waived(verdict.checks),
        *_conditions(verdict),
        *_new(verdict.checks),
        *_few_values(verdict),
    )


def _waived(checks: Iterable[CheckResult]) -> Iterable[Flag]:
    waived = [check for check in checks if check.waiver is not None]
    told = [
        f"{check.check}: {check.waiver.reason}"
        + (f" (until {check.waiver.until})" if check.waiver.until else " (no end)")
        for check in waived
        if check.waiver is not None
    ]
    if told:
        yield Flag("waived", _sentence("accepted for a while", dict.fromkeys(told)))


def _conditions(verdict: Verdict) -> Iterable[Flag]:
    limits = dict.fromkeys(reason for each in verdict.conditions for reason in each.limited)
    found = [
        check.summary
        for check in verdict.checks
        if check.check == TIMING_CONDITIONS and check.outcome is not Outcome.PASSED
    ]
    if found:
        yield Flag("disturbed", _sentence("while it was timed", found))
    elif limits:
        yield Flag("throttled", _sentence("what held the clocks back", limits))


def _new(checks: Iterable[CheckResult]) -> Iterable[Flag]:
    found = dict.fromkeys(check.summary for check in checks if _NEW.fullmatch(check.summary))
    if found:
        yield Flag("new", _sentence("nothing to compare with", found))


def few_values(verdict: Verdict) -> str:
    """``3 values``, where a case was timed and these are too few for an interval to be trusted; else empty."""
    if verdict.sample is None or len(verdict.sample.call_ns) >= _FEWEST_VALUES:
        return ""
    return count_text(len(verdict.sample.call_ns), "value")


def _few_values(verdict: Verdict) -> Iterable[Flag]:
    count = few_values(verdict)
    if count:
        yield Flag(count, f"timed {count}: too few for an interval to be trusted")


def _sentence(what: str, found: Iterable[str]) -> str:
    return shortened(f"{what}: {'; '.join(found)}", limit=_LONGEST)
