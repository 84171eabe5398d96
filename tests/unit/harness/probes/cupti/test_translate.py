"""Records to events: every class of the traffic table, and every reason to doubt a count."""

from __future__ import annotations

import itertools

import pytest

from harness.model.event import (
    Allocation,
    Direction,
    Kernel,
    MemoryKind,
    Memset,
    Site,
    Sync,
    SyncKind,
    Transfer,
)
from harness.probes.cupti.calls import Call, call_named
from harness.probes.cupti.records import (
    ApiRecord,
    CopyRecord,
    GraphTraceRecord,
    HostNodeRecord,
    KernelRecord,
    MemoryRecord,
    MemsetRecord,
    MigrationRecord,
    SyncRecord,
)
from harness.probes.cupti.regions import RegionLog
from harness.probes.cupti.translate import Gathered, translate

OWNER = 1
RUNTIME, DRIVER = 5, 4
EVENT, ORDER, STREAM, CONTEXT = 1, 2, 3, 4
SITE = Site("loss.py", 31, "forward")


class Tape:
    """Builds the records of one recording, one call after another."""

    def __init__(self) -> None:
        self.records: list = []
        self.calls: dict[tuple[int, int], Call] = {}
        self.sites: dict[int, Site | None] = {}
        self.regions = RegionLog(owner=OWNER)
        self._now = 1000
        self._ids = itertools.count(1)

    def call(self, name, *causes, inside=(), thread=OWNER, returned=0, site=SITE, at=None):
        """A runtime or driver call by name, its driver calls, and the records it causes."""
        number, start = next(self._ids), at or self._now
        self._now = max(self._now, start) + 100
        self._api(name, start, start + 90, number, thread, returned)
        inner = number
        for position, driver in enumerate(inside):
            inner = next(self._ids)
            at_ns = start + 1 + position * 20
            self._api(driver, at_ns, at_ns + 10, inner, thread, returned)
        self.sites[number] = site
        self.records += [cause((inner, number)) for cause in causes]
        return number

    def _api(self, name, start, end, number, thread, returned):
        kind = RUNTIME if name.startswith("cuda") else DRIVER
        cbid = len(self.calls) + 1
        self.calls[2 if kind == RUNTIME else 1, cbid] = call_named(name)
        self.records.append(ApiRecord(kind, cbid, start, end, thread, number, returned))

    def translate(self, **changes):
        fields = {
            "records": self.records,
            "calls": self.calls,
            "sites": self.sites,
            "inside": {},
            "regions": self.regions,
            "start_ns": 1000,
            "end_ns": self._now,
        }
        return translate(Gathered(**{**fields, **changes}))

    def events(self, **changes):
        return list(self.translate(**changes).events)


@pytest.fixture
def tape():
    return Tape()


def copy(kind=2, source=3, destination=1, flags=1, size_bytes=4, count=1, in_graph=False):
    return lambda ids: CopyRecord(
        kind, source, destination, flags, size_bytes, count, 5000, 5250, 7, ids, in_graph
    )


def wait(type=STREAM, stream=7):
    return lambda ids: SyncRecord(type, 5000, 5001, stream, ids)


def kernel(name="cupy_add"):
    return lambda ids: KernelRecord(name, 5000, 5030, 7, ids)


def memory(operation=1, kind=3, size_bytes=512):
    return lambda ids: MemoryRecord(operation, kind, size_bytes, 5000, 0, ids)


# --- copies ---------------------------------------------------------------------------------------------


def test_reading_an_array_is_one_pageable_copy_and_one_wait(tape):
    tape.call("cudaMemcpyAsync", copy(), inside=["cuMemcpyDtoHAsync_v2"])
    tape.call("cudaStreamSynchronize", wait(), inside=["cuStreamSynchronize"])
    read, held = tape.events()
    assert read == Transfer(
        api="cudaMemcpyAsync",
        site=SITE,
        stream=7,
        start_ns=0,
        host_ns=90,
        device_start_ns=4000,
        device_ns=250,
        direction=Direction.DEVICE_TO_HOST,
        size_bytes=4,
        source=MemoryKind.DEVICE,
        destination=MemoryKind.PAGEABLE,
        blocking=True,
    )
    assert held == Sync(
        api="cudaStreamSynchronize",
        site=SITE,
        stream=7,
        start_ns=100,
        host_ns=90,
        kind=SyncKind.STREAM,
    )
    assert tape.translate().doubts == ()


