"""The host's monotonic clock."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from itertools import repeat

__all__ = ["HostTimer"]


class HostTimer:
    """``time.perf_counter_ns`` around the calls, with the garbage collector held off.

    The loop costs about 20 ns per call, the same for every callable. Right for work that is done when the
    call returns; work queued on a device needs that device's timer.
    """

    name = "perf_counter_ns"

    @property
    def resolution_ns(self) -> float:
        """What the platform promises, at least the nanosecond that ``perf_counter_ns`` counts in."""
        return max(1.0, time.get_clock_info("perf_counter").resolution * 1e9)

    def measure(self, call: Callable[[], object], calls: int) -> float:
        """Nanoseconds for ``calls`` calls."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            start = time.perf_counter_ns()
            for _ in repeat(None, calls):
                call()
            return float(time.perf_counter_ns() - start)
        finally:
            if collecting:
                gc.enable()

    def now_ns(self) -> float:
        """Nanoseconds of the same clock."""
        return float(time.perf_counter_ns())
