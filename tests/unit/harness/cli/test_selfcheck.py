"""What a self-check says while it works: how much is done, and how long it will still take."""

from __future__ import annotations

import pytest

from harness.cli.selfcheck import Telling
from harness.session.selfcheck import Announcement


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_is_that_of_the_pace_so_far(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    telling = Telling(clock)
    telling.announce(Announcement(ops=2, decisions=160, most_s=640.0))
    telling.progress("toys/a", 0)
    clock.now = 5.0
    telling.progress("toys/a", 2)  # too soon to say more
    clock.now = 20.0
    telling.progress("toys/a", 10)
    clock.now = 21.0
    telling.progress("toys/b", 80)  # another op is always told
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "self-check of 2 ops: 160 decisions at most, up to 11 min",
        "[0/160] toys/a, about 11 min left",
        "[10/160] toys/a, about 5 min left",
        "[80/160] toys/b, about 21 s left",
    ]


def test_long_waits_are_told_in_hours(capsys: pytest.CaptureFixture[str]) -> None:
    Telling().announce(Announcement(ops=40, decisions=3_200, most_s=12_800.0))
    assert capsys.readouterr().err.endswith("3,200 decisions at most, up to 3 h 33 min\n")
