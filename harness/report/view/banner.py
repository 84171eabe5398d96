"""The verdict in ten seconds: outcome, evidence, exit status, and the reason in a sentence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from harness.model.outcome import Evidence, Outcome
from harness.model.verdict import Run
from harness.report.view.mark import Mark
from harness.report.view.steps import Step
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["Banner", "Count", "banner"]


@dataclass(frozen=True, slots=True)
class Count:
    """How many cases ended one way."""

    mark: Mark
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """The top of the page; ``counts`` has every outcome, also those nothing ended with."""

    mark: Mark
    exit_status: int
    evidence: str
    reason: str
    counts: tuple[Count, ...]
    checks: str


def banner(run: Run, findings: tuple[Step, ...]) -> Banner:
    """The verdict of a run; ``findings`` are its next steps, the first of which explains it."""
    ended = Counter(verdict.outcome for verdict in run.verdicts)
    checks = sum(len(verdict.checks) for verdict in run.verdicts) + len(run.checks)
    return Banner(
        mark=Mark.of(run.outcome),
        exit_status=int(run.exit_code),
        evidence=_evidence(run),
        reason=_reason(run, ended, findings),
        counts=tuple(Count(Mark.of(outcome), ended[outcome]) for outcome in reversed(Outcome)),
        checks=f"{count_text(checks, 'check')} in {count_text(len(run.verdicts), 'case')}",
    )


def _evidence(run: Run) -> str:
    """Every level the traffic verdicts rest on, the strongest first, with counts where they differ."""
    levels = Counter(verdict.traffic.evidence for verdict in run.verdicts if verdict.traffic)
    if not levels:
        return "none (nothing watched the boundary)"
    if len(levels) == 1 and levels.total() == len(run.verdicts):
        return next(iter(levels)).value
    parts = [f"{level.value} in {levels[level]:,}" for level in Evidence if levels[level]]
    unwatched = len(run.verdicts) - levels.total()
    return ", ".join([*parts, *([f"none in {unwatched:,}"] if unwatched else [])])


def _reason(run: Run, ended: Counter[Outcome], findings: tuple[Step, ...]) -> str:
    if not run.verdicts and not run.checks:
        return "Nothing was checked, so nothing is known"
    outcome, total = run.outcome, len(run.verdicts)
    if outcome is Outcome.PASSED and not total:
        return "No case ran; the checks of the whole run passed"
    if outcome is Outcome.PASSED:
        return f"{_all(total)} passed every check{_held_against(run)}"
    mine = [step for step in findings if step.mark == Mark.of(outcome)]
    if not ended[outcome]:
        return f"A check of the whole run {_verb(outcome)}: {mine[0].finding}"
    first = next(step for step in mine if step.cases)
    where = f"{first.cases[0].label}: {first.finding}"
    verb = _verb(outcome, ended[outcome])
    if ended[outcome] == total:
        return f"{_all(total)} {verb}: {first.finding if total == 1 else f'first {where}'}"
    return f"{ended[outcome]:,} of {count_text(total, 'case')} {verb}: {where}"


def _all(total: int) -> str:
    return "The only case" if total == 1 else f"All {total:,} cases"


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
