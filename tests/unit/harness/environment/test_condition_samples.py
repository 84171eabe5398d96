"""Readings kept for a report: what each sample shows, and what the counters say acted in between."""

from __future__ import annotations

from typing import Any

from harness.environment.condition_samples import condition_samples
from harness.environment.gpu_conditions import GpuSample, Limiter, Phase


def a_sample(number: int, **said: Any) -> GpuSample:
    said = {"sm_clock": 1980, "power": 250_500, "temperature": 41} | said
    return GpuSample(phase=Phase.DURING, at_ns=7_000_000_000 + number * 25_000_000, **said)


def test_readings_count_from_the_first_in_the_units_of_a_report() -> None:
    first, second = condition_samples([a_sample(0), a_sample(1, power=None)])
    assert (first.at_s, first.sm_clock_mhz, first.power_w, first.temperature_c) == (
        0.0,
        1980,
        250.5,
        41,
    )
    assert (second.at_s, second.power_w, second.limited) == (0.025, None, ())


def test_a_limit_is_named_where_a_sample_shows_it_or_a_counter_moved_since_the_last() -> None:
    power, heat = Limiter.POWER_CAP, Limiter.HARDWARE_THERMAL
    shown, quiet, counted, still = condition_samples(
        [
            a_sample(0, reasons=power.value | 0x1, held_ns={heat: 50}),
            a_sample(1, reasons=0x1, held_ns={heat: 50}),
            a_sample(2, reasons=0, held_ns={heat: 90}),
            a_sample(3, reasons=0, held_ns={heat: 90}),
        ]
    )
    assert shown.limited == (power.text,)
    assert quiet.limited == still.limited == ()
    assert counted.limited == (heat.text,)


def test_nothing_is_kept_of_a_gpu_that_says_nothing_or_was_lost() -> None:
    silent = {"sm_clock": None, "power": None, "temperature": None}
    assert condition_samples([]) == ()
    assert condition_samples([a_sample(0, **silent), a_sample(1, **silent)]) == ()
    lost = a_sample(1, lost=True)
    assert [each.at_s for each in condition_samples([a_sample(0), lost, a_sample(2)])] == [
        0.0,
        0.05,
    ]


def test_a_long_measurement_keeps_the_slowest_of_neighbours_and_all_their_limits() -> None:
    samples = [a_sample(number) for number in range(1000)]
    samples[501] = a_sample(501, sm_clock=900)
    samples[502] = a_sample(502, reasons=Limiter.SOFTWARE_THERMAL.value)
    kept = condition_samples(samples)
    assert len(kept) <= 120
    (slow,) = [each for each in kept if each.sm_clock_mhz == 900]
    assert (slow.at_s, slow.limited) == (12.525, (Limiter.SOFTWARE_THERMAL.text,))
