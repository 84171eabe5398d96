"""The seam between the benchmark and a clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["Timer"]


class Timer(Protocol):
    """Measures calls; one file per clock."""

    @property
    def name(self) -> str:
        """What the sample says it was taken with; samples of different timers are never compared."""
        ...

    @property
    def resolution_ns(self) -> float:
        """The smallest difference the clock can show."""
        ...

    def measure(self, call: Callable[[], object], calls: int) -> float:
        """Nanoseconds from before the first to after the last of ``calls`` calls, all their work done.

        A device timer waits for the device at both ends. What ``call`` raises passes through.
        """
        ...

    def now_ns(self) -> float:
        """The time that budgets are kept in: wall-clock nanoseconds since some fixed point."""
        ...