def test_the_drivers_own_spelling_is_seen_as_well(tape):
    tape.call("cuMemcpyDtoH_v2", copy(flags=0))
    (read,) = tape.events()
    assert (read.api, read.blocking) == ("cuMemcpyDtoH", True)


@pytest.mark.parametrize(
    ("kind", "direction"), [(8, Direction.DEVICE_TO_DEVICE), (10, Direction.PEER_TO_PEER)]
)
def test_a_copy_by_default_kind_goes_where_its_record_says(tape, kind, direction):
    tape.call("cudaMemcpyAsync", copy(kind=kind, source=3, destination=3))
    (moved,) = tape.events()
    assert moved.direction is direction
    assert not moved.blocking


def test_a_batch_is_as_many_copies_as_it_says(tape):
    tape.call("cudaMemcpyBatchAsync", copy(count=3, size_bytes=10))
    assert [event.size_bytes for event in tape.events()] == [3, 3, 4]


def test_one_call_may_leave_several_records(tape):
    tape.call("cudaMemcpyBatchAsync", copy(), copy(kind=1, source=2, destination=3))
    assert [event.direction.value for event in tape.events()] == ["D2H", "H2D"]


def test_a_copy_that_waits_inside_itself_is_blocking_and_no_wait(tape):
    tape.call("cudaMemcpy", copy(destination=2, flags=1), wait(), inside=["cuStreamSynchronize"])
    (read,) = tape.events()
    assert isinstance(read, Transfer)
    assert read.blocking


def test_a_copy_call_that_waited_but_copied_nothing_is_a_wait(tape):
    tape.call("cudaMemcpy", wait())
    (held,) = tape.events()
    assert (held.api, held.kind) == ("cudaMemcpy", SyncKind.STREAM)


def test_a_record_that_knows_only_the_driver_call_gets_the_runtime_calls_name_and_line(tape):
    tape.call("cudaMemcpyAsync", lambda ids: copy()(ids[:1]), inside=["cuMemcpyDtoHAsync_v2"])
    (read,) = tape.events()
    assert (read.api, read.site) == ("cudaMemcpyAsync", SITE)


def test_a_driver_call_without_a_record_is_led_to_its_runtime_call_by_its_entry(tape):
    outer = tape.call("cudaMemcpyAsync", lambda ids: copy()((77,)))
    read, *_ = tape.events(inside={77: outer})
    assert (read.api, read.site) == ("cudaMemcpyAsync", SITE)
    assert tape.translate(inside={77: outer}).doubts == ()


def test_a_line_known_only_to_the_inner_call_is_used(tape):
    outer = tape.call("cudaMemcpyAsync", copy(), inside=["cuMemcpyDtoHAsync_v2"], site=None)
    tape.sites[outer + 1] = SITE
    assert tape.events()[0].site == SITE


# --- waits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "type", "kind"),
    [
        ("cudaStreamSynchronize", STREAM, SyncKind.STREAM),
        ("cudaEventSynchronize", EVENT, SyncKind.EVENT),
        ("cudaDeviceSynchronize", CONTEXT, SyncKind.DEVICE),
        ("cudaThreadSynchronize", CONTEXT, SyncKind.DEVICE),
        ("cudaExecutionCtxSynchronize", CONTEXT, SyncKind.DEVICE),
        ("cuStreamSynchronize_ptsz", STREAM, SyncKind.STREAM),
        ("cuEventSynchronize", EVENT, SyncKind.EVENT),
        ("cuCtxSynchronize_v2", CONTEXT, SyncKind.DEVICE),
    ],
)
def test_a_wait_counts_once_with_and_without_its_record(tape, name, type, kind):
    tape.call(name, wait(type))
    tape.call(name)
    assert [event.kind for event in tape.events()] == [kind, kind]


