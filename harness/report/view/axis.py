"""One log axis for every ratio of a run, so that bars and dots can be compared down the page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from harness.model.verdict import Verdict

__all__ = ["Axis", "Place", "Tick", "axis_alone", "axis_of"]

_MOST_MARGINS = 12.0
"""Where the axis ends at most: a margin is then a twelfth of either half, seven pixels in a cell of the table. What
lies beyond is drawn at the edge with an arrow."""

_ROOM = 1.15
"""The furthest end of an interval does not touch the edge."""

_STEPS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Place:
    """Where on the axis, in percent from the left; ``beyond`` is -1 or 1 where the edge stands for what lies past it."""

    at: float
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place: ``+5 %``."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """From ``exp(-reach)`` to ``exp(reach)`` times, 1 in the middle."""

    reach: float

    def place(self, ratio: float) -> Place:
        """Where a positive ratio lies."""
        share = math.log(ratio) / self.reach
        if abs(share) > 1.0:
            side = 1 if share > 0 else -1
            return Place(50.0 + 50.0 * side, side)
        return Place(round(50.0 + 50.0 * share, 2))

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """One, and a round slowdown and speedup as far out as they fit."""
        fitting = [step for step in _STEPS if math.log1p(step) < 0.85 * self.reach]
        if not fitting:
            return (Tick(50.0, "1x"),)
        step = fitting[-1]
        down, up = self.place(1 / (1 + step)).at, self.place(1 + step).at
        return (
            Tick(down, f"{1 / (1 + step):.3g}x"),
            Tick(50.0, "1x"),
            Tick(up, f"{1 + step:.3g}x"),
        )


def axis_of(verdicts: Iterable[Verdict]) -> Axis | None:
    """The axis that fits all intervals and margins, up to twelve times the widest margin; none without a ratio."""
    changes = [
        result.change
        for verdict in verdicts
        for result in verdict.checks
        if result.change is not None
    ]
    if not changes:
        return None
    margin = max(_size(1 + change.margin) for change in changes)
    ends = [_size(end) for change in changes for end in (change.ratio.low, change.ratio.high)]
    needed = _needed(ends, margin)
    return Axis(min(needed, _MOST_MARGINS * margin) if margin else needed)


def axis_alone(ratios: Iterable[float], margin: float) -> Axis:
    """The axis of one case by itself, wide enough for these ratios however far out."""
    return Axis(_needed(map(_size, ratios), _size(1 + margin)))


def _needed(sizes: Iterable[float], margin: float) -> float:
    return max(2 * margin, math.log1p(_STEPS[0]), *(size * _ROOM for size in sizes))


def _size(ratio: float) -> float:
    """How far from 1 on the log scale; nothing for what is no ratio."""
    return abs(math.log(ratio)) if 0 < ratio < math.inf else 0.0
