"""Real record objects of cupti-python, read for every kind, and for every value of their fields."""

from __future__ import annotations

import itertools

import pytest

from harness.probes.cupti import records
from harness.probes.cupti.kinds import ActivityKind
from harness.probes.cupti.records import read_record

CLASSES = {
    "MEMCPY": "ActivityMemcpy7",
    "MEMCPY2": "ActivityMemcpyPtoP4",
    "MEMSET": "ActivityMemset5",
    "KERNEL": "ActivityKernel13",
    "CONCURRENT_KERNEL": "ActivityKernel13",
    "CDP_KERNEL": "ActivityCdpKernel",
    "DRIVER": "ActivityAPI",
    "RUNTIME": "ActivityAPI",
    "SYNCHRONIZATION": "ActivitySynchronization2",
    "MEMORY2": "ActivityMemory4",
    "GRAPH_HOST_NODE": "ActivityGraphHostNode",
    "UNIFIED_MEMORY_COUNTER": "ActivityUnifiedMemoryCounter3",
    "GRAPH_TRACE": "ActivityGraphTrace2",
}
OLDER = {
    "MEMCPY": ["ActivityMemcpy5", "ActivityMemcpy6"],
    "MEMSET": ["ActivityMemset4"],
    "CONCURRENT_KERNEL": [f"ActivityKernel{n}" for n in (9, 10, 11, 12)],
    "SYNCHRONIZATION": ["ActivitySynchronization"],
    "UNIFIED_MEMORY_COUNTER": ["ActivityUnifiedMemoryCounter2"],
}


@pytest.mark.parametrize(("kind", "name"), CLASSES.items())
def test_the_record_of_each_kind_is_read(make, kind, name):
    assert read_record(make(name, kind=int(ActivityKind[kind]))) is not None


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in OLDER.items() for name in names]
)
def test_the_record_of_an_older_release_is_read_as_well(make, kind, name):
    assert read_record(make(name, kind=int(ActivityKind[kind]))) is not None


def test_every_kind_with_a_reader_is_tried_here():
    assert {ActivityKind[kind] for kind in CLASSES} == set(records._READERS)


def test_kinds_that_never_matter_are_passed_over(make):
    assert read_record(make("ActivityCudaEvent2", kind=36)) is None
    assert read_record(make("ActivityContext4", kind=9)) is None


@pytest.mark.parametrize("copy_kind", range(11))
def test_copy_kind_memory_kinds_and_flag_arrive_as_cupti_wrote_them(make, copy_kind):
    for source, destination, flags in itertools.product(range(8), range(8), (0, 1)):
        real = make(
            "ActivityMemcpy7",
            kind=1,
            copy_kind=copy_kind,
            src_kind=source,
            dst_kind=destination,
            flags_=flags,
            bytes=4,
            copy_count=1,
        )
        plain = read_record(real)
        assert (plain.copy_kind, plain.source, plain.destination, plain.flags) == (
            copy_kind,
            source,
            destination,
            flags,
        )


def test_a_copy_is_read_field_by_field(make):
    real = make(
        "ActivityMemcpy7",
        kind=1,
        bytes=1 << 40,
        copy_count=3,
        start=11,
        stream_id=7,
        correlation_id=21,
        runtime_correlation_id=20,
        graph_node_id=0,
    )
    copy = read_record(real)
    assert copy.size_bytes == 1 << 40
    assert copy.count == 3
    assert (copy.start, copy.stream) == (11, 7)
    assert copy.correlations == (21, 20)
    assert not copy.in_graph


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in ("MEMCPY", "MEMCPY2", "MEMSET", "KERNEL", "CONCURRENT_KERNEL", "CDP_KERNEL")
        for name in (CLASSES[kind], *OLDER.get(kind, ()))
    ],
)
def test_when_the_device_began_and_ended_is_read_from_every_record_of_its_work(make, kind, name):
    work = read_record(make(name, kind=int(ActivityKind[kind]), start=11, end=31))
    assert (work.start, work.end) == (11, 31)


def test_a_copy_of_a_graph_says_so(make):
    assert read_record(make("ActivityMemcpy7", kind=1, graph_node_id=1 << 40)).in_graph
    assert read_record(make("ActivityMemcpyPtoP4", kind=22, graph_node_id=9)).in_graph


def test_a_peer_copy_counts_once_and_has_the_drivers_correlation_only(make):
    copy = read_record(
        make("ActivityMemcpyPtoP4", kind=22, copy_kind=10, bytes=8, correlation_id=5)
    )
    assert (copy.count, copy.size_bytes, copy.correlations) == (1, 8, (5,))


def test_a_record_that_leaves_the_count_out_stands_for_one_copy(make):
    assert read_record(make("ActivityMemcpy7", kind=1, copy_count=0)).count == 1


def test_an_unset_correlation_is_none(make):
    assert read_record(make("ActivityMemcpy7", kind=1)).correlations == ()


def test_a_wait_without_a_stream_is_on_none(make):
    real = make("ActivitySynchronization2", kind=38, type=4, stream_id=0xFFFFFFFF, end=9)
    wait = read_record(real)
    assert (wait.type, wait.stream, wait.end) == (4, 0, 9)


def test_a_call_is_read_field_by_field(make):
    real = make(
        "ActivityAPI",
        kind=5,
        cbid=41,
        start=1,
        end=2,
        thread_id=3,
        correlation_id=4,
        return_value=900,
    )
    assert read_record(real) == records.ApiRecord(5, 41, 1, 2, 3, 4, 900)


def test_a_kernel_keeps_its_name_and_one_without_is_called_so(make):
    assert read_record(make("ActivityKernel13", kind=10, name="cupy_add")).name == "cupy_add"
    assert read_record(make("ActivityKernel13", kind=10)).name == "a kernel without a name"


def test_an_allocation_and_a_release_are_told_apart(make):
    for operation in (1, 2):
        real = make(
            "ActivityMemory4",
            kind=49,
            memory_operation_type=operation,
            memory_kind=3,
            bytes=512,
            timestamp=8,
        )
        memory = read_record(real)
        assert (memory.operation, memory.size_bytes, memory.start) == (operation, 512, 8)


def test_what_was_read_survives_the_record(make):
    real = make("ActivityMemcpy7", kind=1, bytes=4, copy_kind=2)
    plain = read_record(real)
    real.bytes = 999
    assert plain.size_bytes == 4


def test_a_record_that_is_not_what_its_kind_promises_raises(make):
    with pytest.raises(AttributeError):
        read_record(make("ActivityMemset5", kind=1))
