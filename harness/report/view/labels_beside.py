"""Names beside dots without overlap: each on one of four sides of its dot, or none has any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["TEXT_WIDTH", "Box", "Labelled", "Place", "place_labels"]

TEXT_WIDTH = 7.0
"""Pixels of an average character of 12 px sans serif, the widest in use (DejaVu Sans) with a little to spare."""

_HALF_LINE, _GAP, _DOT = 7.0, 9.0, 7.0

Place = tuple[float, float]
"""Percent from the left, pixels from the top."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Where a name stands: pixels from its dot, and whether it starts, ends or is centred there."""

    dx: float
    dy: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def touches(self, x: float, y: float) -> bool:
        """Whether a dot here would touch it."""
        return self.meets(Box(x - _DOT, y - _DOT, x + _DOT, y + _DOT))

    def meets(self, other: Box) -> bool:
        """Whether the two share a point."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def holds(self, other: Box) -> bool:
        """Whether the other lies within."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


def place_labels(
    places: Sequence[Place],
    names: Sequence[str],
    field: Box,
    *,
    lines: Sequence[tuple[Place, Place]] = (),
    taken: Sequence[Box] = (),
) -> tuple[Labelled, ...] | None:
    """A place for every name within a field of at least this size, or ``None`` where one finds no room.

    Percent are of the field's width: on a wider one dots move apart and names stay as wide. Names avoid dots, other
    names, what is ``taken`` and, where they can, the ``lines``.
    """
    width = field.right
    dots = [(x * width / 100, y) for x, y in places]
    blocked = [Box(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in dots]
    strokes = [box for line in lines for box in _along(line, width)]
    found: list[Labelled] = []
    for place, ((x, y), name) in enumerate(zip(dots, names, strict=True)):
        others = [box for number, box in enumerate(blocked) if number != place]
        fitting = [
            (sum(box.meets(stroke) for stroke in strokes), number, label, box)
            for number, (label, box) in enumerate(_around(x, y, TEXT_WIDTH * len(name)))
            if field.holds(box) and not any(map(box.meets, (*others, *taken)))
        ]
        if not fitting:
            return None
        _, _, label, box = min(fitting, key=lambda each: each[:2])
        blocked.append(box)
        found.append(label)
    return tuple(found)


def _around(x: float, y: float, width: float) -> Iterator[tuple[Labelled, Box]]:
    """Right, left, above, below, then above and below to either side."""
    high = 2 * _HALF_LINE
    for dx, dy, anchor in (
        (_GAP, 0.0, "start"),
        (-_GAP, 0.0, "end"),
        (0.0, -high, "middle"),
        (0.0, high, "middle"),
        (_GAP, high, "start"),
        (-_GAP, high, "end"),
        (_GAP, -high, "start"),
        (-_GAP, -high, "end"),
        (_GAP, 2 * high, "start"),
        (-_GAP, -2 * high, "end"),
    ):
        left = x + dx - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        label = Labelled(dx, dy + 4, anchor)
        yield label, Box(left, y + dy - _HALF_LINE, left + width, y + dy + _HALF_LINE)


def _along(line: tuple[Place, Place], width: float) -> Iterator[Box]:
    """A line as small boxes, one every few pixels."""
    (x0, y0), (x1, y1) = line
    for step in range(101):
        share = step / 100
        x, y = (x0 + (x1 - x0) * share) * width / 100, y0 + (y1 - y0) * share
        yield Box(x - 2, y - 2, x + 2, y + 2)
