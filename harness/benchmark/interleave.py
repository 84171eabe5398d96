"""One round: everything that is compared is timed side by side, in random order, in one memory layout."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from harness.benchmark.placement import Placement
from harness.errors import UnavailableError
from harness.timers.base import Timer

__all__ = ["time_round"]


def time_round(
    subjects: Sequence[Callable[[], object]],
    *,
    calls: int,
    timer: Timer,
    chance: random.Random,
    placement: Placement,
) -> list[float]:
    """Nanoseconds per call of each subject, in the subjects' order, timed in a random one.

    Random order keeps what comes second from always finding the caches warm. Raises ``UnavailableError``
    when the clock stands still or runs backwards.
    """
    order = chance.sample(range(len(subjects)), len(subjects))
    placement.before_round([subjects[index] for index in order])
    started_ns = timer.now_ns()
    times = [0.0] * len(subjects)
    for index in order:
        elapsed = timer.measure(subjects[index], calls)
        if elapsed <= 0:
            raise UnavailableError(
                f"timer {timer.name!r} read {elapsed:g} ns over {calls:,} calls where calibration saw time pass; "
                f"the machine's clock jumped, run again"
            )
        times[index] = elapsed / calls
    placement.after_round(timer.now_ns() - started_ns)
    return times
