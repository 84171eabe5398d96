"""The timeline of a call before and after: what is where on the axis, and what each mark says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from builders import a_kernel, a_sync, a_trace, a_transfer
from hypothesis import given
from hypothesis import strategies as st

from harness.model.event import Direction, EventType, Memset, Site, SyncKind
from harness.model.timeline import Timeline, TimelineEvent
from harness.report.view.timeline import timeline_view
from harness.report.view.timeline_axis import MOST_PLACES
from harness.report.view.timeline_shapes import Picture, TimelineView
from harness.session.timeline import timeline_of

READ = (a_transfer(), a_sync())
US = 1_000


def view_of(before: Sequence, after: Sequence) -> TimelineView:
    """Events as they are in traces, or in timelines already."""
    sides = [
        Timeline(events=tuple(events))
        if events and isinstance(events[0], TimelineEvent)
        else timeline_of(a_trace(*events))
        for events in (before, after)
    ]
    return timeline_view(("pre-fix op", sides[0]), ("op", sides[1]), relative_to=None)


def texts(picture: Picture) -> list[str]:
    return [entry.text for entry in picture.entries]


def places(picture: Picture) -> list[float]:
    return [entry.reach.at for entry in picture.entries]


def timed(event, start: int, host: int | None, device: tuple[int, int] | None = None):
    """The event as CUPTI times it, in microseconds."""
    begun, took = device or (None, None)
    return replace(
        event,
        start_ns=start * US,
        host_ns=None if host is None else host * US,
        device_start_ns=None if begun is None else begun * US,
        device_ns=None if took is None else took * US,
    )


# --- what is told -----------------------------------------------------------------------------------------


def test_every_event_says_what_it_is_whether_it_blocks_and_where() -> None:
    view = view_of([a_kernel(), *READ], [a_kernel()])
    assert texts(view.pictures[0]) == [
        "kernel softmax, ops/host_roundtrip.py:31 in forward (region forward)",
        "D2H 4 B, blocking, ops/host_roundtrip.py:31 in forward (region forward, cudaMemcpyAsync)",
        "stream sync, blocking, ops/host_roundtrip.py:31 in forward "
        "(region forward, cudaStreamSynchronize)",
    ]


def test_the_table_has_a_row_for_each_and_equal_neighbours_share_one() -> None:
    rows = view_of([a_kernel(), a_kernel(), *READ], []).pictures[0].rows
    assert [row.what for row in rows] == [
        "2 x kernel softmax",
        "D2H 4 B, blocking, cudaMemcpyAsync",
        "stream sync, blocking, cudaStreamSynchronize",
    ]
    assert {row.site for row in rows} == {"ops/host_roundtrip.py:31 in forward"}


def test_each_side_is_summed_up() -> None:
    view = view_of([a_kernel(), *READ], [a_kernel()])
    assert [picture.summary for picture in view.pictures] == [
        "3 events: 1 kernel, 1 D2H, 1 host wait; the host is blocked 2 times",
        "1 event: 1 kernel; the host is never blocked",
    ]


def test_source_files_are_told_relative_to_the_folder() -> None:
    event = a_kernel()
    event = replace(event, site=Site("/work/ops/loss.py", 3, "forward"))
    timeline = timeline_of(a_trace(event))
    view = timeline_view(("a", timeline), ("b", timeline), relative_to=Path("/work"))
    assert "ops/loss.py:3 in forward" in texts(view.pictures[0])[0]
    assert "/work" not in texts(view.pictures[0])[0]


def test_hostile_names_become_one_visible_line_of_bounded_length() -> None:
    name = "k\n\x1b[31m\u202e</script>" + "x" * 10_000
    (text,) = texts(view_of([a_kernel(api=name)], []).pictures[0])
    assert text.isprintable()
    assert len(text) < 300


# --- an axis of order -------------------------------------------------------------------------------------


def test_without_durations_the_axis_is_order_and_says_so() -> None:
    view = view_of([replace(a_kernel(), start_ns=5)], [a_kernel()])
    assert not view.timed
    assert view.ticks == ()
    assert "order of launch" in view.caption
    assert "widths mean nothing" in view.caption


def test_every_event_gets_a_place_of_the_same_width() -> None:
    entries = view_of([a_kernel(), *READ, a_kernel()], []).pictures[0].entries
    assert [entry.reach.at for entry in entries] == [0, 25, 50, 75]
    assert {entry.reach.width for entry in entries} == {25}


def test_what_both_have_stands_in_the_same_column_and_what_is_gone_is_outlined() -> None:
    names = [a_kernel(api=name) for name in "abc"]
    before, after = view_of([*names[:2], *READ, names[2]], names).pictures
    assert places(before) == [0, 20, 40, 60, 80]
    assert places(after) == [0, 20, 80]
    assert [(bar.at, bar.width) for bar in after.gone] == [(40, 20), (60, 20)]
    assert [symbol.name for symbol in after.gone_symbols] == ["up", "wait"]
    assert before.gone == ()


def test_kernels_that_only_one_side_has_are_no_loss_worth_an_outline() -> None:
    view = view_of([a_kernel(), a_kernel(api="other")], [a_kernel()])
    assert view.pictures[1].gone_symbols == ()
    assert "gone" not in {each.sign for each in view.legend}


def test_the_host_is_shaded_where_it_is_blocked_and_nowhere_else() -> None:
    view = view_of([a_kernel(), *READ], [a_kernel()])
    before, after = view.pictures
    assert [(bar.at, round(bar.width)) for bar in before.held] == [(33.33, 33), (66.67, 33)]
    assert after.held == ()


def test_a_read_that_does_not_block_is_not_shaded() -> None:
    pinned = a_transfer(blocking=False)
    assert view_of([pinned], []).pictures[0].held == ()


def test_a_copy_across_the_boundary_is_tied_to_its_call_and_others_are_not() -> None:
    inside = a_transfer(direction=Direction.DEVICE_TO_DEVICE, blocking=False)
    read, moved = view_of([a_transfer(), inside], []).pictures[0].entries
    assert len(read.lines) == 1
    assert moved.lines == ()


def test_every_kind_of_event_has_a_shape_of_its_own() -> None:
    events = [
        a_transfer(),
        a_transfer(direction=Direction.HOST_TO_DEVICE),
        a_transfer(direction=Direction.DEVICE_TO_DEVICE),
        Memset(api="cudaMemsetAsync", size_bytes=8),
        a_sync(),
        a_sync(kind=SyncKind.HOST_CALLBACK),
    ]
    entries = view_of(events, []).pictures[0].entries
    shapes = [entry.symbols[0].name for entry in entries]
    assert shapes == ["up", "down", "across", "fill", "wait", "callback"]
    assert {*shapes} <= {each.sign for each in view_of(events, []).legend}


def test_streams_have_lanes_of_their_own_where_there_are_several() -> None:
    one = view_of([a_kernel(), a_transfer()], [])
    assert [lane.text for lane in one.lanes] == ["host", "copies", "kernels"]
    two = view_of([replace(a_kernel(), stream=7), replace(a_kernel(), stream=13)], [])
    assert [lane.text for lane in two.lanes] == ["host", "kernels 7", "kernels 13"]
    heights = [entry.bars[-1].y for entry in two.pictures[0].entries]
    assert heights[0] < heights[1]


def test_many_streams_keep_the_height_of_a_picture() -> None:
    view = view_of([replace(a_kernel(), stream=number) for number in range(40)], [])
    assert len(view.lanes) == 5
    assert view.pictures[0].entries[-1].bars[-1].y < view.height


def test_regions_are_bands_over_their_events_nested_ones_below() -> None:
    events = [
        a_kernel(regions=("step",)),
        a_kernel(regions=("step", "forward")),
        a_kernel(regions=("step",)),
        a_kernel(regions=()),
    ]
    bands = view_of(events, []).pictures[0].bands
    assert [(band.text, band.y) for band in bands] == [("step", 0), ("forward", 16)]
    assert bands[0].at < bands[1].at < bands[1].at + bands[1].width < bands[0].at + bands[0].width


def test_a_region_the_other_side_has_here_is_none_of_this_one() -> None:
    view = view_of([a_kernel(), a_kernel(regions=("check",))], [a_kernel()])
    assert [band.text for band in view.pictures[0].bands] == ["forward", "check"]
    assert [band.text for band in view.pictures[1].bands] == ["forward"]


# --- long calls -------------------------------------------------------------------------------------------


def test_many_kernels_in_a_row_are_drawn_as_one_with_their_number() -> None:
    names = ["add"] * 40 + ["multiply"] * 37 + ["exp", "log", "sum"]
    events = [replace(a_kernel(api=api), site=Site("a.py", n, "f")) for n, api in enumerate(names)]
    (many, read, wait) = view_of([*events, *READ], []).pictures[0].entries
    assert many.text == (
        "80 kernels: 40 x add, 37 x multiply, 1 x exp and 2 other names, "
        "a.py:0 in f and 79 other lines (region forward)"
    )
    assert [label.text for label in many.labels] == ["80"]
    assert many.reach.width == pytest.approx(2 * read.reach.width, abs=0.02)
    assert wait.text.startswith("stream sync")


def test_a_blocking_read_among_hundreds_of_kernels_stays_a_mark_of_its_own() -> None:
    view = view_of([a_kernel()] * 180 + [*READ] + [a_kernel()] * 180, [a_kernel()] * 360)
    before, after = view.pictures
    assert [text.split(",")[0] for text in texts(before)] == [
        "180 kernels: 180 x softmax",
        "D2H 4 B",
        "stream sync",
        "180 kernels: 180 x softmax",
    ]
    assert len(after.gone) == 2
    assert view.room == ""


def test_what_no_joining_shortens_is_cut_and_the_rest_counted() -> None:
    view = view_of([*READ] * 200, [])
    picture = view.pictures[0]
    assert len(picture.entries) == MOST_PLACES
    assert picture.undrawn == f"{400 - MOST_PLACES} later events not drawn, see the table"
    assert view.room == "long"
    assert len(picture.rows) == 400


# --- an axis of time --------------------------------------------------------------------------------------

TIMED = [
    timed(a_kernel(api="sum"), 0, 5, (8, 4)),
    timed(a_transfer(), 10, 20, (14, 2)),
    timed(a_sync(), 30, 10),
    timed(a_kernel(api="copy"), 60, 5, (70, 30)),
]


def test_measured_calls_are_drawn_to_scale_from_a_common_start() -> None:
    view = view_of(TIMED, [timed(a_kernel(), 0, 5, (8, 12))])
    assert view.timed
    total, copy, wait, _ = view.pictures[0].entries
    assert [(bar.at, bar.width, bar.style) for bar in total.bars] == [
        (0, 5, "call"),
        (8, 4, "kernel"),
    ]
    assert [(bar.at, bar.width, bar.style) for bar in copy.bars] == [
        (10, 20, "holds"),
        (14, 2, "up"),
    ]
    assert [(bar.at, bar.width, bar.style) for bar in wait.bars] == [(30, 10, "holds")]
    (other,) = view.pictures[1].entries
    assert (other.bars[1].at, other.bars[1].width) == (8, 12)
    assert [tick.text for tick in view.ticks] == [
        "0",
        "20.0 us",
        "40.0 us",
        "60.0 us",
        "80.0 us",
        "100 us",
    ]


def test_the_blocked_time_is_shaded_as_long_as_it_was_and_summed_without_counting_twice() -> None:
    nested = [timed(a_transfer(), 10, 20, (14, 2)), timed(a_sync(), 20, 20)]
    picture = view_of(nested, nested).pictures[0]
    assert [(bar.at, bar.width) for bar in picture.held] == [(25, 50), (50, 50)]
    assert picture.summary.endswith("the host is blocked 2 times, for 30.0 us")


def test_a_blocking_copy_is_tied_to_its_call_at_both_ends() -> None:
    copy = view_of(TIMED, TIMED).pictures[0].entries[1]
    down, up = copy.lines
    assert (down.x1, down.x2) == (10, 14)
    assert (up.x1, up.x2) == (16, 30)


def test_times_are_told_with_the_event_and_in_the_table() -> None:
    view = view_of(TIMED, TIMED)
    assert texts(view.pictures[0])[1].endswith(
        "; at 10.0 us, host 20.0 us, device 2.00 us from 14.0 us"
    )
    row = view.pictures[0].rows[1]
    assert (row.start, row.host, row.device) == ("10.0 us", "20.0 us", "2.00 us")


def test_kernels_drawn_as_one_keep_their_own_widths() -> None:
    events = [timed(a_kernel(), 10 * n, 2, (10 * n + 5, 1)) for n in range(100)]
    (many,) = view_of(events, events).pictures[0].entries
    assert len([bar for bar in many.bars if bar.style == "kernel"]) == 100
    assert "device 100 us from 5.00 us" in many.text


def test_the_call_of_a_graph_is_drawn_once_for_all_its_kernels() -> None:
    nodes = [timed(a_kernel(api=f"k{n}"), 0, 6, (10 + 5 * n, 4)) for n in range(3)]
    bars = [bar.style for entry in view_of(nodes, nodes).pictures[0].entries for bar in entry.bars]
    assert bars.count("kernel") == 3


def test_a_side_without_times_keeps_both_on_an_axis_of_order() -> None:
    view = view_of(TIMED, [a_kernel()])
    assert not view.timed


def test_what_the_device_did_and_no_call_explains_has_no_call_in_the_picture() -> None:
    lost = timed(a_kernel(), 8, None, (8, 4))
    view = view_of([*TIMED, lost], TIMED)
    assert [bar.style for bar in view.pictures[0].entries[-1].bars] == ["kernel"]


# --- in general -------------------------------------------------------------------------------------------

KINDS = (
    a_kernel(),
    a_kernel(api="other"),
    a_transfer(),
    a_transfer(direction=Direction.HOST_TO_DEVICE, blocking=False),
    a_sync(),
    a_kernel(regions=("step", "update")),
)


@given(
    st.lists(st.sampled_from(KINDS), max_size=90),
    st.lists(st.sampled_from(KINDS), max_size=90),
    st.booleans(),
)
def test_nothing_is_lost_and_nothing_leaves_the_picture(before, after, with_times) -> None:
    if with_times:
        before = [timed(event, 3 * n, 2, (3 * n + 1, 2)) for n, event in enumerate(before)]
        after = [timed(event, 3 * n, 2, (3 * n + 1, 2)) for n, event in enumerate(after)]
    view = view_of(before, after)
    for picture, events in zip(view.pictures, (before, after), strict=True):
        undrawn = int(picture.undrawn.split()[0]) if picture.undrawn else 0
        drawn = sum(
            int(entry.text.split()[0]) if entry.text[0].isdigit() else 1
            for entry in picture.entries
        )
        assert drawn + undrawn == len(events)
        for entry in picture.entries:
            for bar in (entry.reach, *entry.bars):
                assert bar.at >= 0
                assert bar.at + bar.width <= 100.1
                assert bar.y >= 0
                assert bar.y + bar.height <= view.height


def test_the_types_of_events_are_all_drawn() -> None:
    for kind in EventType:
        event = TimelineEvent(type=kind, api="x")
        assert len(view_of([event], [event]).pictures[0].entries) == 1
