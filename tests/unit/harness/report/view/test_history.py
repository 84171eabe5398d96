"""The history of a case in a small picture and in words: since when, by how much, at which commit."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from builders import a_run, a_verdict
from hypothesis import given
from hypothesis import strategies as st

from harness.model.history import CaseHistory, HistoryChange, HistoryPoint
from harness.report.view.history import HEIGHT, WIDTH, HistoryView, Sparkline, history_view

KEY = a_verdict().key

times = st.floats(min_value=1e-300, max_value=1e300)


def a_history(
    *times: float,
    key: str = KEY,
    changes: tuple[tuple[int, float], ...] = (),
    earlier: int = 0,
    spread: float = 0.01,
) -> CaseHistory:
    points = tuple(
        HistoryPoint(
            created=f"2026-01-{1 + number % 28:02}T12:00:00+00:00",
            commit=f"{number:07x}".ljust(12, "0"),
            dirty=False,
            call_ns=time,
            low_ns=time * (1 - spread),
            high_ns=time * (1 + spread),
        )
        for number, time in enumerate(times)
    )
    found = tuple(HistoryChange(index=index, ratio=ratio) for index, ratio in changes)
    return CaseHistory(key=key, points=points, changes=found, earlier=earlier)


def the_view(*histories: CaseHistory) -> HistoryView:
    view = history_view(replace(a_run(a_verdict()), history=histories))
    assert view is not None
    return view


def the_picture(*histories: CaseHistory) -> Sparkline:
    (course,) = (*the_view(*histories).changed, *the_view(*histories).unchanged)
    assert course.sparkline is not None
    return course.sparkline


def places(path: str) -> list[tuple[int, int]]:
    """The absolute places of a path of one move and relative lines."""
    found = re.fullmatch(r"M(\d+) (\d+)l([-\d ]+)z?", path)
    assert found is not None
    x, y = int(found[1]), int(found[2])
    numbers = [int(text) for text in re.findall(r"-?\d+", found[3])]
    at = [(x, y)]
    for dx, dy in zip(numbers[::2], numbers[1::2], strict=True):
        x, y = x + dx, y + dy
        at.append((x, y))
    return at


def test_since_when_is_said_with_the_commit_and_the_number_of_runs() -> None:
    view = the_view(
        a_history(*[1e6] * 8, *[1.031e6] * 13, changes=((8, 1.031),), earlier=100),
    )
    (course,) = view.changed
    (turn,) = course.turns
    assert turn.text == "3.1 % slower since 0000008 (2026-01-09), 12 runs ago"
    assert (turn.sign, turn.change) == ("▲", "+3.1 %")
    assert (course.now, course.runs) == ("1.03 ms", "21 of 121")
    assert course.anchor == "case-softmax_cross_entropy-4096x1000-float32".replace("_", "-")
    assert view.summary == "1 case became slower"


def test_the_largest_last_change_comes_first_whichever_way_it_went() -> None:
    values = (1e6,) * 9
    view = the_view(
        a_history(*values, key="a/small", changes=((3, 1.5), (6, 1.02))),
        a_history(*values, key="a/steady"),
        a_history(*values, key="a/fast", changes=((3, 0.8),)),
        a_history(*values, key="a/slow", changes=((3, 1.1),)),
        a_history(1e6, key="a/new"),
    )
    assert [course.label for course in view.changed] == ["a/fast", "a/slow", "a/small"]
    assert [course.label for course in view.unchanged] == ["a/steady"]
    assert view.unchanged[0].steady == "no change in 9 runs"
    assert view.alone == "a/new has no earlier run to be compared with."
    assert view.summary == "2 cases became slower, 1 case became faster, 1 case kept its pace"
    assert [turn.sign for turn in view.changed[2].turns] == ["▲", "▲"]


def test_a_run_without_a_history_has_no_section_and_lonely_cases_share_a_line() -> None:
    assert history_view(a_run(a_verdict())) is None
    view = the_view(a_history(1e6, key="a/a"), a_history(1e6, key="a/b"))
    assert (view.changed, view.unchanged, view.summary) == ((), (), "")
    assert view.alone == "2 cases have no earlier run to be compared with."


def test_slower_is_up_and_the_newest_run_is_at_the_right() -> None:
    picture = the_picture(a_history(*[1e6] * 5, *[1.2e6] * 5, changes=((5, 1.2),)))
    line = places(picture.line)
    assert [x for x, _ in line] == [round(WIDTH * number / 9) for number in range(10)]
    assert line[0][1] > line[-1][1]
    assert picture.last == line[-1]
    band = places(picture.band)
    upper, lower = band[: len(band) // 2], band[len(band) // 2 :][::-1]
    assert all(top[1] <= bottom[1] for top, bottom in zip(upper, lower, strict=True))
    assert (
        picture.text
        == "10 runs, 1.00 ms to 1.20 ms; 20.0 % slower since 0000005 (2026-01-06), 4 runs ago"
    )


def test_slower_and_faster_are_told_apart_by_shape_and_place() -> None:
    up = the_picture(a_history(*[1e6] * 9, changes=((4, 1.2),))).marks
    down = the_picture(a_history(*[1e6] * 9, changes=((4, 0.8),))).marks
    assert up != down
    assert up.startswith("M75 30V0")
    assert down.startswith("M75 0v30")


def test_noise_looks_like_noise_and_not_like_a_mountain() -> None:
    heights = [y for _, y in places(the_picture(a_history(1e6, 1.003e6, 1e6, 1.003e6)).line)]
    assert max(heights) - min(heights) <= HEIGHT / 8


def test_one_wild_run_among_fifty_does_not_flatten_the_others() -> None:
    rng = random.Random(1)
    values = [1e6 * (1 + (number >= 25) * 0.1) * rng.uniform(0.999, 1.001) for number in range(50)]
    values[10] = 1e8
    line = places(the_picture(a_history(*values)).line)
    assert line[10][1] == 0
    assert line[0][1] - line[-1][1] > HEIGHT / 2


@given(
    st.lists(times, min_size=2, max_size=60),
    st.lists(st.tuples(st.integers(1, 59), st.floats(0.5, 2)), max_size=16),
)
def test_a_picture_stays_in_its_field_however_wild_the_times(values, changes) -> None:
    inside = tuple(each for each in changes if each[0] < len(values))
    picture = the_picture(a_history(*values, changes=inside, spread=0.2))
    for path in (picture.line, picture.band):
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places(path))
    if len(values) <= 50:
        assert len(picture.line) + len(picture.band) + len(picture.marks) <= 460


def test_a_noisy_history_of_fifty_runs_with_changes_is_drawn_in_400_bytes() -> None:
    for seed in range(20):
        rng = random.Random(seed)
        values = [
            1e6 * (1 + 0.1 * (number // 12)) * rng.lognormvariate(0, 0.03) for number in range(50)
        ]
        changes = ((12, 1.1), (24, 1.1), (36, 1.1), (48, 1.1))
        picture = the_picture(a_history(*values, changes=changes))
        assert len(picture.line) + len(picture.band) + len(picture.marks) <= 400


def test_only_the_first_hundred_are_drawn_and_all_are_told() -> None:
    several = [a_history(1e6, 1e6, key=f"a/{number}") for number in range(150)]
    courses = the_view(*several).unchanged
    assert [course.sparkline is not None for course in courses] == [True] * 100 + [False] * 50


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_what_can_be_no_time_is_left_out(bad) -> None:
    view = the_view(a_history(1e6, bad, 1e6, 1.1e6, changes=((3, 1.1),)))
    (course,) = view.unchanged
    assert course.runs == "3"
    view = the_view(a_history(1e6, 1e6, changes=((1, bad), (7, 1.1))))
    assert view.changed == ()


def test_a_point_without_a_commit_is_named_by_its_day_and_uncommitted_changes_by_a_plus() -> None:
    history = a_history(*[1e6] * 9, changes=((3, 1.1), (6, 1.1)))
    points = list(history.points)
    points[6] = replace(points[6], commit=None)
    points[3] = replace(points[3], dirty=True)
    (course,) = the_view(replace(history, points=tuple(points))).changed
    assert course.turns[0].text == "10.0 % slower since 2026-01-07, 2 runs ago"
    assert course.turns[1].text == "10.0 % slower since 0000003+ (2026-01-04), 5 runs ago"
