"""What is said while something goes on and output is piped."""

from __future__ import annotations

import pytest

from harness.cli.progress import Lines


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
