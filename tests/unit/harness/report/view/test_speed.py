"""A change of speed as data: where it lies, which process is odd, how it drifts."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from builders import a_change, a_check, a_compared_verdict, a_record, a_run, a_verdict
from hypothesis import given
from hypothesis import strategies as st

from harness.model.measurement import SpeedChange
from harness.model.outcome import Outcome
from harness.model.verdict import Verdict
from harness.report.view.axis import Axis, Place, axis_of
from harness.report.view.page import build_page
from harness.report.view.speed import SpeedView, speed_view


def view_of(verdict: Verdict, *others: Verdict, paired: bool = True) -> SpeedView:
    found = speed_view(verdict, axis_of([verdict, *others]), paired=paired)
    assert found is not None
    return found


def compared(ratios: tuple[float, ...], starts: tuple[int, ...] = (0,)) -> Verdict:
    return a_compared_verdict(ratios=ratios, process_starts=starts)


def test_a_regression_says_its_numbers() -> None:
    view = view_of(a_compared_verdict())
    assert (view.ratio, view.interval, view.decision) == ("1.050x", "1.045 to 1.055", "regressed")
    assert (view.baseline, view.margin, view.value) == ("1.20 ms", "1.0 %", 1.05)
    assert view.text == (
        "regressed, failed: 1.050x the time, 95.0 % interval 1.045 to 1.055; "
        "the margin reaches to 1.010x"
    )


@pytest.mark.parametrize(
    ("decision", "outcome", "ratio", "says"),
    [
        ("regressed", Outcome.FAILED, 1.05, "regressed"),
        ("regressed", Outcome.INCONCLUSIVE, 1.05, "inconclusive"),
        ("unchanged", Outcome.PASSED, 1.0, "unchanged"),
        ("unchanged", Outcome.INCONCLUSIVE, 1.0, "inconclusive"),
        ("inconclusive", Outcome.PASSED, 0.99, "not slower"),
        ("inconclusive", Outcome.PASSED, 1.01, "inconclusive"),
        ("inconclusive", Outcome.SKIPPED, 1.0, "not judged"),
    ],
)
def test_a_decision_is_told_as_far_as_the_outcome_lets_it_stand(
    decision: str, outcome: Outcome, ratio: float, says: str
) -> None:
    change = a_change(ratio=ratio, decision=decision)
    assert view_of(a_compared_verdict(change=change, outcome=outcome)).decision == says


def test_the_interval_lies_right_of_the_band_just_where_it_is_beyond_the_margin() -> None:
    beyond = view_of(a_compared_verdict()).shared
    assert 50 < beyond.band[1].at < beyond.low.at < beyond.at.at < beyond.high.at < 100
    inside = view_of(a_compared_verdict(change=a_change(ratio=1.0, half_width=0.005))).shared
    assert inside.band[0].at < inside.low.at < 50 < inside.high.at < inside.band[1].at


def test_all_cases_share_one_axis_and_what_is_far_off_does_not_squash_the_margin() -> None:
    far = a_compared_verdict(case="far", change=a_change(ratio=3.0))
    near = a_compared_verdict(case="near", change=a_change(ratio=1.02))
    shown = view_of(near, far)
    assert shown.shared.axis == view_of(far, near).shared.axis
    assert view_of(far, near).shared.at == Place(100.0, 1)
    band = shown.shared.band
    assert band[1].at - band[0].at == pytest.approx(100 / 12, rel=0.01)
    assert view_of(far, near).alone.at.beyond == 0


def test_an_odd_process_stands_apart_from_the_others_and_is_told() -> None:
    view = view_of(compared((1.01, 1.01, 1.24, 1.24, 1.01, 1.01), (0, 2, 4)))
    first, odd, last = view.alone.processes
    assert first == last
    assert odd.at - first.at > 10
    assert view.processes_text == "1.010x, 1.240x, 1.010x"


def test_of_many_processes_the_ends_are_told() -> None:
    view = view_of(compared(tuple(1 + n / 1000 for n in range(20)), tuple(range(20))))
    assert view.processes_text == "20 processes, 1.000x to 1.019x"


def test_a_drift_shows_in_the_heights_and_in_words() -> None:
    drift = view_of(compared((1.0,) * 50 + (1.1,) * 50, (0, 50))).drift
    assert drift is not None
    heights = [float(dot.split()[1]) for dot in drift.dots.replace("h0", "").split("M")[1:]]
    assert max(heights[50:]) < min(heights[:50])  # slower is higher up
    assert drift.boundaries == (200,)
    assert drift.text == (
        "100 pair ratios in the order they were taken, each point is a pair; "
        "median of the first half 1.000x, second half 1.100x"
    )


def test_many_pairs_become_at_most_a_point_every_few_pixels() -> None:
    drift = view_of(compared((1.0, 1.01) * 5_000)).drift
    assert drift is not None
    assert drift.dots.count("M") <= 100
    assert "each point is the median of 100 pairs" in drift.text


def test_pairs_with_a_frozen_peer_are_not_taken_for_the_baseline() -> None:
    view = view_of(a_compared_verdict(), paired=False)
    assert view.alone.processes == ()
    assert view.drift is None


@pytest.mark.parametrize(
    "verdict",
    [
        compared((1.0, math.nan)),
        compared((1.0, -1.0)),
        compared((1.0, 1.0), (0, 5)),
        compared((1.0, 1.0), (1,)),
        compared((1.0, 1.0), ()),
        replace(compared((1.0, 1.0)), sample=None),
    ],
)
def test_what_is_no_list_of_pairs_is_not_drawn(verdict: Verdict) -> None:
    view = view_of(verdict)
    assert (view.alone.processes, view.drift, view.processes_text) == ((), None, "")


@pytest.mark.parametrize(
    "change",
    [
        a_change(ratio=math.nan),
        a_change(half_width=math.inf),
        a_change(ratio=-1.0),
        a_change(margin=math.nan),
        a_change(margin=-0.5),
    ],
)
def test_a_ratio_that_is_none_is_not_drawn(change: SpeedChange) -> None:
    verdict = a_compared_verdict(change=change)
    assert speed_view(verdict, axis_of([verdict, a_compared_verdict()]), paired=True) is None
    build_page(a_run(verdict, paired_with="main"))


def test_without_a_change_there_is_nothing_to_show() -> None:
    assert axis_of([a_verdict()]) is None
    assert speed_view(a_verdict(), None, paired=True) is None


def test_an_unknown_baseline_time_is_called_so() -> None:
    assert view_of(a_compared_verdict(change=a_change(baseline_ns=math.nan))).baseline == "unknown"


@given(st.floats(1e-6, 1e6), st.floats(1e-3, 10))
def test_every_ratio_has_a_place_on_the_axis_in_its_order(ratio: float, reach: float) -> None:
    axis = Axis(reach)
    place, inverse = axis.place(ratio), axis.place(1 / ratio)
    assert 0 <= place.at <= 100
    assert place.at + inverse.at == pytest.approx(100, abs=0.02)
    ticks = [tick.at for tick in axis.ticks]
    assert ticks == sorted(ticks)


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=300), st.floats(0, 1))
def test_every_pair_stays_on_its_field(ratios: list[float], margin: float) -> None:
    verdict = a_compared_verdict(
        ratios=tuple(ratios), process_starts=(0, 1), change=a_change(margin=margin)
    )
    drift = view_of(verdict).drift
    assert drift is not None
    for dot in drift.dots.replace("h0", "").split("M")[1:]:
        across, down = map(float, dot.split())
        assert 0 <= across <= 400
        assert 0 <= down <= 100
    assert 0 <= drift.band[0] <= drift.band[1] <= 100


def test_the_slowest_of_those_alike_come_first_and_the_columns_are_those_of_a_comparison() -> None:
    page = build_page(
        a_run(
            a_compared_verdict(case="little", change=a_change(ratio=1.02)),
            a_compared_verdict(case="much", change=a_change(ratio=1.5)),
            a_compared_verdict(case="none", change=a_change(ratio=0.9), outcome=Outcome.PASSED),
            paired_with="main",
        )
    )
    assert [case.case for case in page.cases] == ["much", "little", "none"]
    assert [row.case.case for row in page.groups[0].rows] == ["much", "little", "none"]
    assert page.steps[0].finding == "regressed: 1.500x the baseline's time"
    assert page.columns == ("case", "baseline", "now", "ratio")
    assert page.compared == "main"


def test_traffic_keeps_its_column_where_a_case_held_against_a_baseline_was_watched() -> None:
    verdict = replace(a_compared_verdict(), traffic=a_record())
    page = build_page(a_run(verdict, a_verdict(a_check(), case="new"), baseline="main"))
    assert page.columns == ("case", "values", "traffic", "baseline", "now", "ratio")
    assert page.compared == "main (0123456789ab)"
