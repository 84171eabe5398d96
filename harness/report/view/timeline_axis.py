"""Where events lie on the one axis of a before and an after: by order, or by time where it was measured."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from harness.model.event import EventType
from harness.model.timeline import TimelineEvent
from harness.report.view.axis import Tick
from harness.report.view.timeline_words import kind_of
from harness.units import duration_text

__all__ = ["MOST_PLACES", "Moment", "Side", "Span", "by_order", "by_time", "is_timed"]

_ROOMY = 48
"""Places that stand side by side in a picture of 320 pixels, at six and a half each."""

MOST_PLACES = 120
"""Places of a picture: three times what fits a phone, which scrolls. What comes later is in the table."""

_INSET = 0.12
"""Of a place, left free at either end of what does not hold the host, so that neighbours are told apart."""

_TICKS = 5

Column = tuple[TimelineEvent | None, TimelineEvent | None]
"""What stands at one place before and after."""


@dataclass(frozen=True, slots=True)
class Span:
    """From where and how far, in percent of the picture's width."""

    at: float
    width: float

    @property
    def middle(self) -> float:
        """Half way."""
        return round(self.at + self.width / 2, 2)

    @property
    def end(self) -> float:
        """Where it ends."""
        return round(self.at + self.width, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Events drawn as one: the calls on the host, the work on the device, and all that belongs to them.

    ``gone`` are events that only the other side has here; there is then nothing else.
    """

    reach: Span
    events: tuple[TimelineEvent, ...] = ()
    host: tuple[Span, ...] = ()
    device: tuple[Span, ...] = ()
    gone: tuple[TimelineEvent, ...] = ()

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions all of its events are in."""
        return _common([event.regions for event in self.events or self.gone])

    @property
    def spot(self) -> float:
        """Where its shape stands: on its work, else on all there is of it."""
        return (self.device or (self.reach,))[0].middle


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One implementation on the axis; ``undrawn`` events did not fit the picture."""

    moments: tuple[Moment, ...]
    undrawn: int = 0


def is_timed(events: Sequence[TimelineEvent]) -> bool:
    """Whether every event has its time; a timeline holds none where the probe knew only the order."""
    return bool(events) and all(event.start_ns is not None for event in events)


def by_order(
    before: Sequence[TimelineEvent], after: Sequence[TimelineEvent]
) -> tuple[tuple[Side, Side], int]:
    """Both sides in shared places, what they have in common in the same one, and how many places there are.

    Events alike that follow each other share a place where there are too many, which is then twice as wide. Cost:
    quadratic in the events, that of ``difflib``.
    """
    slots = _joined(_aligned(before, after))
    shown = slots[:MOST_PLACES]
    total = sum(map(_weight, shown)) or 1
    sides: tuple[list[Moment], list[Moment]] = ([], [])
    at = 0
    for slot in shown:
        span = Span(_percent(at, total), _percent(_weight(slot), total))
        at += _weight(slot)
        groups = [_of_side(slot, side) for side in (0, 1)]
        for own, other, moments in zip(groups, reversed(groups), sides, strict=True):
            moments.append(_ordered(span, own, other))
    first, second = (
        Side(moments=tuple(moments), undrawn=_undrawn(slots, side))
        for side, moments in enumerate(sides)
    )
    return (first, second), total


def by_time(
    before: Sequence[TimelineEvent], after: Sequence[TimelineEvent]
) -> tuple[tuple[Side, Side], tuple[Tick, ...]]:
    """Both sides from their own start on one scale, in nanoseconds as measured, and the ticks of that scale."""
    length = max((_end(event) for event in (*before, *after)), default=0) or 1
    sides = []
    for events in (before, after):
        slots = _joined([(event, None) for event in events])
        moments = tuple(_timed(_of_side(slot, 0), length) for slot in slots[:MOST_PLACES])
        sides.append(Side(moments=moments, undrawn=_undrawn(slots, 0)))
    return (sides[0], sides[1]), tuple(_ticks(length))


def _of_side(slot: Sequence[Column], side: int) -> tuple[TimelineEvent, ...]:
    return tuple(event for column in slot if (event := column[side]) is not None)


def _undrawn(slots: Sequence[Sequence[Column]], side: int) -> int:
    return sum(len(_of_side(slot, side)) for slot in slots[MOST_PLACES:])


def _ordered(
    span: Span, own: tuple[TimelineEvent, ...], other: tuple[TimelineEvent, ...]
) -> Moment:
    if not own:
        return Moment(reach=span, gone=other)
    inner = Span(round(span.at + span.width * _INSET, 2), round(span.width * (1 - 2 * _INSET), 2))
    works = own[0].type is EventType.KERNEL
    return Moment(
        reach=span,
        events=own,
        host=(span if own[0].blocking else inner,),
        device=(inner,) if works else (),
    )


def _timed(events: tuple[TimelineEvent, ...], length: int) -> Moment:
    """What nobody measured has no span; an event without any is a point at its start."""
    calls = [(e.start_ns, e.host_ns) for e in events]
    work = [(e.device_start_ns, e.device_ns) for e in events]
    host, device = _spans(calls, length), _spans(work, length)
    reached = device or host or (_span(events[0].start_ns or 0, 0, length),)
    start, end = min(span.at for span in reached), max(span.end for span in reached)
    reach = Span(start, round(end - start, 2))
    return Moment(reach=reach, events=events, host=host, device=device)


def _spans(measured: Iterable[tuple[int | None, int | None]], length: int) -> tuple[Span, ...]:
    """Each span once: the kernels of a graph share the call that launched it."""
    return tuple(
        _span(start, size, length)
        for start, size in dict.fromkeys(measured)
        if start is not None and size is not None
    )


def _span(start: int, size: int, length: int) -> Span:
    return Span(_percent(max(0, start), length), _percent(size, length))


def _end(event: TimelineEvent) -> int:
    host = (event.start_ns or 0) + (event.host_ns or 0)
    return max(host, (event.device_start_ns or 0) + (event.device_ns or 0))


def _aligned(before: Sequence[TimelineEvent], after: Sequence[TimelineEvent]) -> list[Column]:
    """The longest common runs in the same columns, what only one side has in columns of its own."""
    keys = [[(kind_of(e), e.api, e.regions) for e in events] for events in (before, after)]
    matcher = difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    columns: list[Column] = []
    for word, i, k, j, m in matcher.get_opcodes():
        if word == "equal":
            columns += zip(before[i:k], after[j:m], strict=True)
            continue
        columns += [(event, None) for event in before[i:k]]
        columns += [(None, event) for event in after[j:m]]
    return columns


def _joined(columns: Sequence[Column]) -> list[tuple[Column, ...]]:
    """Columns alike that follow each other as one, more boldly until they fit: of a line of code, a region, a stage."""
    slots: list[tuple[Column, ...]] = [(column,) for column in columns]
    for depth in range(3):
        if len(slots) <= _ROOMY:
            break
        slots = [tuple(group) for _, group in groupby(columns, partial(_likeness, depth=depth))]
    return slots


def _likeness(column: Column, depth: int) -> Hashable:
    return tuple(None if event is None else _alike(event, depth) for event in column)


def _alike(event: TimelineEvent, depth: int) -> Hashable:
    regions = event.regions[:1] if depth == 2 else event.regions
    site = event.site if depth == 0 else None
    return (kind_of(event), event.direction, event.blocking, event.stream, regions, site)


def _weight(slot: tuple[Column, ...]) -> int:
    return 1 if len(slot) == 1 else 2


def _common(regions: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    shared = []
    for names in zip(*regions, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return tuple(shared)


def _ticks(length: int) -> Iterator[Tick]:
    """About five at round times, each with its own label."""
    rough = length / _TICKS
    power = 10 ** (len(str(int(rough))) - 1) if rough >= 1 else 1
    step = next(
        power * factor for factor in (1, 2, 5, 10) if power * factor >= rough or factor == 10
    )
    for time in range(0, length + 1, step):
        yield Tick(_percent(time, length), "0" if not time else duration_text(time))


def _percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 2)
