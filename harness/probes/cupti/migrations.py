"""Pages of managed memory on the move: copies nobody called for, seen only through CUPTI's counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from harness.model.event import Direction, Event, MemoryKind, Transfer
from harness.probes.cupti.doubts import Doubt, Notebook
from harness.probes.cupti.kinds import ActivityUnifiedMemoryCounterKind as CounterKind
from harness.probes.cupti.records import MigrationRecord
from harness.probes.cupti.work import Origin

__all__ = ["HARMLESS", "WATCHED", "migration_events"]

_DIRECTIONS: Mapping[int, Direction] = {
    CounterKind.BYTES_TRANSFER_HTOD: Direction.HOST_TO_DEVICE,
    CounterKind.BYTES_TRANSFER_DTOH: Direction.DEVICE_TO_HOST,
    CounterKind.BYTES_TRANSFER_DTOD: Direction.PEER_TO_PEER,
}

WATCHED = (*_DIRECTIONS, CounterKind.CPU_PAGE_FAULT_COUNT, CounterKind.REMOTE_MAP)
"""The counters a session asks for."""

HARMLESS: Mapping[int, str] = {
    CounterKind.UNKNOWN: "names no kind",
    CounterKind.GPU_PAGE_FAULT: "the device waits, and the transfer that ends it is counted",
    CounterKind.THRASHING: "a remark about transfers that are counted",
    CounterKind.THROTTLING: "a remark about transfers that are counted",
}
"""Counters that add nothing to those watched, each with the reason."""


def migration_events(
    records: Iterable[MigrationRecord],
    origin_of: Callable[[MigrationRecord], Origin],
    notebook: Notebook,
) -> Iterator[Event]:
    """One transfer per migration of pages.

    A migration to the host answers a fault of the host, which waits for it: it is blocking. A fault that no
    migration explains, and a mapping instead of a migration, are doubts.
    """
    records = list(records)
    fetched = [
        (record.address, record.address + record.value)
        for record in records
        if record.counter_kind == CounterKind.BYTES_TRANSFER_DTOH
    ]
    for record in records:
        direction = _DIRECTIONS.get(record.counter_kind)
        if direction is not None:
            yield _migration(record, direction, origin_of(record))
        elif record.counter_kind == CounterKind.REMOTE_MAP:
            notebook.doubt(Doubt.REMOTE_MAP)
        elif record.counter_kind == CounterKind.CPU_PAGE_FAULT_COUNT and not any(
            begin <= record.address < end for begin, end in fetched
        ):
            notebook.doubt(Doubt.CPU_FAULT)


def _migration(record: MigrationRecord, direction: Direction, origin: Origin) -> Transfer:
    return Transfer(
        **origin.of(api="migration of managed memory"),
        direction=direction,
        size_bytes=record.value,
        source=MemoryKind.MANAGED,
        destination=MemoryKind.MANAGED,
        blocking=direction is Direction.DEVICE_TO_HOST,
    )
