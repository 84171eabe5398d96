"""What a machine can tell apart: identical code against itself, and code made slower by a known amount."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.errors import ExitCode
from harness.model.environment import Environment
from harness.model.outcome import Outcome, worst

__all__ = ["POWER", "SCHEMA_VERSION", "Injection", "MachineChecks", "SelfCheck", "SelfCheckRun"]

SCHEMA_VERSION = 1
"""Raised whenever a field changes meaning or disappears; an older file loads or fails by name."""

POWER = 0.9
"""How often a slowdown must be found to count as one that this machine finds: nine times in ten, the usual
requirement of test planning between the 80 % that lets every fifth regression in and a 95 % that costs half more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """A known slowdown (0.02 is 2 % more time per call), and in how many of the ``decisions`` it was found.

    ``measured`` is the median of what the decisions estimated it to be.
    """

    slowdown: float
    found: int
    decisions: int
    measured: float

    @property
    def share(self) -> float:
        """How often it was found."""
        return self.found / self.decisions if self.decisions else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheck:
    """One op beside an identical copy of itself, again and again, on one machine.

    ``false_alarms`` of the ``decisions`` called the copy slower or faster; the true rate is below
    ``false_alarm_bound`` with 95 % confidence (exact binomial). ``ratios`` are what they estimated, ``spread`` is
    the standard deviation of their logarithms, ``pairs`` the median number of pairs behind one, ``call_ns`` the
    median time of a call. ``smallest`` is the least injected slowdown found with a power of ``POWER``;
    ``estimated`` is where that power lies by the lower bounds of all injected decisions; ``computed`` by the width
    of the intervals alone. ``None`` where not known. Settings: ``seconds`` per decision, ``margin``,
    ``confidence``, and the slowdown that was to be found (``find``). ``created`` is ISO 8601 in UTC.
    """

    key: str
    parameters: Mapping[str, str]
    device: str
    created: str
    seed: int
    seconds: float
    margin: float
    confidence: float
    find: float
    outcome: Outcome
    summary: str
    next_step: str = ""
    timer: str = ""
    call_ns: float | None = None
    decisions: int = 0
    false_alarms: int = 0
    false_alarm_bound: float = 1.0
    ratios: tuple[float, ...] = ()
    spread: float | None = None
    pairs: int = 0
    injections: tuple[Injection, ...] = ()
    smallest: float | None = None
    estimated: float | None = None
    computed: float | None = None

    @property
    def asked(self) -> Injection | None:
        """The injection of what was to be found; ``None`` where it did not come to that."""
        return next((each for each in self.injections if each.slowdown == self.find), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineChecks:
    """The self-checks of one machine, which its ``hard`` facts name: the latest of each op."""

    hard: Mapping[str, str]
    checks: tuple[SelfCheck, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheckRun:
    """Everything one ``harness selfcheck`` found; ``planned`` is how many ops it was to check."""

    environment: Environment
    checks: tuple[SelfCheck, ...]
    planned: int
    duration_s: float
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The worst of its ops; interrupted before the end, it is inconclusive at best."""
        cut_short = (Outcome.INCONCLUSIVE,) if self.interrupted else ()
        return worst((*cut_short, *(check.outcome for check in self.checks)))

    @property
    def exit_code(self) -> ExitCode:
        """The exit status of the command that made it."""
        return ExitCode.INTERRUPTED if self.interrupted else self.outcome.exit_code
