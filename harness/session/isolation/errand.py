"""What a worker is sent to do."""

from __future__ import annotations

from dataclasses import dataclass

from harness.benchmark.stopping import StoppingRule
from harness.session.catalogue import BUILT_IN
from harness.session.record import Terms
from harness.session.verify import Settings

__all__ = ["Errand"]


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
    preparation_s: float = 60.0
    tracebacks: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The workloads asked for; without any, all that are built in."""
        return self.workloads or tuple(BUILT_IN)

    @property
    def benchmark_s(self) -> float:
        """The longest that the stopping rule lets the benchmark of a case take."""
        if not self.settings.benchmark:
            return 0.0
        return StoppingRule().patience * self.settings.seconds_per_case

    def limit_s(self, case: str) -> float:
        """When a case is ended, or without one what comes before the cases."""
        if case:
            return self.time_limit_s + self.benchmark_s
        return max(self.time_limit_s, self.preparation_s)
