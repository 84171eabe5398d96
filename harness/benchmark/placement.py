"""Where buffers land: moved at random, settled before anything is timed, and kept while moving would cost too much."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from harness.timers.base import Timer

__all__ = ["ChangeLayout", "Placement"]

ChangeLayout = Callable[[random.Random], object]
"""Makes the next buffers land elsewhere for as long as what it returns is kept alive."""

_KEPT_FOR = 4
"""A layout is kept until the rounds in it took four times what moving there did, so that moving takes a fifth of
the time at most. An operation of microseconds then gets a layout per round, one of a millisecond one per five.

With a move that takes c rounds, noise s within a layout and s_L between layouts, ``sqrt(c) s / s_L`` rounds in each
make the ratio surest for the time (Kalibera and Jones, ISMM 2013). Two implementations of a softmax of 0.3 to 7 ms,
on two shared cores: c 1 to 1.5, s 2.6 % to 6 %, s_L 0 to 1.7 %, so three rounds or more. A layout for every pair would
have taken 1.4 times as long for the same interval, or more. The decision allows for values that share a layout."""


class Placement:
    """The layout in force, and what it cost.

    Moving buffers makes the allocator give memory back and ask for it again, and the operating system then maps
    each page at its first touch: up to three times the op's own time, paid by whoever runs first. So each
    subject is called once, untimed, after every move; what it still pays in the calls after that is its own.
    The old layout is given up before the new one is made: holes left between two layouts would send large
    buffers to places from which the allocator returns them after every call.
    """

    def __init__(self, change_layout: ChangeLayout, *, timer: Timer, chance: random.Random) -> None:
        """Take the first layout; calibration settles it."""
        self._change_layout, self._timer, self._chance = change_layout, timer, chance
        self._held: object = None
        self._cost_ns = self._used_ns = 0.0
        self._move(())

    def before_round(self, subjects: Sequence[Callable[[], object]]) -> None:
        """Move and settle if the layout has been used enough; the subjects in the order they will be timed in.

        In that order each subject is timed after another one, the first of them too.
        """
        if self._used_ns >= _KEPT_FOR * self._cost_ns:
            self._move(subjects)

    def after_round(self, round_ns: float) -> None:
        """Count the time a round took towards the layout it was taken in."""
        self._used_ns += round_ns

    def _move(self, subjects: Sequence[Callable[[], object]]) -> None:
        started_ns = self._timer.now_ns()
        self._held = None
        self._held = self._change_layout(self._chance)
        for subject in subjects:
            self._timer.measure(subject, 1)
        self._cost_ns, self._used_ns = self._timer.now_ns() - started_ns, 0.0
