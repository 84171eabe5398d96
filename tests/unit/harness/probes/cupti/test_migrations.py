"""Managed memory: pages that move are copies, and what cannot be explained is a doubt."""

from __future__ import annotations

from harness.model.event import Direction, MemoryKind
from harness.probes.cupti.doubts import Notebook
from harness.probes.cupti.kinds import ActivityUnifiedMemoryCounterKind as Counter
from harness.probes.cupti.migrations import migration_events
from harness.probes.cupti.records import MigrationRecord
from harness.probes.cupti.work import Origin

ORIGIN = Origin(api="", regions=("forward",), site=None, start_ns=5, host_ns=None, zero_ns=0)


def migrate(*counters):
    notebook = Notebook()
    records = [MigrationRecord(int(kind), value, address, 1) for kind, value, address in counters]
    return list(migration_events(records, lambda record: ORIGIN, notebook)), notebook.doubts()


def test_pages_fetched_by_the_host_are_a_blocking_read():
    (copy,), doubts = migrate((Counter.BYTES_TRANSFER_DTOH, 4096, 0x1000))
    assert copy.direction is Direction.DEVICE_TO_HOST
    assert (copy.size_bytes, copy.blocking, copy.regions) == (4096, True, ("forward",))
    assert copy.source is copy.destination is MemoryKind.MANAGED
    assert doubts == ()


def test_pages_fetched_by_the_device_are_an_upload_that_does_not_block():
    (copy,), _ = migrate((Counter.BYTES_TRANSFER_HTOD, 8192, 0x1000))
    assert copy.direction is Direction.HOST_TO_DEVICE
    assert not copy.blocking


def test_pages_between_devices_are_a_peer_copy():
    (copy,), _ = migrate((Counter.BYTES_TRANSFER_DTOD, 8192, 0x1000))
    assert copy.direction is Direction.PEER_TO_PEER


def test_a_fault_with_the_migration_that_answers_it_is_no_doubt():
    events, doubts = migrate(
        (Counter.CPU_PAGE_FAULT_COUNT, 0x400, 0x1010), (Counter.BYTES_TRANSFER_DTOH, 4096, 0x1000)
    )
    assert len(events) == 1
    assert doubts == ()


def test_a_fault_without_one_is_a_doubt():
    events, doubts = migrate((Counter.CPU_PAGE_FAULT_COUNT, 0x400, 0x9000))
    assert events == []
    assert "page fault" in doubts[0]


def test_a_mapping_instead_of_a_migration_is_a_doubt():
    _, doubts = migrate((Counter.REMOTE_MAP, 4096, 0x1000))
    assert "leaves no record" in doubts[0]


def test_counters_that_add_nothing_make_neither_event_nor_doubt():
    harmless = [
        (kind, 1, 0x1000)
        for kind in (Counter.GPU_PAGE_FAULT, Counter.THRASHING, Counter.THROTTLING)
    ]
    assert migrate(*harmless) == ([], ())
