"""What a worker is sent to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from harness.benchmark.stopping import StoppingRule
from harness.session.catalogue import UNASKED
from harness.session.record import Terms
from harness.session.verify import Settings

__all__ = ["PREPARATION_S", "Errand", "Limits", "TimeLimit"]

PREPARATION_S = 60.0
"""Importing packages and starting a GPU take seconds; a minute where everything is busy."""


class Limits(Protocol):
    """When a case counts as hung: after ``time_limit_s``, without the ``benchmark_s`` that its timing may take."""

    @property
    def time_limit_s(self) -> float:
        """For each case."""
        ...

    @property
    def benchmark_s(self) -> float:
        """The longest that timing may take before the limit begins to count."""
        ...

    def limit_s(self, case: str) -> float:
        """When a case is ended, or without one what comes before the cases."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimit:
    """Limits as numbers."""

    time_limit_s: float
    benchmark_s: float = 0.0
    preparation_s: float = PREPARATION_S

    def limit_s(self, case: str) -> float:
        """As ``Limits`` says; what comes before the cases has at least ``preparation_s``."""
        if case:
            return self.time_limit_s + self.benchmark_s
        return max(self.time_limit_s, self.preparation_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """Names as given on the command line, and how the cases are run.

    ``time_limit_s`` is for each case, without the time its benchmark may take; what comes before and between the
    cases, importing packages and starting a GPU above all, has at least ``preparation_s``. With ``tracebacks`` the exceptions of
    workloads, and where every thread was when a process ended, are printed on standard error.
    """

    workloads: tuple[str, ...]
    device: str
    settings: Settings
    terms: Terms
    time_limit_s: float
    preparation_s: float = PREPARATION_S
    tracebacks: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The workloads asked for; without any, those taken unasked."""
        return self.workloads or UNASKED

    @property
    def benchmark_s(self) -> float:
        """The longest that the stopping rule lets the benchmark of a case take."""
        if not self.settings.benchmark:
            return 0.0
        return StoppingRule().patience * self.settings.seconds_per_case

    def limit_s(self, case: str) -> float:
        """When a case is ended, or without one what comes before the cases."""
        return TimeLimit(
            time_limit_s=self.time_limit_s,
            benchmark_s=self.benchmark_s,
            preparation_s=self.preparation_s,
        ).limit_s(case)
