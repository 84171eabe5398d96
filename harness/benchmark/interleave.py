"""One round: everything that is compared is timed side by side, in random order, in a fresh memory layout."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from harness.errors import UnavailableError
from harness.timers.base import Timer

__all__ = ["ChangeLayout", "time_round"]

ChangeLayout = Callable[[random.Random], object]
"""Makes the next buffers land elsewhere for as long as what it returns is kept alive."""


def time_round(
    subjects: Sequence[Callable[[], object]],
    *,
    calls: int,
    timer: Timer,
    chance: random.Random,
    change_layout: ChangeLayout,
) -> list[float]:
    """Nanoseconds per call of each subject, in the subjects' order, timed in a random one.

    Random order keeps what comes second from always finding the caches warm. Raises ``UnavailableError``
    when the clock stands still or runs backwards.
    """
    layout = change_layout(chance)
    times = [0.0] * len(subjects)
    for index in chance.sample(range(len(subjects)), len(subjects)):
        elapsed = timer.measure(subjects[index], calls)
        if elapsed <= 0:
            raise UnavailableError(
                f"timer {timer.name!r} read {elapsed:g} ns over {calls:,} calls where calibration saw time pass; "
                f"the machine's clock jumped, run again"
            )
        times[index] = elapsed / calls
    del layout
    return times
