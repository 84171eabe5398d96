"""Waivers: findings that are known and accepted for a while, applied to results. Pure: ``today`` is given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Run, Verdict
from harness.model.waiver import Waiver
from harness.units import count_text

__all__ = [
    "NEVER_WAIVED",
    "WAIVABLE",
    "apply_waivers",
    "covers",
    "day_text",
    "is_sighted",
    "waived",
    "waiver_notes",
]

WAIVABLE = (
    "traffic",
    "traffic-baseline",
    "throughput",
    "slowdown",
    "values",
    "gradients",
    "placement",
    "inputs",
    "capture",
    "training",
)
"""The checks that find something about the code under test, which its owners may accept for a while."""

_BLIND = "it says whether the checks can see at all, and without it nothing is known that could be accepted"
_OF_THE_RUN = "it belongs to the whole run and to no case"
_OF_PYTEST = "it is how the test itself ended; mark the test with pytest's xfail or skip"

NEVER_WAIVED: Mapping[str, str] = {
    "run": "a crash or a broken contract leaves the case unchecked, so there is no finding to accept",
    "interrupted": _OF_THE_RUN,
    "positive control": _BLIND,
    "known defect": _BLIND,
    "peer": "a frozen peer that is wrong is no yardstick, so nothing was measured that could be accepted",
    "timing conditions": "it is about the machine of one day and not about the code",
    "baseline": f"{_OF_THE_RUN}; what a missing case counts as is an option: --missing, --renamed",
    "speed": f"{_OF_THE_RUN}; what it counts as is an option: --harness-policy unjudged",
    "worker": _OF_THE_RUN,
    "test": _OF_PYTEST,
    "subtests": _OF_PYTEST,
}
"""The checks no waiver is for, and why: a hole in the view must never look like a decision."""

_CONTROLS = ("positive control", "known defect")
_BY_PROBE = ("traffic", "capture")
"""The checks that know nothing where the controls were not seen."""

_LONG_DAYS = 180
"""Half a year: two releases of most libraries, in which what was accepted for a while might have been mended."""

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
"""In English whatever the locale, as everything else is."""


def apply_waivers(run: Run, waivers: Sequence[Waiver], today: date, *, whole: bool = True) -> Run:
    """The run with every failed or inconclusive check skipped that a waiver covers, and a note on waivers of no use.

    Only checks of cases are looked at: those of the run itself, an interruption above all, stay as they are. What was
    found is kept word for word. ``whole`` says that no case was left out on purpose. Cost: cases times waivers.
    """
    if not waivers:
        return run
    verdicts = tuple(_applied(verdict, waivers, today) for verdict in run.verdicts)
    notes = waiver_notes(verdicts, waivers, today=today, whole=whole)
    return replace(run, verdicts=verdicts, notes=(*run.notes, *notes))


def waived(
    result: CheckResult, key: str, waivers: Sequence[Waiver], *, today: date, sighted: bool
) -> CheckResult:
    """One result of the case ``key``: skipped where a waiver covers it, with a word where its waiver does not.

    A waiver covers what was found. A result without evidence, since nothing was observed or compared, and one on traffic
    where the controls of the case were not seen (``sighted``) hold nothing to accept, so they stay what they are.
    """
    mine = [waiver for waiver in waivers if covers(waiver, key, result.check)]
    if not mine or result.outcome not in (Outcome.FAILED, Outcome.INCONCLUSIVE):
        return result
    valid = [waiver for waiver in mine if not _has_ended(waiver, today)]
    if not valid:
        return _ended(result, max(mine, key=lambda waiver: waiver.until), today)
    if not _is_finding(result, sighted=sighted):
        word = f"not waived, since nothing is known that could be accepted ({valid[0].reason})"
        return replace(result, details=(word, *result.details))
    return replace(
        result,
        outcome=Outcome.SKIPPED,
        summary=_text(valid[0], today),
        details=(f"found, {result.outcome.value}: {result.summary}", *result.details),
        next_step="",
        waiver=valid[0],
    )


def is_sighted(checks: Sequence[CheckResult]) -> bool:
    """Whether the controls of a case were run and seen, so that what its probe did not see was not there."""
    controls = [result for result in checks if result.check in _CONTROLS]
    return bool(controls) and all(result.outcome is Outcome.PASSED for result in controls)


def covers(waiver: Waiver, key: str, check: str) -> bool:
    """Whether a waiver names this check of the case ``key`` (``workload/case``; of a test ``file.py/name``).

    ``*`` and ``?`` stand for any characters, ``/`` among them, and nothing else is special; the first ``::`` of a
    pattern is read as ``/``, so that a test can be named as pytest names it.
    """
    return waiver.check == check and _names(waiver, key)


def waiver_notes(
    verdicts: Sequence[Verdict], waivers: Sequence[Waiver], *, today: date, whole: bool = True
) -> tuple[str, ...]:
    """What to tidy up: waivers whose check passed wherever it ran, such that matched nothing, old ones without an end.

    ``verdicts`` have the waivers applied. A check that did not run at all says nothing about its waivers; ``whole``
    says that no case was left out on purpose, without which a waiver may match nothing for good reason.
    """
    passed: list[tuple[Waiver, int]] = []
    nothing: list[Waiver] = []
    ran = {result.check for verdict in verdicts for result in verdict.checks}
    for waiver in waivers:
        found = [
            (verdict.key, result.outcome)
            for verdict in verdicts
            for result in verdict.checks
            if covers(waiver, verdict.key, result.check)
        ]
        if not found and waiver.check in ran:
            nothing.append(waiver)
        elif found and {outcome for _, outcome in found} == {Outcome.PASSED}:
            passed.append((waiver, len({key for key, _ in found})))
    notes = _notes(passed, nothing if whole else [], today)
    return (*notes, *_endless(waivers, today))


def day_text(day: date) -> str:
    """``3 January 2026``."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _applied(verdict: Verdict, waivers: Sequence[Waiver], today: date) -> Verdict:
    sighted = is_sighted(verdict.checks)
    checks = tuple(
        waived(result, verdict.key, waivers, today=today, sighted=sighted)
        for result in verdict.checks
    )
    return replace(verdict, checks=checks)


