"""How the times of a call are spread as the page draws it: the share of values up to each time, of both sides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from harness.model.verdict import Verdict
from harness.report.view.labels_beside import TEXT_WIDTH
from harness.report.wording import cut, shortened, visible
from harness.units import count_text, duration_text, percent_text

__all__ = ["Distribution", "Side", "Tick", "distribution"]

_MOST_STEPS = 60
"""Of one side; a step of a sixtieth is two pixels high."""

_WIDTH, _HEIGHT = 400, 100

_IN_SIGHT = 0.98
"""The slowest fiftieth of a side may lie beyond the edge, or one hiccup would press all else into a line."""

_ROOM = 0.03
"""Of the width, left free on both sides."""

_NARROWEST = 240
"""Pixels of the picture on a phone of 360, within the frame of its case."""

_LONGEST_LABEL = 14
"""Of a name beside its line: under half of the narrowest picture, so that one side of any line has room for it."""

_LABEL_GAP = 7
"""Pixels between a line and its name."""

_GUTTER = 14
"""Pixels beside the picture that a text may use, within the edge of the page."""

_NEAR_EDGE = 0.35
"""Of the width: a name does not fit between the edge and a line that is as near, on any page wider than a phone's."""

_MOST_TICKS = 5
"""Steps of 1, 2 and 5 then leave two at least; five of 50 pixels fit on a phone."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on the time axis, in percent from the left."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One line: ``path`` over a field of 400 by 100, its label at ``at`` (percent) beginning or ending there.

    A label that ``turns`` is on the other side of its line where the page is as narrow as a phone.
    """

    name: str
    label: str
    path: str
    at: tuple[float, float]
    anchor: str
    turns: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One or two sides on one log axis of time; ``title`` names the picture, ``text`` says all of it in words."""

    sides: tuple[Side, ...]
    ticks: tuple[Tick, ...]
    title: str
    text: str


def distribution(verdict: Verdict, *, paired_with: str = "") -> Distribution | None:
    """The times of a case beside those it was timed with: ``paired_with``, or else its frozen peer.

    ``None`` where it has fewer than two values, or one that is no time.
    """
    sample = verdict.sample
    if sample is None:
        return None
    mine = "now" if paired_with else "this case"
    other = shortened(paired_with) if paired_with else "frozen peer"
    sides = [(mine, sorted(sample.call_ns)), (other, sorted(sample.peer_ns))]
    known = [(name, values) for name, values in sides if values]
    if len(sample.call_ns) < 2 or not all(_times(values) for _, values in known):
        return None
    scale = _Scale.of([values for _, values in known])
    drawn = _drawn(known, scale)
    beyond = [_beyond_text(name, values, scale) for name, values in known]
    words = [*(side.text for side in drawn), *filter(None, beyond)]
    return Distribution(
        sides=drawn,
        ticks=tuple(_ticks(scale, median(known[0][1]))),
        title=f"call times: {' and '.join(side.name for side in drawn)}",
        text="; ".join(words),
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """From one time at the left to another at the right, in logarithms."""

    low: float
    high: float

    @classmethod
    def of(cls, sides: Sequence[Sequence[float]]) -> _Scale:
        low = min(values[0] for values in sides)
        high = max(values[math.ceil(_IN_SIGHT * len(values)) - 1] for values in sides)
        span = max(math.log(high / low), 1e-4)
        return cls(math.log(low) - _ROOM * span, math.log(high) + _ROOM * span)

    def share(self, value: float) -> float:
        """Of the width; what lies beyond is at the edge."""
        return max(0.0, min(1.0, (math.log(value) - self.low) / (self.high - self.low)))


def _times(values: Sequence[float]) -> bool:
    return all(0 < value < math.inf for value in values)


def _drawn(known: Sequence[tuple[str, Sequence[float]]], scale: _Scale) -> tuple[Side, ...]:
    fastest = min(known, key=lambda side: median(side[1]))[0]
    return tuple(
        _side(name, values, scale, left=len(known) > 1 and name == fastest)
        for name, values in known
    )


def _side(name: str, values: Sequence[float], scale: _Scale, *, left: bool) -> Side:
    """The faster side has its label above and left of its line, the slower below and right of it."""
    low, middle, high = (_quantile(values, share) for share in (0.25, 0.5, 0.75))
    place = scale.share(_quantile(values, 0.8 if left else 0.2))
    label = cut(visible(name), _LONGEST_LABEL)
    ends, ends_on_a_phone = (
        place >= room if left else place > 1 - room
        for room in (_NEAR_EDGE, (_LABEL_GAP + TEXT_WIDTH * len(label)) / _NARROWEST)
    )
    height = (14.0 if ends else 36.0) if left else (74.0 if ends else 96.0)
    counted = count_text(len(values), "value")
    return Side(
        name=name,
        label=label,
        path=_path(values, scale),
        at=(round(100 * place, 1), height),
        anchor="end" if ends else "start",
        turns=ends != ends_on_a_phone,
        text=f"{name}: median {duration_text(middle)}, quartiles {duration_text(low)} and "
        f"{duration_text(high)}, {counted}",
    )


def _path(values: Sequence[float], scale: _Scale) -> str:
    """Steps up to the share of values that are as fast or faster; moves from the last, which are the shortest to write."""
    count = len(values)
    steps = min(count, _MOST_STEPS)
    at, height = round(_WIDTH * scale.share(values[0])), _HEIGHT
    path = [f"M{at} {height}"]
    for step in range(steps):
        rank = math.ceil(count * (step + 1) / steps)
        across = round(_WIDTH * scale.share(values[rank - 1])) - at
        up = round(_HEIGHT * (1 - rank / count)) - height
        path.append(f"h{across}v{up}" if across else f"v{up}")
        at, height = at + across, height + up
    return "".join([*path, f"H{_WIDTH}"])


def _quantile(values: Sequence[float], share: float) -> float:
    return values[max(0, math.ceil(share * len(values)) - 1)] if share != 0.5 else median(values)


def _beyond_text(name: str, values: Sequence[float], scale: _Scale) -> str:
    beyond = sum(math.log(value) > scale.high for value in values)
    if not beyond:
        return ""
    slowest = count_text(beyond, "value")
    return f"{slowest} of {name} beyond the right edge, up to {duration_text(values[-1])}"


def _ticks(scale: _Scale, middle: float) -> Iterable[Tick]:
    """Round times; where three digits cannot tell them apart, shares of the median of this case."""
    low, high = math.exp(scale.low), math.exp(scale.high)
    values = _round_values(low, high)
    texts = [duration_text(value) for value in values]
    if len(values) < 2 or len(set(texts)) < len(texts):
        shares = _round_values(low / middle - 1, high / middle - 1)
        values = [middle * (1 + share) for share in shares]
        texts = [
            percent_text(share, signed=True) if share else duration_text(middle) for share in shares
        ]
    if len(set(texts)) < len(texts):
        values, texts = [middle], [duration_text(middle)]
    end = -math.inf
    for value, text in zip(values, texts, strict=True):
        at, width = 100 * scale.share(value), 100 * len(text) * TEXT_WIDTH / _NARROWEST
        last = 100 + 100 * _GUTTER / _NARROWEST - width / 2
        if end == -math.inf:  # rather moved a little than no text at all
            at = min(at, last)
        if end < at - width / 2 and at <= last:  # touches neither the one before nor the edge
            yield Tick(round(at, 1), text)
            end = at + width / 2


def _round_values(low: float, high: float) -> list[float]:
    """Two to five multiples of a round step, or where the range is wide the decades and their parts."""
    if low > 0 and high / low > 6:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        parts = (1,) if high / low > 100 else (1, 3)
        return [
            part * 10.0**power
            for power in decades
            for part in parts
            if low <= part * 10.0**power <= high
        ]
    rough = (high - low) / _MOST_TICKS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
