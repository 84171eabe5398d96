"""A trace as the timeline that a run file keeps."""

from __future__ import annotations

from dataclasses import replace

from harness.model.event import Allocation, Event, Memset, Sync, SyncKind, Transfer
from harness.model.timeline import MOST_EVENTS, Timeline, TimelineEvent
from harness.model.trace import Trace, event_type

__all__ = ["timeline_of"]

_SIZED = (Transfer, Memset, Allocation)


def timeline_of(trace: Trace) -> Timeline:
    """The first events of a trace in launch order, at most ``MOST_EVENTS``.

    Times are kept where the probe measured how long something took. A probe that did not, such as that of a simulated
    device, knows the order: its clock readings belong to another machine than the one they would be read for.
    """
    events = trace.events[:MOST_EVENTS]
    kept = tuple(map(_flat, events))
    if not any(event.host_ns is not None or event.device_ns is not None for event in events):
        kept = tuple(replace(event, start_ns=None, device_start_ns=None) for event in kept)
    return Timeline(events=kept, omitted=len(trace.events) - len(kept))


def _flat(event: Event) -> TimelineEvent:
    copy = event if isinstance(event, Transfer) else None
    wait = event if isinstance(event, Sync) else None
    return TimelineEvent(
        type=event_type(event),
        api=event.api,
        regions=event.regions,
        site=event.site,
        stream=event.stream,
        size_bytes=event.size_bytes if isinstance(event, _SIZED) else 0,
        direction=copy.direction if copy else None,
        sync=wait.kind if wait else None,
        blocking=copy.blocking if copy else _holds(wait),
        start_ns=event.start_ns,
        host_ns=event.host_ns,
        device_start_ns=event.device_start_ns,
        device_ns=event.device_ns,
    )


def _holds(wait: Sync | None) -> bool:
    """Whether the host is held; a host callback holds the device instead."""
    return wait is not None and wait.kind is not SyncKind.HOST_CALLBACK
