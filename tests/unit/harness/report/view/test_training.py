"""Curves and stage times as the page draws them."""

from __future__ import annotations

import re

import pytest

from harness.model.training import Band, Curve, Stage, StageTimes, Training
from harness.report.view.training import CurveView, TimingView, training_view


def drawn(
    points: tuple[tuple[float, float], ...],
    band: tuple[tuple[float, float, float], ...] = (),
) -> CurveView:
    published = Band(points=band, source="elsewhere") if band else None
    curve = Curve(name="loss", x_unit="epoch", points=points, band=published)
    (view,) = training_view(Training(program="p", data="d", curves=(curve,)), label="p/c").curves
    return view


def places(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path)]


def test_a_curve_spans_the_field_and_falls_as_its_values_do() -> None:
    line = places(drawn(((0, 3.0), (1, 2.0), (2, 1.0))).line)
    assert [x for x, _ in line] == [0.0, 200.0, 400.0]
    heights = [y for _, y in line]
    assert heights == sorted(heights)
    assert all(0 <= y <= 140 for y in heights)


def test_the_band_is_in_sight_and_only_where_the_curve_is() -> None:
    view = drawn(((0, 2.0), (1, 2.0)), ((0, 1.0, 5.0), (1, 1.0, 5.0), (9, 0.0, 99.0)))
    band = places(view.band)
    assert len(band) == 4
    assert all(0 <= x <= 400 and 0 <= y <= 140 for x, y in band)


def test_points_in_and_out_of_the_band_are_told() -> None:
    view = drawn(((0, 1.0), (1, 2.0), (2, 3.0)), ((0, 1.5, 2.5), (1, 1.5, 2.5), (2, 1.5, 2.5)))
    assert view.within == "1 of 3 points within the published band"
    assert [row.place for row in view.rows] == ["below", "within", "above"]
    assert view.source == "elsewhere"


def test_without_a_band_nothing_is_said_of_one() -> None:
    view = drawn(((0, 1.0), (1, 2.0)))
    assert (view.within, view.band, view.source) == ("", "", "")


def test_the_picture_is_told_in_words() -> None:
    assert drawn(((0, 3.0), (9, 0.25))).text == "loss: from 3 at epoch 0 to 0.25 at epoch 9"
    assert drawn(((4, 3.0),)).text == "loss: 3 at epoch 4"


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_one_point_or_a_flat_line_is_drawn_inside(value: float) -> None:
    for points in (((4.0, value),), ((0.0, value), (1.0, value))):
        assert all(0 <= x <= 400 and 0 < y < 140 for x, y in places(drawn(points).line))


def test_of_a_long_curve_some_points_are_drawn_and_fewer_listed() -> None:
    view = drawn(tuple((float(i), float(i)) for i in range(5000)))
    assert len(places(view.line)) == 200
    assert len(view.rows) == 25
    assert view.rows[-1].x == "4999"
    assert view.omitted == "25 of 5,000 points"


def timed(published: bool = True) -> TimingView:
    stages = (
        Stage(name="total", seconds=0.2, published_s=0.4 if published else None),
        Stage(name="forward", seconds=0.05, published_s=0.1 if published else None),
    )
    timing = StageTimes(label="loop", stages=stages, per_second=20.0, unit="images", syncs=325)
    (view,) = training_view(Training(program="p", data="d", timings=(timing,)), label="").timings
    return view


def test_stages_are_shares_of_the_iteration_beside_the_published_shares() -> None:
    view = timed()
    (row,) = view.stages
    assert (row.share, row.published_share) == (25.0, 25.0)
    assert (row.time, row.published_time) == ("50.0 ms", "100 ms")
    assert (view.total, view.rate, view.waits, view.reads) == (
        "200 ms",
        "20.0 images/s",
        "325",
        "not counted",
    )
    assert view.text == "loop: 200 ms per iteration; forward 50.0 ms (25.0 %)"


def test_what_was_not_published_has_no_bar() -> None:
    assert timed(published=False).stages[0].published_share is None
