"""A call before and after, as pictures on one axis: host, copies and kernels, and where the host is blocked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

from harness.model.timeline import Timeline, TimelineEvent
from harness.report.view.axis import Tick
from harness.report.view.timeline_axis import Moment, Side, by_order, by_time, is_timed
from harness.report.view.timeline_shapes import (
    Band,
    Bar,
    Entry,
    Lane,
    Legend,
    Line,
    Picture,
    Symbol,
    Text,
    TimelineView,
)
from harness.report.view.timeline_words import (
    KINDS,
    kind_of,
    moment_text,
    rows_of,
    short_text,
    summary_of,
)
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["timeline_view"]

_BAND, _LANE = 16, 26
"""Heights in pixels: a region's name in small print, and a shape with room above and below."""

_TALL, _FLAT, _WORK = 18, 6, 14
"""Bars: of a call that holds the host, of one that does not, of work on the device."""

_MOST_STREAMS = 4
"""Lanes of copies, and of kernels; streams beyond share the last, so that a picture keeps its height."""

_MOST_DEPTH = 2
"""Nested regions that have a band each; what is deeper stands in the text of each event."""

_LETTER, _BESIDE = 0.97, 2.1
"""Percent of a picture of 640 pixels: a letter of a label, and the shape beside it. A narrower one has no labels."""

_NAMED = 2.0
"""Percent of a wide picture that three letters of a region take; fewer say nothing."""

_MEDIUM, _LONG = 30, 60
"""Places beyond which a picture must not be narrower than a phone allows, and scrolls instead."""

_CROSSING = frozenset({"up", "down"})
_ON_HOST = frozenset({"wait", "callback", "allocation"})

