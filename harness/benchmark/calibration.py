"""How many calls make one value: enough for the clock, no more than the time there is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from harness.errors import UnavailableError
from harness.timers.base import Timer

__all__ = ["Calibration", "calibrate"]

_LEAST_NS = 1e6
"""One value lasts at least 1 ms: interrupts and timer reads (under 1 us each) then weigh under 0.1 %."""

_RESOLUTION_STEPS = 1000
"""And at least this many clock steps, so that reading the clock adds under 0.1 % of error."""

_MOST_CALLS = 10_000_000
"""A bare Python loop of so many calls takes 0.2 s; an operation too fast even then is taken as it is."""

_STANDING_S = 0.5
"""A clock that shows nothing of half a second by the host's own is none: a thousand of its steps would take minutes,
and ten million calls of a slow operation, days."""

_FASTEST_GROWTH = 10
"""The next try makes at most ten times as many calls: one disturbed value must not cost the whole budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """``calls`` for one value, the nanoseconds one call took then, and how many calls finding that out took."""

    calls: int
    call_ns: float
    spent_calls: int


def calibrate(call: Callable[[], object], timer: Timer) -> Calibration:
    """Find how many calls last one millisecond and a thousand clock steps.

    The first call is not counted: it may compile or load. Raises ``UnavailableError`` when the clock stands
    still or runs backwards.
    """
    least_ns = max(_LEAST_NS, _RESOLUTION_STEPS * timer.resolution_ns)
    timer.measure(call, 1)
    calls, spent = 1, 1
    began_s = time.monotonic()
    while True:
        elapsed = timer.measure(call, calls)
        spent += calls
        if elapsed >= least_ns or (calls == _MOST_CALLS and elapsed > 0):
            return Calibration(calls=calls, call_ns=elapsed / calls, spent_calls=spent)
        stands = elapsed == 0 and time.monotonic() - began_s > _STANDING_S
        if elapsed < 0 or stands or calls == _MOST_CALLS:
            raise UnavailableError(
                f"timer {timer.name!r} read {elapsed:g} ns over {calls:,} calls, so nothing can be timed with it; "
                f"check the machine's clock source"
            )
        wanted = calls * least_ns / elapsed * 1.1 if elapsed else calls * _FASTEST_GROWTH
        calls = min(_MOST_CALLS, max(calls + 1, round(min(wanted, calls * _FASTEST_GROWTH))))
