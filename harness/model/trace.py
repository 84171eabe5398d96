"""A trace: the events of one run, what the probe could see, and what it lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from harness.model.event import (
    Allocation,
    Direction,
    Event,
    EventType,
    Kernel,
    Memset,
    Sync,
    Transfer,
)
from harness.model.outcome import Evidence

__all__ = ["Trace", "TrafficCounts", "event_type"]

_EVENT_TYPES: Mapping[type[Event], EventType] = {
    Transfer: EventType.TRANSFER,
    Sync: EventType.SYNC,
    Memset: EventType.MEMSET,
    Kernel: EventType.KERNEL,
    Allocation: EventType.ALLOCATION,
}


def event_type(event: Event) -> EventType:
    """The type a probe must observe to have seen this event."""
    return _EVENT_TYPES[type(event)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficCounts:
    """Copies, bytes and host waits of one trace: what two runs are compared by."""

    d2h: int = 0
    h2d: int = 0
    d2d: int = 0
    d2h_bytes: int = 0
    h2d_bytes: int = 0
    syncs: int = 0
    blocking_copies: int = 0
    memsets: int = 0
    kernels: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The events of one run in launch order.

    ``observes`` says which event types the probe can see at all; ``dropped`` counts records it knows it
    lost; ``doubts`` are other reasons, one sentence each, why a zero may not be one. ``entered`` counts how often each region was entered, so that a region that never ran cannot
    pass. ``probe`` names the tool and version, as in ``"simulated"`` or ``"cupti 13.4"``.
    """

    probe: str
    evidence: Evidence
    observes: frozenset[EventType]
    events: tuple[Event, ...] = ()
    dropped: int = 0
    doubts: tuple[str, ...] = ()
    entered: Mapping[str, int] = field(default_factory=dict)

    def within(self, region: str) -> Trace:
        """The part of this trace launched while ``region`` was open."""
        inside = tuple(event for event in self.events if region in event.regions)
        return replace(self, events=inside)

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """Every copy, in launch order."""
        return tuple(event for event in self.events if isinstance(event, Transfer))

    @property
    def syncs(self) -> tuple[Sync, ...]:
        """Every explicit host wait, in launch order."""
        return tuple(event for event in self.events if isinstance(event, Sync))

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Every kernel launch, in launch order."""
        return tuple(event for event in self.events if isinstance(event, Kernel))

    def counts(self) -> TrafficCounts:
        """Counts over all events of this trace."""
        transfers = self.transfers
        d2h = [copy for copy in transfers if copy.direction is Direction.DEVICE_TO_HOST]
        h2d = [copy for copy in transfers if copy.direction is Direction.HOST_TO_DEVICE]
        return TrafficCounts(
            d2h=len(d2h),
            h2d=len(h2d),
            d2d=sum(copy.direction is Direction.DEVICE_TO_DEVICE for copy in transfers),
            d2h_bytes=sum(copy.size_bytes for copy in d2h),
            h2d_bytes=sum(copy.size_bytes for copy in h2d),
            syncs=len(self.syncs),
            blocking_copies=sum(copy.blocking for copy in transfers),
            memsets=sum(isinstance(event, Memset) for event in self.events),
            kernels=len(self.kernels),
        )
