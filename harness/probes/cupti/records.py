"""CUPTI's records as plain data, read by attribute so that they outlive the buffer they came in.

A record object of cupti-python is a view of CUPTI's buffer and dies with it; ``read_record`` copies what is
needed. Fields that only some versions of a record have come with the default they had before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.probes.cupti.kinds import ActivityKind

__all__ = [
    "ApiRecord",
    "CopyRecord",
    "GraphTraceRecord",
    "HostNodeRecord",
    "KernelRecord",
    "MemoryRecord",
    "MemsetRecord",
    "MigrationRecord",
    "Record",
    "SyncRecord",
    "read_record",
]

_NO_STREAM = 0xFFFFFFFF
"""``CUPTI_SYNCHRONIZATION_INVALID_VALUE``: a wait that names no stream."""


@dataclass(frozen=True, slots=True)
class ApiRecord:
    """One runtime or driver call; times in CUPTI's ns, 0 where CUPTI could not take them."""

    kind: int
    cbid: int
    start: int
    end: int
    thread: int
    correlation: int
    returned: int


@dataclass(frozen=True, slots=True)
class CopyRecord:
    """One record of a copy, peer to peer included; ``count`` copies share its ``size_bytes``.

    ``start`` and ``end`` are those of the device's work, of all copies of a batch together. ``correlations`` are the
    calls it belongs to: the driver's, and the runtime's where the record has it.
    """

    copy_kind: int
    source: int
    destination: int
    flags: int
    size_bytes: int
    count: int
    start: int
    end: int
    stream: int
    correlations: tuple[int, ...]
    in_graph: bool


@dataclass(frozen=True, slots=True)
class MemsetRecord:
    """One fill."""

    size_bytes: int
    start: int
    end: int
    stream: int
    correlations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One kernel."""

    name: str
    start: int
    end: int
    stream: int
    correlations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SyncRecord:
    """One synchronization; CUPTI writes one for a query, too."""

    type: int
    start: int
    end: int
    stream: int
    correlations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One allocation or release."""

    operation: int
    memory_kind: int
    size_bytes: int
    start: int
    stream: int
    correlations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HostNodeRecord:
    """One host function that ran as a node of a graph."""

    start: int
    stream: int
    correlations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MigrationRecord:
    """One counter of managed memory; ``value`` is bytes, except for faults."""

    counter_kind: int
    value: int
    address: int
    start: int


@dataclass(frozen=True, slots=True)
class GraphTraceRecord:
    """Proof that somebody turned graph-level tracing on, which hides the copies inside graphs."""

    start: int


Record = (
    ApiRecord
    | CopyRecord
    | MemsetRecord
    | KernelRecord
    | SyncRecord
    | MemoryRecord
    | HostNodeRecord
    | MigrationRecord
    | GraphTraceRecord
)


def read_record(record: Any) -> Record | None:
    """The part of one of cupti-python's records that matters; ``None`` for a kind that never does.

    Raises ``AttributeError`` or ``ValueError`` when the record is not what its kind promises, as with a
    cupti-python that does not know the libcupti it found.
    """
    read = _READERS.get(int(record.kind))
    return None if read is None else read(record)


def _correlations(record: Any) -> tuple[int, ...]:
    ids = (int(record.correlation_id), int(getattr(record, "runtime_correlation_id", 0)))
    return tuple(dict.fromkeys(number for number in ids if number))


def _api(record: Any) -> ApiRecord:
    return ApiRecord(
        kind=int(record.kind),
        cbid=int(record.cbid),
        start=int(record.start),
        end=int(record.end),
        thread=int(record.thread_id),
        correlation=int(record.correlation_id),
        returned=int(record.return_value),
    )


def _copy(record: Any) -> CopyRecord:
    return CopyRecord(
        copy_kind=int(record.copy_kind),
        source=int(record.src_kind),
        destination=int(record.dst_kind),
        flags=int(record.flags_),
        size_bytes=int(record.bytes),
        # 1 before batches existed, and 0 in a record that leaves the field out.
        count=max(1, int(getattr(record, "copy_count", 1))),
        start=int(record.start),
        end=int(record.end),
        stream=int(record.stream_id),
        correlations=_correlations(record),
        in_graph=bool(int(record.graph_node_id)),
    )


def _memset(record: Any) -> MemsetRecord:
    return MemsetRecord(
        size_bytes=int(record.bytes),
        start=int(record.start),
        end=int(record.end),
        stream=int(record.stream_id),
        correlations=_correlations(record),
    )


def _kernel(record: Any) -> KernelRecord:
    return KernelRecord(
        name=str(record.name or "a kernel without a name"),
        start=int(record.start),
        end=int(record.end),
        stream=int(record.stream_id),
        correlations=_correlations(record),
    )


def _sync(record: Any) -> SyncRecord:
    stream = int(record.stream_id)
    return SyncRecord(
        type=int(record.type),
        start=int(record.start),
        end=int(record.end),
        stream=0 if stream == _NO_STREAM else stream,
        correlations=_correlations(record),
    )


def _memory(record: Any) -> MemoryRecord:
    return MemoryRecord(
        operation=int(record.memory_operation_type),
        memory_kind=int(record.memory_kind),
        size_bytes=int(record.bytes),
        start=int(record.timestamp),
        stream=int(record.stream_id),
        correlations=_correlations(record),
    )


def _host_node(record: Any) -> HostNodeRecord:
    return HostNodeRecord(
        start=int(record.start),
        stream=int(record.stream_id),
        correlations=_correlations(record),
    )


def _migration(record: Any) -> MigrationRecord:
    return MigrationRecord(
        counter_kind=int(record.counter_kind),
        value=int(record.value),
        address=int(record.address),
        start=int(record.start),
    )


def _graph_trace(record: Any) -> GraphTraceRecord:
    return GraphTraceRecord(start=int(record.start))


_READERS: Mapping[int, Callable[[Any], Record]] = {
    ActivityKind.MEMCPY: _copy,
    ActivityKind.MEMCPY2: _copy,
    ActivityKind.MEMSET: _memset,
    ActivityKind.KERNEL: _kernel,
    ActivityKind.CONCURRENT_KERNEL: _kernel,
    ActivityKind.CDP_KERNEL: _kernel,
    ActivityKind.DRIVER: _api,
    ActivityKind.RUNTIME: _api,
    ActivityKind.SYNCHRONIZATION: _sync,
    ActivityKind.MEMORY2: _memory,
    ActivityKind.GRAPH_HOST_NODE: _host_node,
    ActivityKind.UNIFIED_MEMORY_COUNTER: _migration,
    ActivityKind.GRAPH_TRACE: _graph_trace,
}
"""``CUDA_EVENT`` is enabled for what it adds to other records and has no reader."""
