"""Traffic lines: events alike in everything but time, joined with a count."""

import dataclasses

from builders import A_SITE, a_kernel, a_sync, a_transfer

from harness.model.event import Direction, MemoryKind, Site, SyncKind
from harness.model.traffic import traffic_lines


def test_equal_events_join_in_order_of_first_appearance() -> None:
    lines = traffic_lines([a_sync(), a_transfer(), a_sync(), a_transfer(), a_sync()])
    assert [(line.sync, line.count) for line in lines] == [(SyncKind.STREAM, 3), (None, 2)]


def test_time_does_not_keep_events_apart_but_place_and_size_do() -> None:
    later = dataclasses.replace(a_transfer(), start_ns=5, host_ns=7)
    (joined,) = traffic_lines([a_transfer(), later])
    assert joined.count == 2
    elsewhere = a_transfer(site=Site("train.py", 9, "step"))
    assert len(traffic_lines([a_transfer(), elsewhere, a_transfer(size_bytes=8)])) == 3


def test_a_copy_keeps_its_ends_and_a_wait_its_kind() -> None:
    copy, wait = traffic_lines([a_transfer(), a_sync(kind=SyncKind.DEVICE)])
    assert (copy.direction, copy.size_bytes) == (Direction.DEVICE_TO_HOST, 4)
    assert (copy.source, copy.destination) == (MemoryKind.DEVICE, MemoryKind.PAGEABLE)
    assert (copy.site, copy.blocking, copy.sync) == (A_SITE, True, None)
    assert (wait.sync, wait.blocking, wait.direction) == (SyncKind.DEVICE, True, None)


def test_a_host_callback_holds_the_device_and_not_the_host() -> None:
    (line,) = traffic_lines([a_sync(kind=SyncKind.HOST_CALLBACK)])
    assert (line.sync, line.blocking) == (SyncKind.HOST_CALLBACK, False)


def test_kernels_are_no_traffic() -> None:
    assert traffic_lines([a_kernel()]) == ()
