"""The timeline a run file keeps: every event flat and in order, and no time that nobody measured."""

from __future__ import annotations

from dataclasses import replace

from builders import A_SITE, a_kernel, a_sync, a_trace, a_transfer
from toy_workload import square_sum, verdict_of

from harness.model.event import (
    Allocation,
    Direction,
    Event,
    EventType,
    MemoryKind,
    Memset,
    SyncKind,
)
from harness.model.timeline import MOST_EVENTS, TimelineEvent
from harness.session.timeline import timeline_of


def flat(event: Event) -> TimelineEvent:
    (only,) = timeline_of(a_trace(event)).events
    return only


def test_a_copy_keeps_what_a_picture_needs() -> None:
    assert flat(a_transfer()) == TimelineEvent(
        type=EventType.TRANSFER,
        api="cudaMemcpyAsync",
        regions=("forward",),
        site=A_SITE,
        size_bytes=4,
        direction=Direction.DEVICE_TO_HOST,
        blocking=True,
    )


def test_a_wait_holds_the_host_and_a_host_callback_does_not() -> None:
    assert (flat(a_sync()).sync, flat(a_sync()).blocking) == (SyncKind.STREAM, True)
    assert not flat(a_sync(kind=SyncKind.HOST_CALLBACK)).blocking


def test_fills_and_allocations_keep_their_size() -> None:
    fill = Memset(api="cudaMemsetAsync", size_bytes=64)
    allocation = Allocation(api="cudaMalloc", size_bytes=512, memory=MemoryKind.DEVICE)
    assert [flat(event).size_bytes for event in (fill, allocation, a_kernel())] == [64, 512, 0]


def test_the_order_is_that_of_the_trace() -> None:
    timeline = timeline_of(a_trace(a_kernel(api="b"), a_kernel(api="a"), a_sync()))
    assert [event.api for event in timeline.events] == ["b", "a", "cudaStreamSynchronize"]


def test_more_events_than_a_file_should_hold_are_counted() -> None:
    timeline = timeline_of(a_trace(*[a_kernel()] * (MOST_EVENTS + 3)))
    assert (len(timeline.events), timeline.omitted) == (MOST_EVENTS, 3)


def test_measured_times_are_kept() -> None:
    timed = replace(a_kernel(), start_ns=10, host_ns=20, device_start_ns=40, device_ns=5)
    event = flat(timed)
    assert (event.start_ns, event.host_ns, event.device_start_ns, event.device_ns) == (
        10,
        20,
        40,
        5,
    )


def test_a_start_without_any_duration_is_an_order_and_no_time() -> None:
    assert flat(replace(a_kernel(), start_ns=10)).start_ns is None


def test_a_read_in_the_op_is_in_its_timeline_and_the_repaired_op_has_none() -> None:
    def reads(inputs, region):
        with region("forward"):
            float(inputs["x"].sum())
        return square_sum(inputs, region)

    def blocking(run):
        traffic = verdict_of(calls=run).traffic
        assert traffic.timeline.events
        assert all(event.start_ns is None for event in traffic.timeline.events)
        return [event.type.value for event in traffic.timeline.events if event.blocking]

    assert blocking(reads) == ["transfer", "sync"]
    assert blocking(square_sum) == []
