"""Trace files hold what the Trace Event Format documents, and nothing that was not measured."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

from builders import (
    a_defective_record,
    a_kernel,
    a_record,
    a_run,
    a_sync,
    a_trace,
    a_transfer,
    a_verdict,
)
from hypothesis import given
from hypothesis import strategies as st

from harness.interchange.trace_events import encode_trace, is_trace, traced
from harness.model.event import Event, Memset
from harness.model.timeline import MOST_EVENTS
from harness.model.verdict import Verdict
from harness.session.timeline import timeline_of

FIELDS = {
    "M": {"ph", "name", "pid", "tid", "args"},
    "X": {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"},
    "s": {"ph", "name", "cat", "pid", "tid", "ts", "id"},
    "f": {"ph", "name", "cat", "pid", "tid", "ts", "id", "bp"},
}
"""The documented fields of each phase that is written."""


def a_watched(*after: Event, before: tuple[Event, ...] = ()) -> Verdict:
    control = replace(a_defective_record(), timeline=timeline_of(a_trace(*before)))
    return a_verdict(
        traffic=replace(a_record(), timeline=timeline_of(a_trace(*after))),
        controls=(control,) if before else (),
    )


def trace_of(*verdicts: Verdict) -> list[dict[str, Any]]:
    data = encode_trace(a_run(*verdicts), verdicts)
    assert is_trace(data)
    events = json.loads(data)["traceEvents"]
    for event in events:
        check(event)
    return events


def check(event: dict[str, Any]) -> None:
    """Fields and their types as documented; viewers drop what is otherwise, without a word."""
    assert set(event) == FIELDS[event["ph"]]
    assert isinstance(event["name"], str)
    assert isinstance(event["pid"], int)
    assert isinstance(event["tid"], int)
    for time in ("ts", "dur"):
        assert event.get(time, 0.0) >= 0
        assert isinstance(event.get(time, 0.0), float)
    assert event.get("bp", "e") == "e"


def slices(events: list[dict[str, Any]], thread: str) -> list[dict[str, Any]]:
    """The complete events of the threads of this name, in all processes."""
    named = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == thread
    }
    return [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) in named]


def names(events: list[dict[str, Any]], kind: str) -> list[str]:
    return [event["args"]["name"] for event in events if event["name"] == kind]


def timed(event: Event, start: int, host: int | None, device: tuple[int, int] | None) -> Event:
    begun, took = device or (None, None)
    return replace(event, start_ns=start, host_ns=host, device_start_ns=begun, device_ns=took)


READ = (
    timed(a_kernel(), 0, 3000, (5000, 4000)),
    timed(a_transfer(), 4000, 7000, (9000, 1500)),
    timed(a_sync(), 11_000, 2000, None),
)


def test_each_implementation_of_a_case_is_a_process_the_defect_first() -> None:
    events = trace_of(a_watched(*READ, before=READ))
    assert names(events, "process_name") == [
        "softmax_cross_entropy/4096x1000-float32, host_roundtrip",
        "softmax_cross_entropy/4096x1000-float32",
    ]
    assert {event["pid"] for event in events} == {1, 2}


def test_the_host_and_every_stream_are_threads() -> None:
    other = replace(timed(a_kernel(), 13_000, 1000, (20_000, 4000)), stream=7)
    events = trace_of(a_watched(*READ, other))
    assert names(events, "thread_name") == ["regions", "host", "stream 0", "stream 7"]


def test_measured_times_are_microseconds_from_the_start_of_the_call() -> None:
    events = trace_of(a_watched(*READ))
    assert [(e["name"], e["ts"], e["dur"]) for e in slices(events, "host")] == [
        ("launch softmax", 0, 3),
        ("blocking cudaMemcpyAsync", 4, 7),
        ("blocking cudaStreamSynchronize", 11, 2),
    ]
    assert [(e["name"], e["ts"], e["dur"]) for e in slices(events, "stream 0")] == [
        ("softmax", 5, 4),
        ("D2H copy", 9, 1.5),
    ]


def test_an_event_tells_its_line_its_bytes_and_its_region() -> None:
    copy = slices(trace_of(a_watched(*READ)), "stream 0")[1]
    assert copy["args"] == {
        "api": "cudaMemcpyAsync",
        "site": "ops/host_roundtrip.py:31 in forward",
        "region": "forward",
        "bytes": 4,
        "blocking": True,
    }
    assert slices(trace_of(a_watched(*READ)), "host")[2]["args"]["waits"] == "stream"


def test_arrows_lead_from_each_call_to_its_work_and_pair_by_their_numbers() -> None:
    events = trace_of(a_watched(*READ, before=READ))
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(starts) == 4
    assert starts.keys() == ends.keys()
    for number, start in starts.items():
        assert start["pid"] == ends[number]["pid"]
        for arrow in (start, ends[number]):
            around = [
                e
                for e in events
                if e["ph"] == "X"
                and (e["pid"], e["tid"]) == (arrow["pid"], arrow["tid"])
                and e["ts"] <= arrow["ts"] < e["ts"] + e["dur"]
            ]
            assert len(around) == 1


def test_an_order_gets_a_microsecond_each_no_arrow_and_is_called_so() -> None:
    untimed = (a_kernel(), a_transfer(), a_sync())
    events = trace_of(a_watched(*untimed))
    assert names(events, "process_name") == [
        "softmax_cross_entropy/4096x1000-float32 (order, not time)"
    ]
    assert [(e["ts"], e["dur"]) for e in slices(events, "host")] == [(0, 1), (1, 1), (2, 1)]
    assert [(e["name"], e["ts"]) for e in slices(events, "stream 0")] == [
        ("softmax", 0),
        ("D2H copy", 1),
    ]
    assert not {"s", "f"} & {e["ph"] for e in events}


def test_measured_calls_are_not_called_an_order() -> None:
    assert not names(trace_of(a_watched(*READ)), "process_name")[0].endswith("not time)")


def test_the_nodes_of_a_graph_share_the_call_that_launched_them() -> None:
    nodes = [timed(a_kernel(api=f"k{n}"), 0, 6000, (10_000 + 5000 * n, 4000)) for n in range(3)]
    events = trace_of(a_watched(*nodes))
    (call,) = slices(events, "host")
    assert call["args"]["events"] == 3
    assert len(slices(events, "stream 0")) == 3
    assert sum(event["ph"] == "f" for event in events) == 3


def test_work_that_overlaps_on_one_stream_gets_threads_that_do_not() -> None:
    batch = [timed(a_transfer(), 0, 1000, (2000, 500))] * 2
    events = trace_of(a_watched(*batch))
    assert names(events, "thread_name")[-2:] == ["stream 0", "stream 0 (2)"]


def test_work_no_call_explains_has_no_call_and_no_arrow() -> None:
    events = trace_of(a_watched(timed(a_kernel(), 5000, None, (5000, 100))))
    assert slices(events, "host") == []
    assert len(slices(events, "stream 0")) == 1
    assert not any(event["ph"] == "s" for event in events)


def test_regions_are_slices_as_long_as_their_calls_nested_ones_inside() -> None:
    events = trace_of(
        a_watched(
            a_kernel(regions=("step",)),
            a_kernel(regions=("step", "forward")),
            a_kernel(regions=("update",)),
        )
    )
    rows = slices(events, "regions") + slices(events, "regions (2)")
    assert [(e["name"], e["ts"], e["dur"]) for e in rows] == [
        ("step", 0, 2),
        ("update", 2, 1),
        ("forward", 1, 1),
    ]


def test_what_the_run_did_not_keep_is_told() -> None:
    events = trace_of(a_watched(*[a_kernel()] * (MOST_EVENTS + 5)))
    labels = [e["args"]["labels"] for e in events if e["name"] == "process_labels"]
    assert labels == ["the first 400 of 405 events"]


def test_a_case_nobody_watched_has_no_timeline() -> None:
    assert traced(a_verdict()) == ()
    assert traced(a_verdict(traffic=a_record())) == ()
    assert traced(a_watched()) == ()


def test_foreign_files_are_not_taken_for_traces() -> None:
    assert not is_trace(b'{"traceEvents": []}')
    assert not is_trace(b"")


KINDS = st.sampled_from(
    [a_kernel(), a_transfer(), a_sync(), Memset(api="cudaMemsetAsync", size_bytes=8)]
)
TIMES = st.integers(0, 50_000)


@st.composite
def timed_events(draw) -> Event:
    event, start, host = draw(KINDS), draw(TIMES), draw(st.integers(1, 9000))
    works = not isinstance(event, type(a_sync()))
    device = (draw(TIMES), draw(st.integers(1, 9000))) if works else None
    event = replace(event, stream=draw(st.integers(0, 2)))
    return timed(event, start, host, device)


@given(st.lists(timed_events(), min_size=1, max_size=30))
def test_every_event_is_there_and_no_two_slices_of_a_thread_overlap(given_events) -> None:
    events = sorted(given_events, key=lambda event: event.start_ns)
    found = trace_of(a_watched(*events))
    counted = Counter(e["cat"] for e in found if e["ph"] == "X")
    assert counted["kernel"] + counted["transfer"] + counted["memset"] == sum(
        event.device_ns is not None for event in events
    )
    threads: dict[int, list[tuple[float, float]]] = {}
    for event in found:
        if event["ph"] == "X":
            span = (event["ts"], event["ts"] + event["dur"])
            threads.setdefault(event["tid"], []).append(span)
    for spans in threads.values():
        for (_, end), (start, _) in pairwise(sorted(spans)):
            assert end <= start + 1e-6
