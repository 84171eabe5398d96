"""A copy and the wait of the same line of code read as one line, and only those."""

from __future__ import annotations

from builders import a_sync, a_transfer

from harness.model.event import Direction, Event, MemoryKind, Site, SyncKind
from harness.model.traffic import TrafficLine, traffic_lines
from harness.report.lines import joined_lines

ELSEWHERE = Site("train.py", 7, "step")


def texts(*events: Event) -> list[str]:
    return [line.text for line in joined_lines(traffic_lines(events))]


def test_a_copy_and_the_wait_of_its_line_are_one() -> None:
    assert texts(a_transfer(), a_sync()) == [
        "4 B device -> pageable, cudaMemcpyAsync + stream sync"
    ]


def test_as_many_waits_as_copies_are_joined_with_their_count() -> None:
    events = [a_transfer(), a_sync()] * 1001
    assert texts(*events) == ["1,001 x 4 B device -> pageable, cudaMemcpyAsync + stream sync"]


def test_a_wait_before_its_copy_is_joined_in_the_place_of_the_copy() -> None:
    events = [a_sync(), a_transfer(site=ELSEWHERE), a_transfer()]
    assert texts(*events) == [
        "4 B device -> pageable, cudaMemcpyAsync",
        "4 B device -> pageable, cudaMemcpyAsync + stream sync",
    ]


def test_one_wait_is_never_given_to_two_copies() -> None:
    assert texts(a_transfer(size_bytes=4), a_transfer(size_bytes=8), a_sync()) == [
        "4 B device -> pageable, cudaMemcpyAsync + stream sync",
        "8 B device -> pageable, cudaMemcpyAsync",
    ]


def test_waits_left_over_stand_alone_with_their_count() -> None:
    assert texts(a_transfer(), a_sync(), a_sync(), a_sync()) == [
        "4 B device -> pageable, cudaMemcpyAsync + stream sync",
        "2 x stream sync, cudaStreamSynchronize",
    ]


def test_fewer_waits_than_copies_stay_apart() -> None:
    assert texts(a_transfer(), a_transfer(), a_sync()) == [
        "2 x 4 B device -> pageable, cudaMemcpyAsync",
        "stream sync, cudaStreamSynchronize",
    ]


def test_other_lines_and_other_regions_are_not_joined() -> None:
    assert len(texts(a_transfer(), a_sync(site=ELSEWHERE))) == 2
    assert len(texts(a_transfer(), a_sync(regions=("backward",)))) == 2


def test_events_without_a_site_are_not_joined() -> None:
    assert len(texts(a_transfer(site=None), a_sync(site=None))) == 2


def test_the_kind_of_wait_is_told() -> None:
    wait = a_sync(kind=SyncKind.DEVICE, api="cudaDeviceSynchronize")
    assert texts(wait) == ["device sync, cudaDeviceSynchronize"]
    assert texts(a_transfer(), wait) == ["4 B device -> pageable, cudaMemcpyAsync + device sync"]


def test_a_host_callback_says_who_waits_and_belongs_to_no_copy() -> None:
    callback = a_sync(kind=SyncKind.HOST_CALLBACK, api="cudaLaunchHostFunc")
    words = "host callback: the device waits for the host, cudaLaunchHostFunc"
    assert texts(callback) == [words]
    assert texts(a_transfer(), callback) == ["4 B device -> pageable, cudaMemcpyAsync", words]
    assert texts(a_transfer(), callback, a_sync()) == [
        "4 B device -> pageable, cudaMemcpyAsync + stream sync",
        words,
    ]


def test_a_line_told_twice_counts_once() -> None:
    lines = traffic_lines([a_transfer()])
    assert len(joined_lines([*lines, *lines])) == 1


def test_an_end_of_unknown_kind_is_called_by_its_side() -> None:
    line = TrafficLine(
        api="cudaMemcpy",
        count=1,
        blocking=True,
        direction=Direction.HOST_TO_DEVICE,
        size_bytes=40_000,
        source=None,
        destination=MemoryKind.UNKNOWN,
    )
    assert joined_lines([line])[0].text == "40.0 kB host -> device, cudaMemcpy"


def test_a_joined_line_knows_where_it_is_from() -> None:
    (line,) = joined_lines(traffic_lines([a_sync(site=ELSEWHERE, regions=("step", "loss"))]))
    assert line.site == ELSEWHERE
    assert line.regions == ("step", "loss")