def test_polling_is_no_wait_although_cupti_records_it_like_one(tape):
    tape.call("cudaEventQuery", wait(EVENT), inside=["cuEventQuery"])
    tape.call("cudaStreamQuery", wait(STREAM))
    translation = tape.translate()
    assert translation.events == ()
    assert translation.doubts == ()
    assert translation.facts == ("poll: cudaEventQuery, cudaStreamQuery",)


def test_ordering_streams_is_no_wait(tape):
    tape.call("cudaStreamWaitEvent", wait(ORDER), inside=["cuStreamWaitEvent"])
    tape.call("cudaEventRecord")
    assert tape.events() == []


@pytest.mark.parametrize("name", ["cudaFree", "cudaHostAlloc", "cuModuleLoadData"])
def test_a_wait_inside_another_call_is_seen_under_that_calls_name(tape, name):
    tape.call(name, wait(CONTEXT))
    (held,) = tape.events()
    assert (held.api, held.kind) == (name, SyncKind.DEVICE)


def test_calls_that_may_serialise_are_told_but_not_judged(tape):
    tape.call("cudaMalloc")
    tape.call("cudaFree")
    tape.call("cudaFree")
    translation = tape.translate()
    assert translation.events == ()
    assert translation.facts == ("allocation or release, may serialise: cudaMalloc, cudaFree x2",)


@pytest.mark.parametrize("name", ["LaunchHostFunc", "StreamAddCallback"])
def test_a_host_function_holds_the_device_once(tape, name):
    tape.call(f"cuda{name}", inside=[f"cu{name}"])
    (held,) = tape.events()
    assert isinstance(held, Sync)
    assert (held.api, held.kind) == (f"cuda{name}", SyncKind.HOST_CALLBACK)


def test_a_host_function_of_a_graph_is_seen_when_the_graph_runs(tape):
    tape.call("cudaGraphLaunch", lambda ids: HostNodeRecord(5000, 7, ids))
    (held,) = tape.events()
    assert (held.api, held.kind) == ("cudaGraphLaunch", SyncKind.HOST_CALLBACK)


# --- everything else ------------------------------------------------------------------------------------


def test_kernels_fills_and_allocations_are_events(tape):
    tape.call("cuLaunchKernel", kernel())
    tape.call("cudaMemsetAsync", lambda ids: MemsetRecord(64, 5000, 5010, 7, ids))
    tape.call("cudaMalloc", memory())
    assert [type(event) for event in tape.events()] == [Kernel, Memset, Allocation]
    added, filled, allocated = tape.events()
    assert added.api == "cupy_add"
    assert (filled.api, filled.size_bytes) == ("cudaMemsetAsync", 64)
    assert (allocated.size_bytes, allocated.memory) == (512, MemoryKind.DEVICE)


def test_a_release_is_no_allocation(tape):
    tape.call("cudaFree", memory(operation=2))
    assert tape.events() == []


def test_the_nodes_of_a_graph_are_events_of_its_launch(tape):
    tape.call("cudaGraphLaunch", kernel(), copy(in_graph=True), inside=["cuGraphLaunch"])
    ran, read = tape.events()
    assert isinstance(ran, Kernel)
    assert (read.api, read.site, read.blocking) == ("cudaGraphLaunch", SITE, False)


# --- time, threads and regions --------------------------------------------------------------------------


def test_the_device_has_its_own_times_on_the_clock_of_the_recording(tape):
    tape.call("cuLaunchKernel", kernel())
    tape.call("cudaMemsetAsync", lambda ids: MemsetRecord(64, 5000, 5010, 7, ids))
    tape.call("cudaMemcpyAsync", copy())
    times = [(event.device_start_ns, event.device_ns) for event in tape.events()]
    assert times == [(4000, 30), (4000, 10), (4000, 250)]
    assert [(event.start_ns, event.host_ns) for event in tape.events()] == [
        (0, 90),
        (100, 90),
        (200, 90),
    ]


def test_times_that_cupti_could_not_take_are_unknown_and_not_zero(tape):
    tape.call("cuLaunchKernel", lambda ids: KernelRecord("cupy_add", 0, 0, 7, ids))
    (ran,) = tape.events()
    assert (ran.start_ns, ran.host_ns) == (0, 90)
    assert (ran.device_start_ns, ran.device_ns) == (None, None)


