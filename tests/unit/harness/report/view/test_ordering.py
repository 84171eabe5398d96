"""What the case table is sorted by."""

from __future__ import annotations

import math

import pytest
from builders import (
    a_change,
    a_check,
    a_compared_verdict,
    a_defective_record,
    a_record,
    a_verdict,
    an_error_map,
    an_estimate,
)

from harness.model.measurement import Rates
from harness.model.trace import TrafficCounts
from harness.report.view.ordering import sort_figures

PER_UNIT = Rates(units_per_second=3e6, bytes_per_second=None, of_copy=None)


def test_a_case_nobody_looked_at_has_no_figure() -> None:
    assert sort_figures(a_verdict(a_check(summary="nothing")), None) == {}


@pytest.mark.parametrize(
    ("summary", "figure"),
    [
        ("loss 0.12 of the allowed error; dx 0.31 of the allowed error", "0.31"),
        ("loss: worst 1,500 times the allowed error", "1500"),
        ("loss: 3 entries NaN where a number was expected", "1e+300"),
    ],
)
def test_values_are_sorted_by_the_worst_error_over_allowed(summary: str, figure: str) -> None:
    assert sort_figures(a_verdict(a_check(summary=summary)), None)["values"] == figure


@pytest.mark.parametrize(("worst", "figure"), [(0.5, "0.5"), (math.nan, "1e+300")])
def test_error_maps_know_better_than_a_summary(worst: float, figure: str) -> None:
    verdict = a_verdict(errors=(an_error_map(), an_error_map(worst=worst)))
    assert sort_figures(verdict, None)["values"] == figure


def test_traffic_is_sorted_by_the_copies_and_waits_of_a_call() -> None:
    assert sort_figures(a_verdict(traffic=a_defective_record()), None)["traffic"] == "2"
    regions = {"a": TrafficCounts(d2h=1), "b": TrafficCounts(h2d=2, syncs=3)}
    assert sort_figures(a_verdict(traffic=a_record(regions=regions)), None)["traffic"] == "6"


def test_speed_is_sorted_by_nanoseconds_ratio_and_bytes_or_units_per_second() -> None:
    verdict = a_compared_verdict(change=a_change(ratio=1.25, baseline_ns=8e5))
    figures = sort_figures(verdict, PER_UNIT)
    assert figures["ratio"] == "1.25"
    assert figures["baseline"] == "8e+05"
    assert figures["now"] == figures["call time"] == "1.25e+06"
    assert figures["throughput"] == "3e+06"
    by_bytes = Rates(units_per_second=3e6, bytes_per_second=5e9, of_copy=None)
    assert sort_figures(verdict, by_bytes)["throughput"] == "5e+09"


def test_a_time_that_is_no_number_is_no_figure() -> None:
    unknown = a_verdict(a_check(summary=""), call_time=an_estimate(value=math.nan))
    assert sort_figures(unknown, None) == {}
