"""The times of a call as data: steps, an axis that can be read, and the same in words."""

from __future__ import annotations

import math
import random
import re

import pytest
from builders import a_sample, a_verdict
from hypothesis import given
from hypothesis import strategies as st

from harness.report.view.distribution import Distribution, distribution

TIMES = st.lists(st.floats(1e2, 1e10), min_size=2, max_size=150)


def spread_of(
    call: tuple[float, ...], peer: tuple[float, ...] = (), *, paired_with: str = ""
) -> Distribution:
    verdict = a_verdict(sample=a_sample(call_ns=call, peer_ns=peer))
    found = distribution(verdict, paired_with=paired_with)
    assert found is not None
    return found


def test_both_sides_are_named_with_median_and_quartiles() -> None:
    call = tuple(1e6 + 1e3 * n for n in range(101))
    spread = spread_of(call, tuple(2 * each for each in call), paired_with="main (0123456789ab)")
    assert [side.name for side in spread.sides] == ["now", "main (0123456789ab)"]
    assert spread.sides[0].text == "now: median 1.05 ms, quartiles 1.02 ms and 1.07 ms, 101 values"
    assert spread.text.startswith(spread.sides[0].text + "; main (0123456789ab): median 2.10 ms")


def test_without_a_version_to_compare_with_the_other_side_is_the_frozen_peer() -> None:
    assert [s.name for s in spread_of((1.0, 2.0), (1.0, 2.0)).sides] == ["this case", "frozen peer"]
    assert [s.name for s in spread_of((1.0, 2.0)).sides] == ["this case"]


@given(TIMES, TIMES)
def test_steps_climb_from_none_to_all_and_are_few(call: list[float], peer: list[float]) -> None:
    for side in spread_of(tuple(call), tuple(peer)).sides:
        drawn = re.fullmatch(r"M(\d+) 100((?:(?:h\d+)?v-?\d+)+)H400", side.path)
        assert drawn is not None
        moves = re.findall(r"(?:h(\d+))?v(-?\d+)", drawn[2])
        assert len(moves) <= 60
        assert int(drawn[1]) + sum(int(across or 0) for across, _ in moves) <= 400
        assert all(int(up) <= 0 for _, up in moves)
        assert 100 + sum(int(up) for _, up in moves) == 0


@given(TIMES, TIMES)
def test_the_axis_has_distinct_labels_within_the_field(
    call: list[float], peer: list[float]
) -> None:
    ticks = spread_of(tuple(call), tuple(peer)).ticks
    assert 1 <= len(ticks) <= 21
    assert len({tick.text for tick in ticks}) == len(ticks)
    assert all(0 <= tick.at <= 100 for tick in ticks)
    # on a phone the picture has 240 pixels, and 16 are free beside it
    assert all(2.4 * tick.at + 7.0 * len(tick.text) / 2 <= 256 for tick in ticks)
    assert [tick.at for tick in ticks] == sorted(tick.at for tick in ticks)


def test_times_that_three_digits_cannot_tell_apart_are_labelled_as_shares() -> None:
    spread = spread_of(tuple(1e6 + 10 * n for n in range(100)))
    assert any(tick.text.endswith("%") for tick in spread.ticks)
    assert len(spread.ticks) >= 2


def test_equal_times_are_a_line_and_not_a_division_by_zero() -> None:
    assert spread_of((5.0,) * 9).sides[0].text == (
        "this case: median 5.00 ns, quartiles 5.00 ns and 5.00 ns, 9 values"
    )


def test_one_hiccup_does_not_press_the_rest_together_and_is_told() -> None:
    chance = random.Random(0)
    call = [1e6 * chance.lognormvariate(0, 0.02) for _ in range(99)]
    spread = spread_of((*call, 5e8))
    assert spread.text.endswith("2 values of this case beyond the right edge, up to 500 ms")
    quiet = spread_of(tuple(call))
    assert "beyond" not in quiet.text or "500 ms" not in quiet.text
    assert spread.sides[0].at[0] == pytest.approx(quiet.sides[0].at[0], abs=10)


def test_what_is_no_sample_of_times_is_not_drawn() -> None:
    for call in ((), (1e6,), (1e6, 0.0), (1e6, math.nan), (1e6, math.inf), (1e6, -1.0)):
        assert distribution(a_verdict(sample=a_sample(call_ns=call))) is None
    assert distribution(a_verdict()) is None


def test_a_long_name_is_cut_beside_its_line_and_whole_in_words() -> None:
    name = "a-branch-with-a-rather-long-name-of-its-own (0123456789ab)"
    other = spread_of((1.0, 2.0), (1.0, 2.0), paired_with=name).sides[1]
    assert (len(other.label) <= 16, other.name) == (True, name)


def test_a_label_turns_to_the_side_of_its_line_that_has_room_on_a_phone() -> None:
    def turned(start: float) -> tuple[str, bool]:
        """Of the faster side, most of whose values are ``start`` of the way from 1 to e."""
        faster = [1.0, *(math.exp(start) for _ in range(9))]
        found = spread_of((math.e,) * 10, tuple(faster), paired_with="HEAD @ 2a49974 (git)")
        return found.sides[1].anchor, found.sides[1].turns

    assert turned(0.2) == ("start", False)
    assert turned(0.4) == ("end", True)
    assert turned(0.6) == ("end", False)


def test_the_texts_of_a_telephone_do_not_touch() -> None:
    found = distribution(
        a_verdict(sample=a_sample(call_ns=tuple(80e3 + 500 * n for n in range(40))))
    )
    assert found is not None
    widths = [100 * 7.0 * len(tick.text) / 250 for tick in found.ticks]
    places = [tick.at for tick in found.ticks]
    assert len(places) > 1
    for n in range(len(places) - 1):
        assert places[n + 1] - places[n] >= (widths[n] + widths[n + 1]) / 2 - 0.2
