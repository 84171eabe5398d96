"""A call as a timeline: every event in the order of its launch, flat, so that a run file can hold it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.event import Direction, EventType, Site, SyncKind

__all__ = ["MOST_EVENTS", "Timeline", "TimelineEvent"]

MOST_EVENTS = 400
"""Of one call: six pixels each are three screens of a wide page, and 200 B each 80 kB of a run file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """One event as a picture needs it.

    ``start_ns`` counts from the start of the call and ``host_ns`` is how long the call of the interface kept the host;
    ``device_start_ns`` and ``device_ns`` are when and how long the device worked on it. ``None`` where not measured: a
    simulated device knows the order, and no time a GPU would take. ``blocking`` says that the host was held.
    """

    type: EventType
    api: str
    regions: tuple[str, ...] = ()
    site: Site | None = None
    stream: int = 0
    size_bytes: int = 0
    direction: Direction | None = None
    sync: SyncKind | None = None
    blocking: bool = False
    start_ns: int | None = None
    host_ns: int | None = None
    device_start_ns: int | None = None
    device_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The first events of one warm call in launch order; ``omitted`` counts those beyond ``MOST_EVENTS``."""

    events: tuple[TimelineEvent, ...] = ()
    omitted: int = 0