def test_a_wait_and_an_allocation_are_the_hosts_alone(tape):
    tape.call("cudaStreamSynchronize", wait())
    tape.call("cudaMalloc", memory())
    assert [event.device_ns for event in tape.events()] == [None, None]


def test_the_copies_of_a_batch_share_the_time_the_device_took_for_it(tape):
    tape.call("cudaMemcpyBatchAsync", copy(count=3, size_bytes=10))
    assert [event.device_ns for event in tape.events()] == [250, 250, 250]


def test_a_kernel_no_call_explains_has_the_devices_times_alone(tape):
    tape.records.append(kernel()((99,)))
    (ran,) = tape.events()
    assert (ran.host_ns, ran.device_start_ns, ran.device_ns) == (None, 4000, 30)


def test_a_call_before_or_after_the_recording_is_not_in_it(tape):
    tape.call("cudaMemcpyAsync", copy(), at=500)
    tape.call("cudaMemcpyAsync", copy(size_bytes=8), at=1000)
    tape.call("cudaMemcpyAsync", copy(), at=2000)
    assert [event.size_bytes for event in tape.events(end_ns=1999)] == [8]


def test_a_copy_that_ran_on_the_device_after_its_region_belongs_to_it_all_the_same(tape):
    before = tape.regions.enter("forward", thread=OWNER, at_ns=1000)
    tape.call("cudaMemcpyAsync", copy())
    tape.regions.leave(before, thread=OWNER, at_ns=1095)
    (read,) = tape.events()
    assert read.regions == ("forward",)


def test_a_helper_thread_counts_to_the_owners_regions(tape):
    tape.regions.enter("forward", thread=OWNER, at_ns=1000)
    tape.call("cudaMemcpyAsync", copy(), thread=2)
    assert tape.events()[0].regions == ("forward",)


def test_events_of_all_threads_come_in_order_of_their_launch(tape):
    tape.call("cudaMemcpyAsync", copy(size_bytes=1), at=3000, thread=2)
    tape.call("cudaMemcpyAsync", copy(size_bytes=2), at=2000)
    assert [event.size_bytes for event in tape.events()] == [2, 1]


# --- doubts ---------------------------------------------------------------------------------------------


def doubts_of(tape, **changes):
    return tape.translate(**changes).doubts


def test_a_copy_call_without_a_copy_is_a_doubt_with_its_line(tape):
    tape.call("cudaMemcpyAsync")
    (doubt,) = doubts_of(tape)
    assert doubt.startswith("1 copy call (cudaMemcpyAsync at loss.py:31 in forward) left no record")


def test_a_copy_call_that_failed_is_not(tape):
    tape.call("cudaMemcpyAsync", returned=1)
    assert doubts_of(tape) == ()


def test_several_doubts_of_a_kind_are_one_line_with_the_first(tape):
    tape.call("cudaMemcpyAsync")
    tape.call("cudaMemcpy")
    (doubt,) = doubts_of(tape)
    assert doubt.startswith(
        "2 copy calls (cudaMemcpyAsync at loss.py:31 in forward, first of them)"
    )


def test_a_copy_no_call_explains_is_counted_and_doubted(tape):
    tape.records.append(copy()((999,)))
    translation = tape.translate()
    assert translation.events[0].direction is Direction.DEVICE_TO_HOST
    assert "belonged to no recorded call" in translation.doubts[0]


def test_a_wait_no_call_explains_is_counted_and_doubted(tape):
    tape.records.append(wait(EVENT)((999,)))
    translation = tape.translate()
    assert translation.events[0].kind is SyncKind.EVENT
    assert "host wait" in translation.doubts[0]


def test_a_kernel_no_call_explains_ran_all_the_same(tape):
    tape.records.append(kernel()((999,)))
    translation = tape.translate()
    assert [event.api for event in translation.events] == ["cupy_add"]
    assert translation.doubts == ()


def test_a_graph_whose_nodes_left_nothing_is_a_doubt(tape):
    tape.call("cudaGraphLaunch", inside=["cuGraphLaunch"])
    (doubt,) = doubts_of(tape)
    assert "left no record of any node" in doubt
    assert "session" in doubt


