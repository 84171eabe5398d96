"""Which way a copy went and whether its call held the host.

Source of the rules: "API synchronization behavior" in the CUDA Runtime API manual, and the note on small copies
in the CUDA programming guide.
"""

from __future__ import annotations

from harness.model.event import Direction, MemoryKind
from harness.probes.cupti.kinds import DIRECTIONS, HOST_KINDS, MEMCPY_ASYNC, MEMORY_KINDS
from harness.probes.cupti.records import CopyRecord

__all__ = ["SMALL_UPLOAD_BYTES", "direction_of", "ends_of", "holds_host", "sizes_of"]

SMALL_UPLOAD_BYTES = 64 * 1024
"""Up to this size a synchronous upload from pageable memory is staged and may return early (programming guide)."""

_DEVICE_KINDS = frozenset({MemoryKind.DEVICE, MemoryKind.ARRAY})
_ON_DEVICE = frozenset({Direction.DEVICE_TO_DEVICE, Direction.PEER_TO_PEER})


def ends_of(record: CopyRecord) -> tuple[MemoryKind, MemoryKind]:
    """Source and destination memory; a kind that CUPTI has newly invented is unknown."""
    unknown = MemoryKind.UNKNOWN
    return MEMORY_KINDS.get(record.source, unknown), MEMORY_KINDS.get(record.destination, unknown)


def direction_of(record: CopyRecord) -> Direction | None:
    """Which way it went, from the record; from the memory at both ends where the record does not say.

    ``None`` when neither tells, as with managed memory on one side.
    """
    known = DIRECTIONS.get(record.copy_kind)
    if known is not None:
        return known
    source, destination = ends_of(record)
    sides = (_side(source), _side(destination))
    return {
        ("host", "device"): Direction.HOST_TO_DEVICE,
        ("device", "host"): Direction.DEVICE_TO_HOST,
        ("device", "device"): Direction.DEVICE_TO_DEVICE,
        ("host", "host"): Direction.HOST_TO_HOST,
    }.get(sides)


def holds_host(record: CopyRecord, direction: Direction) -> bool | None:
    """Whether the call itself kept the host until the copy, or its staging, was done.

    A copy inside a graph never does, one inside device memory never does, one between two places on the host
    always does. Any other holds the host when it was not asked to be asynchronous, and when it was but has
    pageable memory at one end. ``None`` when that depends on memory CUPTI could not name.
    """
    if record.in_graph or direction in _ON_DEVICE:
        return False
    if direction is Direction.HOST_TO_HOST:
        return True
    source, destination = ends_of(record)
    if record.flags & MEMCPY_ASYNC:
        if MemoryKind.PAGEABLE in (source, destination):
            return True
        host_side = destination if direction is Direction.DEVICE_TO_HOST else source
        return None if host_side is MemoryKind.UNKNOWN else False
    staged = direction is Direction.HOST_TO_DEVICE and source is MemoryKind.PAGEABLE
    return not (staged and record.size_bytes <= SMALL_UPLOAD_BYTES)


def sizes_of(record: CopyRecord) -> tuple[int, ...]:
    """One size per copy; CUPTI gives a batch only its sum, which is spread evenly."""
    each, left = divmod(record.size_bytes, record.count)
    return (each,) * (record.count - 1) + (each + left,)


def _side(kind: MemoryKind) -> str:
    if kind in HOST_KINDS:
        return "host"
    return "device" if kind in _DEVICE_KINDS else "either"
