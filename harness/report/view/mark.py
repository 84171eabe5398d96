"""An outcome as a reader sees it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.model.outcome import Outcome
from harness.model.verdict import INTERRUPTED, CheckResult, Run, Verdict
from harness.report.wording import MARKS

__all__ = ["Mark", "checks_of"]

_WITH_SKIPS = "passed with skips"

_OF_THE_HARNESS = frozenset({"positive control", "known defect", "peer", "timing conditions"})
"""Checks of the harness's own sight: that they passed says nothing about the code under test."""


_SEVERITY = {outcome.value: outcome.severity for outcome in Outcome}


@dataclass(frozen=True, slots=True)
class Mark:
    """An outcome as its sign and its word; ``style`` names it in style sheets."""

    sign: str
    word: str
    style: str

    @property
    def severity(self) -> int:
        """That of its outcome; less than any for what is no outcome."""
        return _SEVERITY.get(self.style, -1)

    @classmethod
    def of(cls, outcome: Outcome) -> Mark:
        """The mark of an outcome."""
        return cls(MARKS[outcome], outcome.value, outcome.value)

    @classmethod
    def of_verdict(cls, verdict: Verdict) -> Mark:
        """The mark of a case; one that passed what was checked is not told as if nothing had been."""
        return cls._of_all(verdict.outcome, verdict.checks)

    @classmethod
    def of_run(cls, run: Run) -> Mark:
        """The mark of a run; an interruption that nothing worse outweighs is called by its name."""
        interrupted = any(result.check == INTERRUPTED for result in run.checks)
        if interrupted and run.outcome is Outcome.INCONCLUSIVE:
            return cls(MARKS[run.outcome], INTERRUPTED, run.outcome.value)
        return cls._of_all(run.outcome, checks_of(run))

    @classmethod
    def _of_all(cls, outcome: Outcome, checks: Iterable[CheckResult]) -> Mark:
        if outcome is Outcome.SKIPPED and any(map(_speaks_for_the_code, checks)):
            return cls(MARKS[outcome], _WITH_SKIPS, outcome.value)
        return cls.of(outcome)


def checks_of(run: Run) -> tuple[CheckResult, ...]:
    """Every result of a run: those of the run itself, then those of its cases."""
    return (*run.checks, *(result for verdict in run.verdicts for result in verdict.checks))


def _speaks_for_the_code(result: CheckResult) -> bool:
    return result.outcome is Outcome.PASSED and result.check not in _OF_THE_HARNESS
