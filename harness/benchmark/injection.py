"""A known slowdown: more calls in the time of fewer, exact by count on any clock."""

from __future__ import annotations

import math
from collections.abc import Callable

from harness.timers.base import Timer

__all__ = ["InjectingTimer"]

_ROUNDING = 1e-9
"""50 calls at 2 % are one call more, also where 50 * 0.02 falls short of 1 in the last bit."""


class InjectingTimer:
    """A timer to which one callable is slower by ``slowdown`` (0.02: 2 % more time per call), all others as they are.

    Of every ``calls`` calls asked for, it makes ``calls * slowdown`` more and reports the time of all of them: at 2 %
    51 calls for 50. A part of a call cannot be made; so much of the measured time is added in its place, 0.4 of a
    call where 70 are asked for. The calls are the op's own, so whatever disturbs it disturbs them; a device's graph
    is replayed once more like any other time. Time added without being spent is also added to ``now_ns``, so that a
    time cap leaves room for as many values as it would for code that is slow.
    """

    def __init__(self, timer: Timer, slowed: Callable[[], object], slowdown: float) -> None:
        """Raises ``ValueError`` for a slowdown that is negative or not finite."""
        if not 0 <= slowdown < math.inf:
            raise ValueError(f"slowdown is {slowdown}; give a fraction of at least 0, such as 0.02")
        self._timer, self._slowed, self._slowdown = timer, slowed, slowdown
        self._added_ns = 0.0

    @property
    def name(self) -> str:
        """That of the timer behind it: the clock is the same."""
        return self._timer.name

    @property
    def resolution_ns(self) -> float:
        """That of the timer behind it."""
        return self._timer.resolution_ns

    def measure(self, call: Callable[[], object], calls: int) -> float:
        """Nanoseconds for ``calls`` calls, of the slowed callable for as many more as the slowdown is worth."""
        if call is not self._slowed:
            return self._timer.measure(call, calls)
        wanted = calls * (1.0 + self._slowdown)
        made = math.floor(wanted + _ROUNDING)
        elapsed = self._timer.measure(call, made)
        slowed = elapsed * (wanted / made)
        self._added_ns += slowed - elapsed
        return slowed

    def now_ns(self) -> float:
        """The time of the timer behind it, and what was added."""
        return self._timer.now_ns() + self._added_ns