def test_a_graph_launch_whose_host_nodes_cannot_be_seen_is_told(tape):
    tape.call("cudaGraphLaunch", kernel())
    assert tape.translate().facts == ()
    (fact,) = tape.translate(sees_host_nodes=False).facts
    assert "host functions in it not recorded" in fact
    assert tape.translate(sees_host_nodes=False).doubts == ()


def test_graph_level_tracing_by_somebody_else_is_a_doubt(tape):
    tape.records.append(GraphTraceRecord(5000))
    assert "GRAPH_TRACE" in doubts_of(tape)[0]


def test_a_call_with_a_telling_name_of_the_future_is_a_doubt(tape):
    tape.call("cudaCopyEverything_v14000")
    (doubt,) = doubts_of(tape)
    assert "cudaCopyEverything" in doubt
    assert "update this package" in doubt


def test_a_number_without_a_name_is_a_doubt(tape):
    tape.records.append(ApiRecord(RUNTIME, 4711, 1010, 1020, OWNER, 50, 0))
    assert "reserved4711" in doubts_of(tape, end_ns=2000)[0]


def test_a_call_that_is_none_of_these_is_no_doubt(tape):
    tape.call("cudaGetDevice")
    assert doubts_of(tape) == ()


def test_a_call_without_times_is_a_doubt(tape):
    tape.call("cudaStreamSynchronize")
    tape.records.append(ApiRecord(RUNTIME, 1, 0, 0, OWNER, 50, 0))
    (doubt,) = doubts_of(tape)
    assert "1 call (cudaStreamSynchronize) came without times" in doubt


def test_a_direction_nobody_names_is_a_doubt_and_no_event(tape):
    tape.call("cudaMemcpyAsync", copy(kind=42, source=5, destination=5))
    translation = tape.translate(watches_migrations=True)
    assert translation.events == ()
    assert "direction" in translation.doubts[0]


def test_host_memory_of_unknown_kind_is_a_doubt(tape):
    tape.call("cudaMemcpyAsync", copy(destination=0))
    translation = tape.translate()
    assert not translation.events[0].blocking
    assert "no kind of host memory" in translation.doubts[0]


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("cudaMallocManaged", memory(kind=5)),
        ("cudaMemcpyAsync", copy(destination=5)),
        ("cudaMemPrefetchAsync", None),
    ],
)
def test_managed_memory_is_a_doubt_unless_its_pages_are_watched(tape, name, cause):
    tape.call(name, *([cause] if cause else []))
    assert any("managed memory" in doubt for doubt in doubts_of(tape))
    assert doubts_of(tape, watches_migrations=True) == ()


def test_migrations_within_the_recording_are_copies_in_the_owners_region(tape):
    tape.regions.enter("forward", thread=OWNER, at_ns=1000)
    tape.call("cudaGetDevice")
    tape.records += [MigrationRecord(2, 4096, 0x1000, 1050), MigrationRecord(2, 4096, 0x1000, 500)]
    (copied,) = tape.events(watches_migrations=True)
    assert (copied.size_bytes, copied.regions) == (4096, ("forward",))


def test_what_is_captured_into_a_graph_neither_happens_nor_is_missed(tape):
    tape.call("cudaStreamBeginCapture")
    tape.call("cudaMemcpyAsync")
    tape.call("cudaLaunchHostFunc")
    tape.call("cudaStreamEndCapture")
    assert tape.translate().events == ()
    assert tape.translate().doubts == ()


def test_a_wait_under_capture_still_counts(tape):
    tape.call("cudaStreamBeginCapture")
    tape.call("cudaDeviceSynchronize", returned=900)
    assert [event.kind for event in tape.events()] == [SyncKind.DEVICE]


def test_mapped_host_memory_is_told(tape):
    tape.call("cudaHostGetDevicePointer")
    assert tape.translate().facts == (
        "host memory mapped for the device: cudaHostGetDevicePointer",
    )


def test_nothing_recorded_is_nothing_seen(tape):
    assert tape.translate() == translate(
        Gathered(
            records=[],
            calls={},
            sites={},
            inside={},
            regions=RegionLog(owner=OWNER),
            start_ns=0,
            end_ns=1,
        )
    )