_BY_ORDER = (
    "One column per event, in the order of launch. What watched these calls knows the order and not how long a GPU "
    "would take, so widths mean nothing. Both calls share their columns: a dashed outline is a copy or a wait that "
    "only the other one has."
)
_BY_TIME = (
    "One recorded call each, both from their start and on one scale of time. Recording slows a call down: read here "
    "what waits for what, and elsewhere how fast it is."
)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the lanes of both pictures are: the key of each and its middle."""

    middles: dict[tuple[str, int], float]
    streams: bool
    height: int

    def of(self, event: TimelineEvent) -> float:
        kind = kind_of(event)
        if kind in _ON_HOST:
            return self.host
        what = "kernels" if kind == "kernel" else "copies"
        mine = [key for key in self.middles if key[0] == what]
        wanted = (what, event.stream if self.streams else 0)
        return self.middles[wanted if wanted in mine else mine[-1]]

    @property
    def host(self) -> float:
        return self.middles["host", 0]

    @property
    def top(self) -> float:
        return self.host - _LANE / 2


def timeline_view(
    before: tuple[str, Timeline], after: tuple[str, Timeline], *, relative_to: Path | None
) -> TimelineView:
    """The pictures of two calls, each with its label; source lines relative to ``relative_to``.

    Drawn by time where both were measured, else by order. Cost: quadratic in the events of a timeline.
    """
    events = before[1].events, after[1].events
    timed = all(map(is_timed, events))
    ticks: tuple[Tick, ...] = ()
    if timed:
        sides, ticks = by_time(*events)
        room = "medium"
    else:
        sides, places = by_order(*events)
        room = "long" if places > _LONG else "medium" if places > _MEDIUM else ""
    rows = _rows((*events[0], *events[1]), depth=max(map(_depth, sides)))
    first, second = (
        _picture(word, *given, side, rows, relative_to=relative_to)
        for word, given, side in zip(("before", "after"), (before, after), sides, strict=True)
    )
    return TimelineView(
        timed=timed,
        caption=_BY_TIME if timed else _BY_ORDER,
        room=room,
        height=rows.height,
        lanes=tuple(_lanes(rows)),
        ticks=ticks,
        pictures=(first, second),
        legend=tuple(_legend((*events[0], *events[1]), gone=bool(first.gone or second.gone))),
    )


def _rows(events: Sequence[TimelineEvent], *, depth: int) -> _Rows:
    kinds = [(kind_of(event), event.stream) for event in events]
    streams = len({stream for kind, stream in kinds if kind not in _ON_HOST}) > 1
    keys = [("host", 0)]
    for what in ("copies", "kernels"):
        used = {
            stream if streams else 0
            for kind, stream in kinds
            if kind not in _ON_HOST and (kind == "kernel") == (what == "kernels")
        }
        keys += [(what, stream) for stream in sorted(used)[:_MOST_STREAMS]]
    top = depth * _BAND + _LANE / 2 + 2
    middles = {key: top + number * _LANE for number, key in enumerate(keys)}
    return _Rows(middles, streams, height=int(depth * _BAND + len(keys) * _LANE + 4))


def _lanes(rows: _Rows) -> Iterator[Lane]:
    for (what, stream), middle in rows.middles.items():
        yield Lane(f"{what} {stream}" if rows.streams and what != "host" else what, middle)


def _depth(side: Side) -> int:
    return min(_MOST_DEPTH, max((len(moment.regions) for moment in side.moments), default=0))


def _picture(
    word: str, label: str, timeline: Timeline, side: Side, rows: _Rows, *, relative_to: Path | None
) -> Picture:
    drawn = [moment for moment in side.moments if moment.events]
    missing = [moment for moment in side.moments if moment.gone and _tells(moment.gone[0])]
    labels = _labels(drawn, rows)
    return Picture(
        word=word,
        label=shortened(label),
        summary=summary_of(timeline.events, timeline.omitted),
        undrawn=f"{count_text(side.undrawn, 'later event')} not drawn, see the table"
        if side.undrawn
        else "",
        bands=tuple(_bands(side.moments)),
        held=tuple(
            Bar(span.at, span.width, rows.top, rows.height - rows.top)
            for moment in drawn
            if moment.events[0].blocking
            for span in moment.host
        ),
        gone=tuple(
            Bar(moment.reach.at, moment.reach.width, rows.host - _TALL / 2, _TALL)
            for moment in missing
            if moment.gone[0].blocking
        ),
        gone_symbols=tuple(
            Symbol(kind_of(moment.gone[0]), moment.reach.middle, rows.of(moment.gone[0]))
            for moment in missing
        ),
        entries=tuple(_entry(moment, rows, labels, relative_to) for moment in drawn),
        rows=rows_of(timeline.events, relative_to=relative_to),
    )


def _tells(event: TimelineEvent) -> bool:
    """Whether it is worth an outline where it is gone: copies and waits, not the kernels they stood among."""
    return event.blocking or kind_of(event) in _CROSSING


def _bands(moments: Sequence[Moment]) -> Iterator[Band]:
    """Of each depth one band per region in a row; places that are empty here belong to it, but are none alone."""
    for depth in range(_MOST_DEPTH):
        for region, group in groupby(moments, partial(_regions, depth=depth + 1)):
            inside = list(group)
            if len(region) > depth and any(moment.events for moment in inside):
                spans = [span for moment in inside for span in (moment.host or (moment.reach,))]
                start, end = min(s.at for s in spans), max(s.end for s in spans)
                width = round(end - start, 2)
                text = shortened(region[depth], limit=40) if width >= _NAMED else ""
                yield Band(start, width, depth * _BAND, text)


def _regions(moment: Moment, depth: int) -> tuple[str, ...]:
    return moment.regions[:depth]


def _entry(
    moment: Moment, rows: _Rows, labels: dict[Moment, Text], relative_to: Path | None
) -> Entry:
    first = moment.events[0]
    kind, lane = kind_of(first), rows.of(first)
    held = first.blocking
    height, style = (_TALL, "holds") if held else (_FLAT, "call")
    host = [Bar(s.at, s.width, rows.host - height / 2, height, style) for s in moment.host]
    work = [Bar(s.at, s.width, lane - _WORK / 2, _WORK, kind) for s in moment.device]
    ordered = not moment.device or kind == "kernel"
    count = len(moment.events)
    texts = [labels[moment]] if moment in labels else []
    if kind == "kernel" and count > 1:
        texts.append(Text(moment.reach.middle, lane, f"{count:,}", "middle"))
    return Entry(
        text=moment_text(moment.events, relative_to=relative_to),
        reach=Bar(moment.reach.at, moment.reach.width, rows.top, rows.height - rows.top),
        bars=(*host, *work),
        lines=tuple(_lines(moment, rows, ordered=ordered)) if kind in _CROSSING else (),
        symbols=() if kind == "kernel" else (Symbol(kind, moment.spot, lane),),
        labels=tuple(texts),
    )


def _lines(moment: Moment, rows: _Rows, *, ordered: bool) -> Iterator[Line]:
    """From the call down to its work, and back up where the host is held until that is done."""
    lane = rows.of(moment.events[0])
    top, bottom = rows.host + _FLAT / 2, lane - _WORK / 2
    if ordered:
        yield Line(moment.reach.middle, top, moment.reach.middle, lane)
        return
    if not moment.host:
        return
    yield Line(moment.host[0].at, top, moment.device[0].at, bottom)
    if moment.events[0].blocking:
        yield Line(moment.device[-1].end, bottom, moment.host[-1].end, top)


def _labels(moments: Iterable[Moment], rows: _Rows) -> dict[Moment, Text]:
    """What crosses the boundary, in words beside its shape where there is room to the right, else to the left."""
    copies = [m for m in moments if kind_of(m.events[0]) not in (*_ON_HOST, "kernel")]
    found: dict[Moment, Text] = {}
    for moment in copies:
        lane = rows.of(moment.events[0])
        if kind_of(moment.events[0]) not in _CROSSING:
            continue
        same = [each.spot for each in copies if rows.of(each.events[0]) == lane]
        at = moment.spot
        right = min((other for other in same if other > at), default=100.0)
        left = max((other for other in same if other < at), default=0.0)
        text = short_text(moment.events)
        needed = _BESIDE + _LETTER * len(text)
        if right - at >= needed:
            found[moment] = Text(at, lane, text, "start")
        elif at - left >= 2 * needed:
            found[moment] = Text(at, lane, text, "end")
    return found


def _legend(events: Iterable[TimelineEvent], *, gone: bool) -> Iterator[Legend]:
    found = tuple(events)
    kinds = {kind_of(event) for event in found}
    yield Legend("call", "host call")
    if any(event.blocking for event in found):
        yield Legend("holds", "host blocked")
    for kind, text in KINDS.items():
        if kind in kinds:
            yield Legend(kind, text)
    if gone:
        yield Legend("gone", "only in the other call")
