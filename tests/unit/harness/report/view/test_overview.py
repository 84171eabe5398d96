"""Traffic in one cell: what there was, and that there was nothing else."""

from __future__ import annotations

from builders import a_defective_record, a_limit, a_record

from harness.model.budget import WHOLE_RUN, Limit, Quantity
from harness.model.trace import TrafficCounts
from harness.model.verdict import TrafficRecord
from harness.report.view.overview import Overview, overview

NOTHING_ALLOWED = tuple(
    a_limit(quantity=quantity)
    for quantity in (Quantity.D2H, Quantity.H2D, Quantity.SYNCS, Quantity.BLOCKING_COPIES)
)
READ_ONCE = (
    a_limit(at_most=1),
    a_limit(quantity=Quantity.H2D),
    a_limit(quantity=Quantity.SYNCS, at_most=1),
)


def told(view: Overview) -> list[tuple[str, list[str]]]:
    return [
        (row.region, [f"{cell.label} {cell.limited}" for cell in row.cells]) for row in view.rows
    ]


def a_record_of(
    regions: dict[str, TrafficCounts],
    limits: dict[str, tuple[Limit, ...]],
    *,
    first_call: dict[str, TrafficCounts] | None = None,
) -> TrafficRecord:
    return a_record(regions=regions, limits=limits, first_call=first_call)


def test_regions_that_saw_nothing_and_may_do_nothing_are_one_short_text() -> None:
    still = {name: TrafficCounts() for name in ("forward", "backward", WHOLE_RUN)}
    view = overview(a_record_of(still, dict.fromkeys(still, NOTHING_ALLOWED)))
    assert (told(view), view.rest) == ([], "0 / 0 everywhere")


def test_a_region_that_saw_something_stands_apart_from_those_that_did_not() -> None:
    read = TrafficCounts(d2h=1, syncs=1)
    view = overview(
        a_record_of(
            {WHOLE_RUN: read, "forward": TrafficCounts(), "metrics": read},
            {"forward": NOTHING_ALLOWED, "metrics": READ_ONCE, WHOLE_RUN: READ_ONCE},
        )
    )
    assert told(view) == [("metrics, whole call", ["D2H 1 / 1", "syncs 1 / 1"])]
    assert view.rest == "0 / 0 elsewhere"


def test_an_allowance_that_was_not_used_is_told() -> None:
    view = overview(a_record_of({"forward": TrafficCounts()}, {"forward": READ_ONCE}))
    assert told(view) == [("forward", ["D2H 0 / 1", "H2D 0 / 0", "syncs 0 / 1"])]


def test_what_nobody_limited_is_never_said_to_be_allowed_nothing() -> None:
    view = overview(a_record())
    assert told(view) == [("forward", ["D2H 0 / 0", "syncs 0 / 0"])]
    assert view.rest == "0 elsewhere"


def test_without_any_limit_zeros_are_just_zeros() -> None:
    view = overview(a_record_of({WHOLE_RUN: TrafficCounts()}, {}))
    assert (told(view), view.rest) == ([], "0 everywhere")


def test_traffic_that_nobody_limited_is_told() -> None:
    view = overview(a_record_of({WHOLE_RUN: TrafficCounts(h2d=1)}, {}))
    assert told(view) == [("whole call", ["H2D 1"])]


def test_an_exceeded_limit_is_marked() -> None:
    (row, _) = overview(a_defective_record()).rows
    assert [(cell.label, cell.exceeded) for cell in row.cells] == [("D2H", True), ("syncs", True)]


def test_bytes_are_told_where_they_are_limited() -> None:
    limits = {"forward": (a_limit(quantity=Quantity.D2H_BYTES, at_most=64),)}
    (row,) = overview(a_record(limits=limits)).rows
    assert [cell.limited for cell in row.cells] == ["0 B / 64 B"]


def test_a_region_that_never_ran_is_told_and_is_not_part_of_the_rest() -> None:
    view = overview(a_record_of({WHOLE_RUN: TrafficCounts()}, {"backward": NOTHING_ALLOWED}))
    assert [(row.region, row.ran) for row in view.rows] == [("backward", False)]


def test_a_first_call_beyond_the_budget_of_a_warm_one_is_told() -> None:
    cold = TrafficCounts(d2h=2, h2d=3, syncs=2)
    view = overview(
        a_record_of(
            {WHOLE_RUN: TrafficCounts(), "forward": TrafficCounts()},
            {"forward": (a_limit(), a_limit(quantity=Quantity.SYNCS, at_most=2))},
            first_call={WHOLE_RUN: cold, "forward": cold},
        )
    )
    (row,) = view.first_call
    assert [f"{row.region} {cell.label} {cell.limited}" for cell in row.cells] == [
        "forward D2H 2 / 0"
    ]


def test_a_first_call_that_only_repeats_a_warm_excess_is_not_told_again() -> None:
    assert overview(a_defective_record()).first_call == ()
