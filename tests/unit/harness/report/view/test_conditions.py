"""The GPU's sensors as data: lines, what held the clocks back, and silence told as such."""

from __future__ import annotations

import math
from dataclasses import replace

from builders import a_sample, a_verdict

from harness.model.conditions import ConditionSample
from harness.model.verdict import Verdict
from harness.report.view.conditions import ConditionsView, conditions_view

CAP = ("the power cap",)


def timed(*samples: ConditionSample, device: str = "cuda:0") -> Verdict:
    return replace(a_verdict(sample=a_sample(), timing_device=device), conditions=samples)


def view_of(*samples: ConditionSample) -> ConditionsView:
    found = conditions_view(timed(*samples))
    assert found is not None
    return found


def a_reading(at_s: float, **said: object) -> ConditionSample:
    reading = ConditionSample(at_s=at_s, sm_clock_mhz=1980, power_w=250.0, temperature_c=41)
    return replace(reading, **said)  # type: ignore[arg-type]


def test_only_a_cuda_device_that_was_timed_is_said_to_have_been_silent() -> None:
    silent = conditions_view(timed())
    assert silent is not None
    assert silent.text == "no sensor of cuda:0 was read while it was timed"
    assert silent.strips == ()
    assert conditions_view(timed(device="cpu")) is None
    assert conditions_view(a_verdict(timing_device="cuda:0")) is None


def test_three_lines_with_their_range() -> None:
    view = view_of(*(a_reading(0.1 * n, power_w=250.0 + n) for n in range(11)))
    assert [strip.name for strip in view.strips] == ["SM clock", "power", "temperature"]
    assert view.text == (
        "11 readings within 1.00 s; SM clock 1,980 MHz; power 250 to 260 W, median 255; "
        "temperature 41 °C; nothing held the clocks back"
    )
    assert view.strips[1].path.startswith("M0 ")
    assert view.strips[1].path.count("L") == 10


def test_a_sensor_that_says_nothing_has_no_line_and_a_gap_breaks_one() -> None:
    view = view_of(
        *(a_reading(n, power_w=None, sm_clock_mhz=None if n == 2 else 1980) for n in range(5))
    )
    assert [strip.name for strip in view.strips] == ["SM clock", "temperature"]
    assert view.strips[0].path.count("M") == 2


def test_limited_stretches_are_placed_half_way_to_their_neighbours_and_named() -> None:
    view = view_of(*(a_reading(0.1 * n, limited=CAP if 2 <= n <= 4 else ()) for n in range(11)))
    (stretch,) = view.limited
    assert (stretch.at, stretch.width) == (60, 120)
    assert view.text.endswith("clocks held back (dashed): 0.20 to 0.40 s by the power cap")


def test_other_limits_are_another_stretch_and_many_are_counted() -> None:
    other = ("the board's limit",)
    view = view_of(a_reading(0.0, limited=CAP), a_reading(0.1, limited=other), a_reading(0.2))
    assert len(view.limited) == 2
    assert "at 0.00 s by the power cap, at 0.10 s by the board's limit" in view.text
    many = view_of(*(a_reading(0.1 * n, limited=CAP if n % 2 else ()) for n in range(20)))
    assert many.text.endswith("in 4 more stretches")


def test_one_reading_is_told_and_not_drawn() -> None:
    view = view_of(a_reading(0.0))
    assert view.strips == ()
    assert view.text == (
        "1 reading; SM clock 1,980 MHz; power 250 W; temperature 41 °C; nothing held the clocks back"
    )


def test_readings_that_are_no_numbers_are_not_drawn() -> None:
    view = view_of(a_reading(0.0, power_w=math.nan), a_reading(math.inf, power_w=math.inf))
    assert [strip.name for strip in view.strips] in ([], ["SM clock", "temperature"])
