"""The verdict in ten seconds: outcome, evidence, exit status, and the reason in a sentence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from harness.model.outcome import Evidence, Outcome
from harness.model.verdict import INTERRUPTED, Run
from harness.report.view.mark import Mark, checks_of
from harness.report.view.since import since_text, speed_text
from harness.report.view.steps import Step
from harness.report.view.waivers import waived_count
from harness.report.wording import cut, shortened, visible
from harness.units import count_text

__all__ = ["Banner", "Count", "all_of", "banner"]

_MOST_SKIPS = 2
"""Kinds of skipped checks named with their reasons in one sentence; the next steps have all of them."""

_LONGEST_REASON = 120
"""Why a check was skipped, on one line of a page."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many cases ended one way."""

    mark: Mark
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """The top of the page; ``counts`` has every outcome, also those nothing ended with.

    ``speed`` says how sure the judgements on speed are, ``since`` when a slowdown began; empty where there is none.
    """

    mark: Mark
    exit_status: int
    evidence: str
    reason: str
    counts: tuple[Count, ...]
    checks: str
    speed: str
    since: str


def banner(run: Run, findings: tuple[Step, ...]) -> Banner:
    """The verdict of a run; ``findings`` are its next steps, the first of which explains it."""
    mark = Mark.of_run(run)
    return Banner(
        mark=mark,
        exit_status=run.exit_status,
        evidence=_evidence(run),
        reason=_reason(run, mark, findings),
        counts=_counts(run),
        checks=_checks_text(run),
        speed=speed_text(run),
        since=since_text(run),
    )


def _counts(run: Run) -> tuple[Count, ...]:
    ended = Counter(map(Mark.of_verdict, run.verdicts))
    always = [Mark.of(outcome) for outcome in reversed(Outcome)]
    others = [mark for mark in ended if mark not in always]  # beside the outcome they belong to
    marks = sorted([*always, *others], key=lambda mark: -mark.severity)
    return tuple(Count(mark, ended[mark]) for mark in marks)


def _checks_text(run: Run) -> str:
    """``17 checks in 2 cases``, and how many ended how unless all of them passed."""
    checks = [result for result in checks_of(run) if result.check != INTERRUPTED]
    text = f"{count_text(len(checks), 'check')} in {count_text(len(run.verdicts), 'case')}"
    ended = Counter(result.outcome for result in checks)
    if ended.total() == ended[Outcome.PASSED]:
        return text
    waived = _waived_text(waived_count(run), of=ended[Outcome.SKIPPED])
    parts = [
        f"{ended[each]:,} {each.value}{waived if each is Outcome.SKIPPED else ''}"
        for each in reversed(Outcome)
        if ended[each]
    ]
    return f"{text}: {', '.join(parts)}"


def _waived_text(count: int, *, of: int) -> str:
    """How many of the skipped checks a waiver skipped: `` (both waived)``."""
    if not count:
        return ""
    if count < of:
        return f" ({count:,} waived)"
    return f" ({ {1: '', 2: 'both '}.get(count, 'all ') }waived)"


def _evidence(run: Run) -> str:
    """Every level the traffic verdicts rest on, the strongest first, with counts where they differ."""
    levels = Counter(verdict.traffic.evidence for verdict in run.verdicts if verdict.traffic)
    if not levels:
        return "timed only" if run.paired_with else "none (nothing watched the boundary)"
    if len(levels) == 1 and levels.total() == len(run.verdicts):
        return next(iter(levels)).value
    parts = [f"{level.value} in {levels[level]:,}" for level in Evidence if levels[level]]
    unwatched = len(run.verdicts) - levels.total()
    return ", ".join([*parts, *([f"none in {unwatched:,}"] if unwatched else [])])


def _reason(run: Run, mark: Mark, findings: tuple[Step, ...]) -> str:
    stopped = next((result for result in run.checks if result.check == INTERRUPTED), None)
    if stopped is None:
        return _sentence(run, mark, findings, finished="")
    summary = shortened(stopped.summary)
    what = f"{summary[:1].upper()}{summary[1:]}"
    if not run.verdicts:
        return f"{what}; nothing was checked"
    rest = replace(run, checks=tuple(each for each in run.checks if each is not stopped))
    others = tuple(step for step in findings if step.check != INTERRUPTED or step.cases)
    return f"{what}. {_sentence(rest, Mark.of_run(rest), others, finished=' that finished')}"


def _sentence(run: Run, mark: Mark, findings: tuple[Step, ...], *, finished: str) -> str:
    if not run.verdicts and not run.checks:
        return "Nothing was checked, so nothing is known"
    outcome, total = Outcome(mark.style), len(run.verdicts)
    if outcome is Outcome.PASSED and not total:
        return "No case ran; the checks of the whole run passed"
    if outcome is Outcome.PASSED:
        return f"{all_of(total, 'case')}{finished} passed every check{_held_against(run)}"
    if mark != Mark.of(outcome):
        return f"Every check that ran passed{_held_against(run)}; {_skips(run)}"
    return _worst(run, outcome, findings, finished=finished)


def _worst(run: Run, outcome: Outcome, findings: tuple[Step, ...], *, finished: str) -> str:
    """How many cases ended worst, and what the first of them shows."""
    total = len(run.verdicts)
    ended = sum(verdict.outcome is outcome for verdict in run.verdicts)
    mine = [step for step in findings if step.mark == Mark.of(outcome)]
    if not ended:
        return f"A check of the whole run {_verb(outcome)}: {mine[0].headline}"
    first = next(step for step in mine if step.cases)
    verb = _verb(outcome, ended)
    headline = first.headline.removeprefix(f"{outcome.value}: ")
    where = f"{first.cases[0].label}: {headline}"
    if ended < total:
        return f"{ended:,} of {count_text(total, 'case')}{finished} {verb}: {where}"
    if len(first.cases) < total:
        where = f": first {where}"
    else:
        where = f": {headline}" if first.same else f"; the slowest, {where}"
    return f"{all_of(total, 'case')}{finished} {verb}{where}"


def _skips(run: Run) -> str:
    """``2 checks were skipped: throughput (baseline 'main' has no timings of this case)``."""
    skipped = Counter(
        (result.check, result.summary)
        for result in checks_of(run)
        if result.outcome is Outcome.SKIPPED
    )
    named = [
        f"{shortened(check)} ({cut(visible(why), _LONGEST_REASON)})"
        for check, why in list(skipped)[:_MOST_SKIPS]
    ]
    if len(skipped) > _MOST_SKIPS:
        named.append(f"and for {count_text(len(skipped) - _MOST_SKIPS, 'more reason')}")
    verb = "was" if skipped.total() == 1 else "were"
    return f"{count_text(skipped.total(), 'check')} {verb} skipped: {', '.join(named)}"


def all_of(total: int, noun: str) -> str:
    """``The only case``, ``Both cases``, ``All 3 cases``."""
    words = {1: f"The only {noun}", 2: f"Both {noun}s"}
    return words.get(total, f"All {total:,} {noun}s")


def _held_against(run: Run) -> str:
    return f", held against baseline {shortened(run.baseline)}" if run.baseline else ""


def _verb(outcome: Outcome, count: int = 1) -> str:
    match outcome:
        case Outcome.INCONCLUSIVE:
            return "is inconclusive" if count == 1 else "are inconclusive"
        case Outcome.SKIPPED:
            return "was skipped" if count == 1 else "were skipped"
        case _:
            return Mark.of(outcome).word
