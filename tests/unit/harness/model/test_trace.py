"""Traces: what is inside a region, and what is counted."""

import pytest
from builders import a_kernel, a_sync, a_trace, a_transfer

from harness.model.event import (
    Allocation,
    Direction,
    Event,
    EventType,
    MemoryKind,
    Memset,
)
from harness.model.trace import TrafficCounts, event_type

A_MEMSET = Memset(api="cudaMemsetAsync", size_bytes=16)
AN_ALLOCATION = Allocation(api="cudaMalloc", size_bytes=16, memory=MemoryKind.DEVICE)


@pytest.mark.parametrize(
    ("event", "needed"),
    [
        (a_transfer(), EventType.TRANSFER),
        (a_sync(), EventType.SYNC),
        (a_kernel(), EventType.KERNEL),
        (A_MEMSET, EventType.MEMSET),
        (AN_ALLOCATION, EventType.ALLOCATION),
    ],
)
def test_every_event_has_the_type_a_probe_must_observe(event: Event, needed: EventType) -> None:
    assert event_type(event) is needed


def test_an_event_belongs_to_every_region_open_at_its_launch() -> None:
    nested = a_transfer(regions=("step", "forward"))
    outside = a_transfer(regions=("step",))
    trace = a_trace(nested, outside)
    assert trace.within("forward").events == (nested,)
    assert trace.within("step").events == (nested, outside)
    assert trace.within("fore").events == ()


def test_a_part_of_a_trace_keeps_what_the_probe_could_see_and_lost() -> None:
    trace = a_trace(a_sync(), dropped=3, observes=frozenset({EventType.SYNC}))
    part = trace.within("backward")
    assert (part.dropped, part.observes, part.entered) == (3, trace.observes, trace.entered)


def test_kinds_are_sorted_out_in_launch_order() -> None:
    first, second = a_transfer(size_bytes=1), a_transfer(size_bytes=2)
    trace = a_trace(first, a_sync(), a_kernel(), second)
    assert trace.transfers == (first, second)
    assert trace.syncs == (a_sync(),)
    assert trace.kernels == (a_kernel(),)


def test_counts_go_by_direction_kind_and_bytes() -> None:
    trace = a_trace(
        a_transfer(size_bytes=4),
        a_transfer(size_bytes=8, blocking=False),
        a_transfer(direction=Direction.HOST_TO_DEVICE, size_bytes=100),
        a_transfer(direction=Direction.DEVICE_TO_DEVICE, blocking=False),
        a_transfer(direction=Direction.PEER_TO_PEER, blocking=False),
        a_sync(),
        a_kernel(),
        a_kernel(),
        A_MEMSET,
        AN_ALLOCATION,
    )
    assert trace.counts() == TrafficCounts(
        d2h=2,
        h2d=1,
        d2d=1,
        d2h_bytes=12,
        h2d_bytes=100,
        syncs=1,
        blocking_copies=2,
        memsets=1,
        kernels=2,
    )
    assert a_trace().counts() == TrafficCounts()
