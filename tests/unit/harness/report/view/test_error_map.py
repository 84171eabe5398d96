"""An error map as data: levels, what is crossed out, and the words that say the same."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.error_map import ERROR_PROBABILITIES, ErrorMap
from harness.numerics.error_map import error_map
from harness.numerics.tolerance import Tolerance
from harness.report.view.error_map import ErrorMapView, Picture, error_map_views

NAN, INF = math.nan, math.inf
TOLERANCE = Tolerance(absolute=0.5, relative=0.25, because="test")


def a_map(got: object, expected: object, *, output: str = "gradient") -> ErrorMap:
    found = error_map(np.asarray(got), np.asarray(expected), TOLERANCE, output=output)
    assert found is not None
    return found


def view_of(got: object, expected: object) -> ErrorMapView:
    (view,) = error_map_views([a_map(got, expected)])
    return view


def picture_of(got: object, expected: object) -> Picture:
    picture = view_of(got, expected).picture
    assert picture is not None
    return picture


def test_a_wrong_entry_is_named_with_what_was_there_and_what_was_allowed() -> None:
    got = np.zeros((60, 10))
    got[3, 7] = 3.0
    view = view_of(got, np.zeros((60, 10)))
    assert (view.style, view.sign, view.about) == ("failed", "✗", "60x10 float64")
    assert view.summary == "1 of 600 entries wrong"
    assert view.worst == "worst at [3, 7]: got 3, expected 0; error 3, 6 times the allowed 0.5"
    assert view.quantiles == (
        "half of the entries are without error, 90 % without error, 99 % without error"
    )


def test_what_passed_is_told_so() -> None:
    view = view_of(np.full((4, 5), 0.25), np.zeros((4, 5)))
    assert (view.style, view.summary) == ("passed", "20 entries within the tolerance")
    assert view.quantiles.startswith("half of the entries are within 0.5 times the allowed error")


def test_levels_are_shades_and_what_is_wrong_is_crossed_out() -> None:
    row = [0.0, 0.02, 0.2, 0.3, 0.5, 2.0, 50.0, NAN]
    picture = picture_of([row, row], np.zeros((2, 8)))
    assert [level.number for level in picture.levels] == [0, 1, 2, 3, 4, 5, 6]
    assert [bool(level.hatch) for level in picture.levels] == [False] * 4 + [True] * 3
    assert len({level.hatch for level in picture.levels if level.hatch}) == 3
    assert picture.text == (
        "error over allowed, 2 by 8 blocks: 2 up to 0.01 of the allowed error, 2 up to 0.1, 2 up to 0.5, "
        "4 up to all of it, 2 wrong, up to 10 times the allowed error, 2 wrong by more, 2 NaN on one side only"
    )


@settings(max_examples=30)
@given(st.data())
def test_every_block_is_drawn_once(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 12)), data.draw(st.integers(2, 32))
    cell = st.sampled_from([0.0, 0.2, 0.5, 4.0, 90.0, NAN, INF])
    got = data.draw(
        st.lists(st.lists(cell, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    picture = picture_of(got, np.zeros((rows, columns)))
    covered = [
        (int(y), at)
        for level in picture.levels
        for x, y, wide in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", level.path)
        for at in range(int(x), int(x) + int(wide))
    ]
    assert len(covered) == len(set(covered)) == picture.rows * picture.columns


def test_the_worst_entry_is_marked_in_its_block_and_the_edges_have_real_indices() -> None:
    got = np.zeros((1200, 3200))
    got[1199, 0] = 9.0
    picture = picture_of(got, np.zeros(got.shape))
    assert picture.worst == (
        pytest.approx(100 / 64, abs=0.1),
        pytest.approx(100 * 11.5 / 12, abs=0.1),
    )
    assert (picture.first_row, picture.last_row) == ("0", "1,199")
    assert (picture.first_column, picture.last_column) == ("0", "3,199")
    assert picture.axes == (
        "1,200 rows down, 3,200 columns across, a block is the worst of 100 x 100 entries"
    )


def test_other_ranks_say_what_their_rows_are() -> None:
    assert picture_of(np.zeros((2, 3, 4)), np.zeros((2, 3, 4))).axes == (
        "6 rows down (all axes but the last, flattened), 4 columns across, a block is an entry"
    )
    line = picture_of(np.zeros(5), np.zeros(5))
    assert line.axes == "5 entries from left to right, a block is an entry"
    assert (line.first_row, line.last_column) == ("", "4")


def test_one_number_and_no_entries_are_told_without_a_picture() -> None:
    one = view_of(np.array(NAN), np.array(1.0))
    assert one.picture is None
    assert (
        one.summary == "1 of 1 entry wrong, 1 of them NaN or infinite where the other side is not"
    )
    assert (one.worst, one.quantiles) == ("got nan, expected 1", "")
    none = view_of(np.zeros((0, 4)), np.zeros((0, 4)))
    assert (none.summary, none.worst, none.picture) == ("no entries", "", None)


def test_where_nothing_is_allowed_no_multiple_of_it_is_told() -> None:
    exact = Tolerance(absolute=0.0, relative=0.0, because="test")
    found = error_map(np.array([0, 1, 2]), np.array([0, 1, 3]), exact, output="ids")
    assert found is not None
    (view,) = error_map_views([found])
    assert view.worst == "worst at [2]: got 2, expected 3; error 1, and nothing is allowed"
    assert view.quantiles.endswith("at least 10 % are beyond any multiple")


def test_what_is_wrong_comes_first() -> None:
    right, wrong = a_map([0.0], [0.0], output="a"), a_map([9.0], [0.0], output="b")
    assert [view.output for view in error_map_views([right, wrong])] == ["b", "a"]


def test_a_map_nobody_of_ours_made_is_told_and_not_drawn() -> None:
    hostile = ErrorMap(
        output="a" * 10_000 + "\x00\u202e",
        shape=(2, 2),
        dtype="<b>",
        absolute=0.0,
        relative=NAN,
        worst=NAN,
        worst_index=(99, 99, 99),
        got=INF,
        expected=NAN,
        wrong=4,
        not_finite=4,
        block=(0, -1),
        grid=((1.0, 2.0), (1.0,)),
        quantiles=tuple(NAN for _ in ERROR_PROBABILITIES),
    )
    (view,) = error_map_views([hostile])
    assert view.picture is None
    assert len(view.output) < 200
    assert view.quantiles == "at least 50 % are beyond any multiple"
