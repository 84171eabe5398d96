"""What the end of a process says about the code that ran in it: the one place where every command looks it up."""

from __future__ import annotations

import signal

from harness.model.outcome import Outcome

__all__ = ["outcome_of_death"]

_OWN_DOING = frozenset(
    {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}
)
"""Signals that a process brings upon itself, by what it executes; all others are sent by somebody else."""


def outcome_of_death(status: int | None) -> Outcome:
    """Failed where the code under test crashed or ended its process, inconclusive where something else did.

    ``status`` is a return code as ``subprocess`` gives it, ``None`` where it is not known. SIGKILL says nothing of
    the code: the system sends it when memory runs out.
    """
    if status is None or (status < 0 and -status not in _OWN_DOING):
        return Outcome.INCONCLUSIVE
    return Outcome.FAILED