def _is_finding(result: CheckResult, *, sighted: bool) -> bool:
    return bool(result.evidence) and (sighted or result.check not in _BY_PROBE)


def _names(waiver: Waiver, key: str) -> bool:
    wanted = re.escape(waiver.case.replace("::", "/", 1))
    pattern = wanted.replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(pattern, key, re.DOTALL) is not None


def _has_ended(waiver: Waiver, today: date) -> bool:
    return bool(waiver.until) and date.fromisoformat(waiver.until) < today


def _text(waiver: Waiver, today: date) -> str:
    """``waived since 3 January 2026 (331 days) until 31 December 2026: the reason``."""
    since = date.fromisoformat(waiver.since)
    age = count_text(max(0, (today - since).days), "day")
    end = ", without an end"
    if waiver.until:
        end = f" until {day_text(date.fromisoformat(waiver.until))}"
    return f"waived since {day_text(since)} ({age}){end}: {waiver.reason}"


def _ended(result: CheckResult, waiver: Waiver, today: date) -> CheckResult:
    """As it was found, with a word on when it was accepted no longer."""
    until = date.fromisoformat(waiver.until)
    ended = f"its waiver ended on {day_text(until)}"
    ago = count_text((today - until).days, "day")
    return replace(
        result,
        summary=f"{result.summary}; {ended}",
        details=(f"{ended}, {ago} ago: {waiver.reason}", *result.details),
    )


def _notes(
    passed: Sequence[tuple[Waiver, int]], nothing: Sequence[Waiver], today: date
) -> Iterator[str]:
    for waiver, count in passed:
        ended = ", which has ended," if _has_ended(waiver, today) else ""
        where = "in the case it names" if count == 1 else f"in all {count:,} cases it names"
        yield (
            f"the waiver of {_what(waiver)}{ended} is no longer needed by this run: the check passed {where}; "
            "take the waiver out"
        )
    if nothing:
        these = ", ".join(map(_what, nothing))
        yield (
            f"{count_text(len(nothing), 'waiver')} matched nothing in this run and may be no longer needed: {these}"
        )


def _endless(waivers: Sequence[Waiver], today: date) -> Iterator[str]:
    old = [
        waiver
        for waiver in waivers
        if not waiver.until and (today - date.fromisoformat(waiver.since)).days > _LONG_DAYS
    ]
    if old:
        these = ", ".join(map(_what, old))
        which = "has no end; give it one" if len(old) == 1 else "have no end; give them one"
        yield f"{count_text(len(old), 'waiver')} older than {_LONG_DAYS} days {which} (until = ...): {these}"


def _what(waiver: Waiver) -> str:
    return f"{waiver.check} in {waiver.case!r}"
