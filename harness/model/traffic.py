"""Traffic as people read it: events that differ only in time, joined into one line with a count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from harness.model.event import Direction, Event, MemoryKind, Site, Sync, SyncKind, Transfer

__all__ = ["TrafficLine", "traffic_lines"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficLine:
    """``count`` copies or host waits alike in everything but time.

    A copy has ``direction``, ``size_bytes`` (of one copy), ``source`` and ``destination``; a wait has
    ``sync``. ``blocking`` says whether the call itself held the host, which a host callback does not.
    """

    api: str
    count: int
    blocking: bool
    regions: tuple[str, ...] = ()
    site: Site | None = None
    direction: Direction | None = None
    size_bytes: int = 0
    source: MemoryKind | None = None
    destination: MemoryKind | None = None
    sync: SyncKind | None = None


def traffic_lines(events: Iterable[Event]) -> tuple[TrafficLine, ...]:
    """Join the copies and waits among ``events``, in order of first appearance.

    Kernels, memsets and allocations are no traffic and are left out. Cost: linear in the events.
    """
    counted: Counter[TrafficLine] = Counter()
    for event in events:
        line = _line(event)
        if line is not None:
            counted[line] += 1
    return tuple(_with_count(line, count) for line, count in counted.items())


def _line(event: Event) -> TrafficLine | None:
    match event:
        case Transfer():
            return TrafficLine(
                api=event.api,
                count=1,
                blocking=event.blocking,
                regions=event.regions,
                site=event.site,
                direction=event.direction,
                size_bytes=event.size_bytes,
                source=event.source,
                destination=event.destination,
            )
        case Sync():
            return TrafficLine(
                api=event.api,
                count=1,
                blocking=event.kind is not SyncKind.HOST_CALLBACK,
                regions=event.regions,
                site=event.site,
                sync=event.kind,
            )
    return None


def _with_count(line: TrafficLine, count: int) -> TrafficLine:
    return line if count == 1 else replace(line, count=count)
