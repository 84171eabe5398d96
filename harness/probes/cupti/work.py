"""The events of one call: its copies, fills, kernels and allocations, and whether it held the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.model.event import (
    Allocation,
    Event,
    Kernel,
    MemoryKind,
    Memset,
    Site,
    Sync,
    SyncKind,
    Transfer,
)
from harness.probes.cupti.calls import Call, CallClass
from harness.probes.cupti.copies import direction_of, ends_of, holds_host, sizes_of
from harness.probes.cupti.doubts import Doubt, Notebook
from harness.probes.cupti.kinds import MEMORY_KINDS, WAITS, ActivityMemoryOperationType
from harness.probes.cupti.launches import Launch
from harness.probes.cupti.records import (
    CopyRecord,
    HostNodeRecord,
    KernelRecord,
    MemoryRecord,
    MemsetRecord,
    SyncRecord,
)

__all__ = ["Origin", "Work", "events_of", "orphan_events", "touches_managed"]

Work = CopyRecord | MemsetRecord | KernelRecord | SyncRecord | MemoryRecord | HostNodeRecord
"""Records that say what a call did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an event comes from: the outermost call, its line, its regions, its time since the start.

    ``zero_ns`` is that start on CUPTI's clock, in which the device's own times are.
    """

    api: str
    regions: tuple[str, ...]
    site: Site | None
    start_ns: int
    host_ns: int | None
    zero_ns: int

    def of(self, *, api: str = "", stream: int = 0) -> dict[str, Any]:
        """The fields every event has."""
        return {
            "api": api or self.api,
            "regions": self.regions,
            "site": self.site,
            "stream": stream,
            "start_ns": self.start_ns,
            "host_ns": self.host_ns,
        }

    def worked(self, record: CopyRecord | MemsetRecord | KernelRecord) -> dict[str, Any]:
        """When and how long the device was at it; nothing where CUPTI took no times, which it writes as 0."""
        if not (record.start and record.end):
            return {}
        return {
            "device_start_ns": record.start - self.zero_ns,
            "device_ns": record.end - record.start,
        }


def events_of(
    launch: Launch,
    work: Sequence[Work],
    origin: Origin,
    notebook: Notebook,
    *,
    captured: bool = False,
) -> Iterator[Event]:
    """The events of one outermost call, its records in the order CUPTI delivered them.

    A host function that was ``captured`` runs later, as a node of its graph, and has a record then.
    """
    waited = _waited(launch, work)
    copies = any(isinstance(record, CopyRecord) for record in work)
    in_copy = copies and launch.call.kind is CallClass.COPY
    for record in work:
        yield from _work_events(record, origin, notebook, held=waited is not None and in_copy)
    if waited is not None and not in_copy:
        kind, stream = waited
        yield Sync(**origin.of(stream=stream), kind=kind)
    if CallClass.HOST_CALLBACK in launch.classes and not captured:
        yield Sync(**origin.of(), kind=SyncKind.HOST_CALLBACK)


def orphan_events(record: Work, origin: Origin, notebook: Notebook) -> Iterator[Event]:
    """What can be said of a record no call explains: it happened, with a doubt where it would be judged."""
    if isinstance(record, SyncRecord):
        if record.type in WAITS:
            notebook.doubt(Doubt.UNMATCHED, about="a host wait")
            yield Sync(
                **origin.of(api="a wait outside any recorded call", stream=record.stream),
                kind=WAITS[record.type],
            )
        return
    if isinstance(record, CopyRecord | HostNodeRecord):
        notebook.doubt(Doubt.UNMATCHED, about="a copy")
    yield from _work_events(record, origin, notebook, held=False)


def touches_managed(record: Work) -> bool:
    """Whether the record shows managed memory in use, whose pages move without a copy record."""
    match record:
        case CopyRecord():
            return MemoryKind.MANAGED in ends_of(record)
        case MemoryRecord():
            return MEMORY_KINDS.get(record.memory_kind) is MemoryKind.MANAGED
    return False


def _work_events(
    record: Work, origin: Origin, notebook: Notebook, *, held: bool
) -> Iterator[Event]:
    match record:
        case CopyRecord():
            yield from _transfers(record, origin, notebook, held=held)
        case MemsetRecord():
            yield Memset(
                **origin.of(api=origin.api or "a fill", stream=record.stream),
                **origin.worked(record),
                size_bytes=record.size_bytes,
            )
        case KernelRecord():
            yield Kernel(
                **origin.of(api=record.name, stream=record.stream), **origin.worked(record)
            )
        case MemoryRecord():
            if record.operation == ActivityMemoryOperationType.ALLOCATION:
                yield Allocation(
                    **origin.of(api=origin.api or "an allocation", stream=record.stream),
                    size_bytes=record.size_bytes,
                    memory=MEMORY_KINDS.get(record.memory_kind, MemoryKind.UNKNOWN),
                )
        case HostNodeRecord():
            api = origin.api or "a graph launch"
            yield Sync(**origin.of(api=api, stream=record.stream), kind=SyncKind.HOST_CALLBACK)


def _transfers(
    record: CopyRecord, origin: Origin, notebook: Notebook, *, held: bool
) -> Iterator[Event]:
    direction = direction_of(record)
    if direction is None:
        notebook.doubt(Doubt.NO_DIRECTION, about=origin.api, site=origin.site)
        return
    holds = holds_host(record, direction)
    if holds is None and not held:
        notebook.doubt(Doubt.NO_HOST_KIND, about=origin.api, site=origin.site)
    source, destination = ends_of(record)
    for size_bytes in sizes_of(record):
        yield Transfer(
            **origin.of(api=origin.api or "a copy outside any recorded call", stream=record.stream),
            **origin.worked(record),
            direction=direction,
            size_bytes=size_bytes,
            source=source,
            destination=destination,
            blocking=held or bool(holds),
        )


def _waited(launch: Launch, work: Sequence[Work]) -> tuple[SyncKind, int] | None:
    """What the host waited for in this call, and the stream.

    The call's name decides, since CUPTI writes a synchronization record for a query too; a record without
    such a name is a wait inside some other call, as a release of memory may have.
    """
    waits = [record for record in work if isinstance(record, SyncRecord) and record.type in WAITS]
    named = [call for call in (launch.call, *launch.inside) if call.kind is CallClass.SYNC]
    if not named and (not waits or CallClass.POLL in launch.classes):
        return None
    if waits:
        return WAITS[waits[0].type], waits[0].stream
    return _kind_by_name(named[0]), 0


def _kind_by_name(call: Call) -> SyncKind:
    if "Stream" in call.name:
        return SyncKind.STREAM
    return SyncKind.EVENT if "Event" in call.name else SyncKind.DEVICE
