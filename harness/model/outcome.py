"""How a check can end, and how strong the evidence behind it is."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from harness.errors import ExitCode

__all__ = ["Evidence", "Outcome", "worst"]


class Outcome(Enum):
    """How a check ended, from best to worst; a run is as good as its worst part."""

    PASSED = "passed"
    SKIPPED = "skipped"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"

    @property
    def severity(self) -> int:
        """0 for passed up to 3 for failed."""
        return _SEVERITIES[self]

    @property
    def exit_code(self) -> ExitCode:
        """The exit status of a command that ended so."""
        return _EXIT_CODES[self]


_SEVERITIES = {outcome: rank for rank, outcome in enumerate(Outcome)}
_EXIT_CODES = {
    Outcome.PASSED: ExitCode.PASSED,
    Outcome.SKIPPED: ExitCode.PASSED,
    Outcome.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
    Outcome.FAILED: ExitCode.FAILED,
}


class Evidence(Enum):
    """How strong the evidence behind a traffic verdict is, strongest first."""

    PROVEN = "PROVEN"
    WITNESSED = "WITNESSED"
    RECORDED = "RECORDED"
    SIMULATED = "SIMULATED"


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of the outcomes; no outcome at all is inconclusive, since nothing was checked."""
    found = list(outcomes)
    if not found:
        return Outcome.INCONCLUSIVE
    return max(found, key=lambda outcome: outcome.severity)
