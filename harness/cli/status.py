"""Outcomes to exit statuses: the one place where a result becomes a number for the shell."""

from __future__ import annotations

from harness.errors import ExitCode
from harness.model.outcome import Outcome

__all__ = ["INTERRUPTED_STATUS", "exit_status"]

INTERRUPTED_STATUS = 130
"""128 + SIGINT, as shells report it."""

_STATUS = {
    Outcome.PASSED: ExitCode.PASSED,
    Outcome.SKIPPED: ExitCode.PASSED,
    Outcome.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
    Outcome.FAILED: ExitCode.FAILED,
}


def exit_status(outcome: Outcome) -> int:
    """The exit status that says how something ended."""
    return int(_STATUS[outcome])
