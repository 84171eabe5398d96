"""The field of a roofline: two log axes, and the two measured roofs over them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.report.view.axis import Tick
from harness.report.view.labels_beside import TEXT_WIDTH, Box, Place
from harness.units import rate_text

__all__ = ["HEIGHT", "NARROWEST", "Field", "Roof", "figure_text"]

HEIGHT = 300
"""Pixels of the picture; its width is that of the page."""

NARROWEST = 620
"""Pixels the field has at least where names are drawn; narrower pages have numbers."""

_ABOVE, _BELOW = -8.0, 18.0
"""Pixels from a line to the foot of a text over or under it."""


@dataclass(frozen=True, slots=True)
class Roof:
    """One measured roof from ``start`` to ``end``, each in percent from the left and pixels from the top.

    Its name stands ``name_dy`` pixels below the line: of the copy at its start, of the product at its end.
    """

    start: Place
    end: Place
    text: str
    name_dy: float


@dataclass(frozen=True, slots=True)
class Field:
    """Operations per byte across, operations per second up, around the roofs ``copy`` and ``peak``."""

    copy: float
    peak: float
    left: float
    right: float
    low: float
    high: float

    @classmethod
    def around(cls, dots: Sequence[tuple[float, float]], copy: float, peak: float) -> Field:
        """Every dot (intensity, rate), the ridge, and half a decade around them, so that there are two ticks at least."""
        intensities = [peak / copy, *(intensity for intensity, _ in dots)]
        left, right = min(intensities), max(intensities)
        room = 10**0.5
        rates = [
            left / room * copy,
            peak,
            *(rate for _, rate in dots),
        ]  # the name of the copy below its start
        return cls(copy, peak, left / room, right * room, min(rates) / room, max(rates) * room)

    def place(self, intensity: float, rate: float) -> Place:
        """Percent from the left, pixels from the top."""
        across = math.log(intensity / self.left) / math.log(self.right / self.left)
        down = math.log(self.high / rate) / math.log(self.high / self.low)
        return round(100 * across, 2), round(HEIGHT * down, 1)

    def attainable(self, intensity: float) -> float:
        """What the lower of the two roofs allows."""
        return min(self.peak, intensity * self.copy)

    def across(self) -> Iterable[Tick]:
        """Round numbers of operations per byte."""
        for value in _round_values(self.left, self.right):
            yield Tick(self.place(value, self.high)[0], figure_text(value))

    def up(self) -> Iterable[Tick]:
        """Round numbers of operations per second; ``at`` is in pixels from the top."""
        for value in _round_values(self.low, self.high):
            yield Tick(self.place(self.left, value)[1], rate_text(value, "flop"))

    def roofs(self, dots: Sequence[Place] = ()) -> tuple[Roof, Roof]:
        """The copy and the product; the product's name goes below its line where it meets fewer ``dots`` there."""
        ridge = self.place(self.peak / self.copy, self.peak)
        copy = Roof(
            self.place(self.left, self.left * self.copy),
            ridge,
            f"copy {rate_text(self.copy, 'B')}",
            _BELOW,
        )
        text = f"matrix product {rate_text(self.peak, 'flop')}"
        both = [Roof(ridge, (100.0, ridge[1]), text, dy) for dy in (_ABOVE, _BELOW)]
        met = [
            sum(self.names((copy, roof))[0].touches(x * NARROWEST / 100, y) for x, y in dots)
            for roof in both
        ]
        return copy, both[met.index(min(met))]

    def names(self, roofs: tuple[Roof, Roof]) -> tuple[Box, Box]:
        """Where the names of the product and of the copy stand on the narrowest page."""
        copy, product = roofs
        left, wide = copy.start[0] * NARROWEST / 100, TEXT_WIDTH * len(copy.text)
        foot, copy_foot = product.end[1] + product.name_dy, copy.start[1] + copy.name_dy
        width = TEXT_WIDTH * len(product.text)
        return (
            Box(NARROWEST - width, foot - 14, NARROWEST, foot + 4),
            Box(left, copy_foot - 14, left + wide, copy_foot + 4),
        )


def figure_text(value: float) -> str:
    """Three significant digits, never as a power of ten."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:.6g}"


def _round_values(low: float, high: float) -> list[float]:
    """Three to seven numbers: decades, every second or third of many, with their parts where there are few."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    every = 1 + len(powers) // 8
    within: list[float] = []
    for parts in ((1,), (1, 3), (1, 2, 5)):
        values = [part * 10.0**power for power in powers if not power % every for part in parts]
        within = [value for value in values if low <= value <= high]
        if len(within) >= 3:
            break
    return within
