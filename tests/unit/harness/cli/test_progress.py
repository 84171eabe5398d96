"""What is said while something goes on and output is piped."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from harness.cli.progress import Lines, Pace, shown


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


def test_a_case_that_takes_long_is_told_every_ten_seconds_with_what_is_done(capsys) -> None:
    clock = Clock()
    lines = Lines(clock)
    lines.begin("toys/slow", about="[1/1]", left_s=60.0)
    for tenth in range(1, 251):
        clock.now = tenth / 10
        lines.stage("watching" if clock.now < 15 else "timing")
        lines.tick()
    assert said(capsys) == [
        "[1/1] toys/slow, about 60 s left",
        "[1/1] toys/slow, watching, for 10 s, about 50 s left",
        "[1/1] toys/slow, timing, for 20 s, about 40 s left",
    ]


def test_what_begins_often_is_told_when_it_is_time(capsys) -> None:
    clock = Clock()
    lines = Lines(clock)
    for second in range(25):
        clock.now = float(second)
        lines.begin(f"toys/{second}", always=False)
    assert said(capsys) == ["toys/10", "toys/20"]


def test_before_anything_begins_it_says_what_it_does(capsys) -> None:
    clock = Clock()
    lines = Lines(clock)
    lines.stage("importing it and listing its cases")
    clock.now = 12.0
    lines.tick()
    assert said(capsys) == ["importing it and listing its cases, for 12 s"]


def test_a_long_name_is_cut(capsys) -> None:
    Lines().begin("n" * 5_000)
    (line,) = said(capsys)
    assert len(line) < 160
    assert "(5,000 characters)" in line


def test_the_rest_takes_as_long_as_what_is_done_says() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.begin(0, 4)
    assert pace.left_s is None  # nothing is known yet
    clock.now = 20.0
    pace.begin(2, 4)
    assert pace.left_s == pytest.approx(20.0)
    clock.now = 25.0
    assert pace.left_s == pytest.approx(15.0)
    clock.now = 90.0
    assert pace.left_s is None  # overdue: no negative time, and no zero that stays


def test_where_it_is_piped_each_case_is_told_on_standard_error_and_nothing_on_the_console(
    capsys,
) -> None:
    stream = io.StringIO()
    with shown(Console(file=stream), threads=False) as display:
        display.report("toys/a", 0, 2)
        display.tick()
        display.report("toys/b", 1, 2)
    assert stream.getvalue() == ""
    assert said(capsys) == ["[1/2] toys/a", "[2/2] toys/b"]


def test_a_terminal_shows_the_case_what_is_done_about_it_and_how_far_it_is_in_one_line() -> None:
    stream = io.StringIO()
    with shown(Console(file=stream, force_terminal=True, width=80), threads=False) as display:
        display.report("toys/[bold]a", 0, 3)
        display.stage("timing")
        display.report("a-workload-with-a-long-name/" + "n" * 300, 1, 3)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    lines = [line for line in re.split(r"[\r\n]+", drawn) if line.strip()]
    assert any(line.startswith("toys/[bold]a") and "0/3" in line for line in lines)
    assert any("…" in line and "1/3" in line for line in lines)
    assert max(map(len, lines)) <= 80
    assert stream.getvalue().endswith("\x1b[1A\x1b[2K")  # nothing is left of it
