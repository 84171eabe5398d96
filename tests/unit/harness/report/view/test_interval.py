"""A time is told with an interval only where several values made one."""

from __future__ import annotations

import math

from builders import an_estimate

from harness.report.view.interval import apart, call_time_text, has_interval, interval_text

ONE_VALUE = an_estimate(value=8e8, low=8e8, high=8e8)


def test_one_value_has_a_time_and_no_interval() -> None:
    assert (call_time_text(ONE_VALUE), interval_text(ONE_VALUE)) == ("800 ms", "")
    assert not has_interval(ONE_VALUE)


def test_an_interval_tells_its_unit_once_and_what_is_no_number_is_unknown() -> None:
    assert interval_text(an_estimate()) == "1.20 to 1.30 ms"
    assert interval_text(an_estimate(high=math.inf)) == "interval unknown"
    assert (call_time_text(None), interval_text(None)) == ("", "")


def test_only_two_intervals_can_show_a_difference() -> None:
    slower = an_estimate(value=1.5e6, low=1.4e6, high=1.6e6)
    assert apart(an_estimate(), slower)
    assert apart(slower, an_estimate())
    assert not apart(an_estimate(), an_estimate(value=1.35e6, low=1.25e6, high=1.4e6))
    assert not apart(ONE_VALUE, slower)
