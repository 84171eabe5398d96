"""Observed against allowed, region by region."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import a_defective_record, a_limit, a_record, a_sync, a_transfer

from harness.model.budget import WHOLE_RUN
from harness.model.event import Direction, Site
from harness.model.trace import TrafficCounts
from harness.model.traffic import traffic_lines
from harness.model.verdict import TrafficRecord
from harness.report.view.crossings import COLUMNS, RecordView, record_view


def view_of(record: TrafficRecord) -> RecordView:
    return record_view(record, relative_to=None)


def cells_of(view: RecordView, region: str) -> dict[str, str]:
    row = next(row for row in view.rows if row.region == region)
    return {cell.label: cell.limited for cell in row.cells}


def test_every_row_has_every_column_in_order() -> None:
    row = view_of(a_record()).rows[0]
    assert tuple(cell.label for cell in row.cells) == tuple(COLUMNS.values())


def test_observed_stands_over_allowed_where_there_is_a_limit() -> None:
    assert cells_of(view_of(a_defective_record()), "forward") == {
        "D2H": "1 / 0",
        "H2D": "0",
        "D2H bytes": "4 B",
        "H2D bytes": "0 B",
        "syncs": "1 / 0",
        "blocking copies": "1",
    }


def test_only_what_is_beyond_its_limit_is_marked() -> None:
    row = view_of(a_defective_record()).rows[0]
    assert [cell.label for cell in row.cells if cell.exceeded] == ["D2H", "syncs"]


def test_a_limit_just_met_is_not_exceeded() -> None:
    counts = {"forward": TrafficCounts(d2h=2)}
    view = view_of(a_record(regions=counts, limits={"forward": (a_limit(at_most=2),)}))
    assert view.mark.word == "within budget"
    assert not view.rows[0].exceeded


def test_the_whole_call_comes_last() -> None:
    regions = {WHOLE_RUN: TrafficCounts(), "forward": TrafficCounts(), "backward": TrafficCounts()}
    view = view_of(a_record(regions=regions))
    assert [row.region for row in view.rows] == ["forward", "backward", "whole call"]


def test_a_region_with_a_budget_that_never_ran_is_shown_and_is_no_pass() -> None:
    view = view_of(a_record(regions={WHOLE_RUN: TrafficCounts()}))
    assert cells_of(view, "forward")["D2H"] == "- / 0"
    assert [row.region for row in view.rows if not row.ran] == ["forward"]
    assert (view.mark.sign, view.mark.word) == ("?", "a region never ran")


def test_without_any_limit_there_is_nothing_to_be_within() -> None:
    assert view_of(a_record(limits={"forward": ()})).mark.word == "no budget"


def test_the_total_is_that_of_the_whole_call() -> None:
    assert view_of(a_defective_record()).total == "1 D2H (4 B), 0 H2D, 1 sync"
    assert view_of(a_record(regions={"forward": TrafficCounts()})).total == ""


def test_a_first_call_like_the_others_needs_no_table() -> None:
    view = view_of(a_record())
    assert (view.first_known, view.first_rows) == (True, ())


def test_a_first_call_that_differs_only_in_what_no_table_shows_needs_none_either() -> None:
    cold = {WHOLE_RUN: TrafficCounts(kernels=9), "forward": TrafficCounts(kernels=9)}
    assert view_of(a_record(first_call=cold)).first_rows == ()


@pytest.mark.parametrize(
    ("runs", "first_call", "counted", "watched"),
    [
        (5, None, "per warm call", "5 warm calls"),
        (1, None, "per warm call", "1 warm call"),
        (1, {}, "in the one recorded run", "1 recorded run"),
        (3, {}, "per recorded run", "3 recorded runs"),
    ],
)
def test_only_a_call_after_a_cold_one_is_called_warm(
    runs: int, first_call: dict[str, TrafficCounts] | None, counted: str, watched: str
) -> None:
    view = view_of(replace(a_record(first_call=first_call), runs=runs))
    assert view.counted == counted
    assert view.watched == f"SIMULATED: {watched} on simulated"


def test_a_first_call_nobody_recorded_is_not_said_to_have_been_the_same() -> None:
    assert not view_of(a_record(first_call={})).first_known


def test_a_cold_call_that_differs_is_shown_apart() -> None:
    cold = {WHOLE_RUN: TrafficCounts(h2d=3, h2d_bytes=12, syncs=2), "forward": TrafficCounts()}
    view = view_of(a_record(first_call=cold))
    assert view.first_total == "0 D2H, 3 H2D (12 B), 2 syncs"
    assert [row.region for row in view.first_rows] == ["forward", "whole call"]
    assert view.total == "0 D2H, 0 H2D, 0 syncs"


def test_lines_name_the_code_with_its_region() -> None:
    site = Site("/work/ops/a.py", 31, "forward")
    lines = traffic_lines([a_transfer(site=site, regions=("step", "forward")), a_sync()])
    first, second = view_of(a_record(lines=lines)).lines
    assert (first.region, first.site) == ("step > forward", "/work/ops/a.py:31 in forward")
    assert second.text == "stream sync, cudaStreamSynchronize"


def test_copies_within_the_device_come_after_those_that_cross() -> None:
    inside = a_transfer(direction=Direction.DEVICE_TO_DEVICE, blocking=False)
    lines = view_of(a_record(lines=traffic_lines([inside, a_transfer()]))).lines
    assert [line.text.split(",")[0] for line in lines] == [
        "4 B device -> pageable",
        "4 B device -> device",
    ]


def test_no_lines_means_no_traffic_only_when_nothing_was_counted() -> None:
    assert view_of(a_record()).without_lines == "no copy, no wait"
    counted = a_record(regions={"forward": TrafficCounts(d2h=1, d2h_bytes=4)})
    assert view_of(counted).without_lines == "no line of code is known for these"


def test_a_probe_is_named_where_it_is_not_the_device_itself() -> None:
    assert view_of(a_record()).watched == "SIMULATED: 5 warm calls on simulated"
    assert view_of(a_record(probe="cupti 13.4")).watched.endswith(", watched by cupti 13.4")
