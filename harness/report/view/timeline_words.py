"""Events of a timeline in words: what each is, where it comes from, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from harness.model.event import Direction, EventType, Site, SyncKind
from harness.model.timeline import TimelineEvent
from harness.report.wording import shortened, site_text
from harness.units import bytes_text, count_text, duration_text

__all__ = ["KINDS", "Row", "kind_of", "moment_text", "rows_of", "short_text", "summary_of"]

KINDS = {
    "kernel": "kernel",
    "up": "copy to the host",
    "down": "copy to the device",
    "across": "other copy",
    "fill": "fill",
    "wait": "host waits",
    "callback": "device waits for the host",
    "allocation": "allocation",
}
"""Every kind of event by the shape it is drawn as, in the order of a legend."""

_LONGEST_NAME = 80
"""A template's kernel name has thousands of characters; its beginning tells which one it is."""

_MOST_NAMES = 3
"""Of events drawn as one: enough to know what they are, short enough for a tooltip."""

_COPIES = {Direction.DEVICE_TO_HOST: "up", Direction.HOST_TO_DEVICE: "down"}
_OTHERS = {
    EventType.KERNEL: "kernel",
    EventType.MEMSET: "fill",
    EventType.ALLOCATION: "allocation",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table beside a picture; the times are empty where none were measured."""

    what: str
    site: str
    region: str
    start: str = ""
    host: str = ""
    device: str = ""


def kind_of(event: TimelineEvent) -> str:
    """The shape an event is drawn as, a key of ``KINDS``."""
    if event.type is EventType.TRANSFER:
        return _COPIES.get(event.direction or Direction.DEVICE_TO_DEVICE, "across")
    if event.type is EventType.SYNC:
        return "callback" if event.sync is SyncKind.HOST_CALLBACK else "wait"
    return _OTHERS[event.type]


def short_text(events: Sequence[TimelineEvent]) -> str:
    """Events alike in the width of a label: ``D2H 4 B``, ``10 x H2D``."""
    first = events[0]
    name = first.direction.value if first.direction else KINDS[kind_of(first)]
    if len(events) > 1:
        return f"{len(events):,} x {name}"
    return f"{name} {bytes_text(first.size_bytes)}"


def moment_text(events: Sequence[TimelineEvent], *, relative_to: Path | None) -> str:
    """All about one event, or about several drawn as one: what, whether the host is held, where, when."""
    first = events[0]
    parts = [_what(first)] if len(events) == 1 else [_together(events)]
    if first.blocking:
        parts.append("blocking")
    parts.append(_sites(events, relative_to))
    around = [f"region {_region(first)}"] if first.regions else []
    if len(events) == 1 and first.type is not EventType.KERNEL:
        around.append(shortened(first.api, limit=_LONGEST_NAME))
    if any(event.stream for event in events):
        around.append(f"stream {first.stream}")
    text = ", ".join(parts) + (f" ({', '.join(around)})" if around else "")
    times = _times(events)
    return f"{text}; {times}" if times else text


def rows_of(events: Iterable[TimelineEvent], *, relative_to: Path | None) -> tuple[Row, ...]:
    """A row per event; events in a row that are the same in everything are one with a count."""
    rows = []
    for event, same in groupby(events):
        count = sum(1 for _ in same)
        times = f"{count:,} x " if count > 1 else ""
        blocking = ", blocking" if event.blocking else ""
        api = "" if event.type is EventType.KERNEL else f", {shortened(event.api)}"
        rows.append(
            Row(
                what=f"{times}{_what(event)}{blocking}{api}",
                site=_site(event.site, relative_to),
                region=_region(event),
                start=_duration(event.start_ns),
                host=_duration(event.host_ns),
                device=_duration(event.device_ns),
            )
        )
    return tuple(rows)


def summary_of(events: Sequence[TimelineEvent], omitted: int) -> str:
    """``24 events: 22 kernels, 1 D2H, 1 wait; the host is blocked 2 times``."""
    found: Counter[str] = Counter()
    for event in events:
        found[event.direction.value if event.direction else kind_of(event)] += 1
    nouns = {"wait": "host wait", "callback": "host callback"}
    kinds = ", ".join(
        f"{count:,} {kind}" if kind.isupper() else count_text(count, nouns.get(kind, kind))
        for kind, count in found.items()
    )
    total = len(events) + omitted
    shown = f"the first {len(events):,} of " if omitted else ""
    listed = f": {kinds}" if kinds else ""
    return f"{shown}{count_text(total, 'event')}{listed}; {_blocked(events)}"


def _blocked(events: Sequence[TimelineEvent]) -> str:
    held = [event for event in events if event.blocking]
    if not held:
        return "the host is never blocked"
    count = count_text(len(held), "time")
    spans = sorted(
        (event.start_ns, event.start_ns + event.host_ns)
        for event in held
        if event.start_ns is not None and event.host_ns is not None
    )
    if len(spans) < len(held):
        return f"the host is blocked {count}"
    total, reached = 0, 0
    for start, end in spans:
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return f"the host is blocked {count}, for {duration_text(total)}"


def _what(event: TimelineEvent) -> str:
    size = bytes_text(event.size_bytes)
    match event.type:
        case EventType.KERNEL:
            return f"kernel {shortened(event.api, limit=_LONGEST_NAME)}"
        case EventType.TRANSFER:
            return f"{event.direction.value if event.direction else 'copy'} {size}"
        case EventType.SYNC if event.sync is SyncKind.HOST_CALLBACK:
            return "host callback: the device waits for the host"
        case EventType.SYNC:
            return f"{event.sync.value if event.sync else 'host'} sync"
        case EventType.MEMSET:
            return f"fill {size}"
        case EventType.ALLOCATION:
            return f"allocation {size}"


def _together(events: Sequence[TimelineEvent]) -> str:
    """``37 kernels: 12 x add, 9 x multiply and 7 other names``, or how many bytes in all."""
    first = events[0]
    if first.type is not EventType.KERNEL:
        name = first.direction.value if first.direction else kind_of(first)
        total = sum(event.size_bytes for event in events)
        return f"{len(events):,} x {name}" + (f", {bytes_text(total)} in all" if total else "")
    names = Counter(event.api for event in events)
    told = [
        f"{count:,} x {shortened(name, limit=_LONGEST_NAME)}"
        for name, count in names.most_common(_MOST_NAMES)
    ]
    more = len(names) - len(told)
    others = f" and {count_text(more, 'other name')}" if more else ""
    return f"{len(events):,} kernels: {', '.join(told)}{others}"


def _sites(events: Sequence[TimelineEvent], relative_to: Path | None) -> str:
    sites = dict.fromkeys(event.site for event in events)
    first = _site(next(iter(sites)), relative_to)
    more = len(sites) - 1
    return first + (f" and {count_text(more, 'other line')}" if more else "")


@lru_cache(maxsize=1024)  # the events of a call come from a few dozen lines
def _site(site: Site | None, relative_to: Path | None) -> str:
    return site_text(site, relative_to=relative_to)


def _region(event: TimelineEvent) -> str:
    return shortened(" > ".join(event.regions))


def _times(events: Sequence[TimelineEvent]) -> str:
    """``at 12.3 us, host 5.20 us, device 1.10 us from 15.2 us``."""
    return ", ".join(_told_times(events))


def _told_times(events: Sequence[TimelineEvent]) -> Iterator[str]:
    first = events[0]
    if first.start_ns is not None:
        yield f"at {duration_text(first.start_ns)}"
    calls = {(e.start_ns, e.host_ns) for e in events if e.host_ns is not None}
    if calls:
        yield f"host {duration_text(sum(host or 0 for _, host in calls))}"
    work = [e.device_ns for e in events if e.device_ns is not None]
    if work:
        begun = min(e.device_start_ns for e in events if e.device_start_ns is not None)
        yield f"device {duration_text(sum(work))} from {duration_text(begun)}"


def _duration(value_ns: int | None) -> str:
    return "" if value_ns is None else duration_text(value_ns)
