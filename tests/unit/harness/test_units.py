"""Numbers as text: the right unit, three digits, no surprises at the edges of a scale."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.units import (
    bytes_text,
    count_text,
    duration_text,
    percent_text,
    rate_text,
    ratio_text,
)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0.0, "0.00 ns"),
        (0.5, "0.50 ns"),
        (1.0, "1.00 ns"),
        (999.4, "999 ns"),
        (999.6, "1.00 us"),
        (1234.0, "1.23 us"),
        (999_960.0, "1.00 ms"),
        (12_345_678.0, "12.3 ms"),
        (9_996_000.0, "10.0 ms"),
        (2.5e9, "2.50 s"),
        (7.2e12, "7,200 s"),
        (math.inf, "inf s"),
        (math.nan, "nan ns"),
    ],
)
def test_a_duration_has_three_digits_in_its_unit(nanoseconds: float, text: str) -> None:
    assert duration_text(nanoseconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (4, "4 B"),
        (9_999, "9,999 B"),
        (10_000, "10.0 kB"),
        (999_999, "1.00 MB"),
        (16_384_000, "16.4 MB"),
        (4.3e9, "4.30 GB"),
        (2e12, "2.00 TB"),
        (5e15, "5,000 TB"),
        (math.inf, "inf TB"),
        (math.nan, "nan B"),
    ],
)
def test_a_size_is_exact_where_single_bytes_matter(size: float, text: str) -> None:
    assert bytes_text(size) == text


@pytest.mark.parametrize(
    ("rate", "unit", "text"),
    [
        (12.34e6, "samples", "12.3 M samples/s"),
        (4.56e9, "B", "4.56 GB/s"),
        (999.0, "steps", "999 steps/s"),
        (999_999.0, "images", "1.00 M images/s"),
        (3.2e12, "FLOP", "3.20 T FLOP/s"),
        (2.0, "B", "2.00 B/s"),
    ],
)
def test_a_rate_carries_its_own_unit(rate: float, unit: str, text: str) -> None:
    assert rate_text(rate, unit) == text


def test_percentages_and_ratios_have_fixed_decimals() -> None:
    assert percent_text(0.0234) == "2.3 %"
    assert percent_text(0.02, signed=True) == "+2.0 %"
    assert percent_text(-0.02, signed=True) == "-2.0 %"
    assert ratio_text(1.0227) == "1.023x"


def test_one_is_singular_and_plurals_may_be_irregular() -> None:
    assert count_text(1, "sync") == "1 sync"
    assert count_text(0, "sync") == "0 syncs"
    assert count_text(1200, "copy", plural="copies") == "1,200 copies"


@given(st.floats(1.0, 1e13))
def test_a_duration_read_back_is_within_half_of_its_last_digit(nanoseconds: float) -> None:
    number, unit = duration_text(nanoseconds).replace(",", "").split()
    scale = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    assert float(number) * scale == pytest.approx(nanoseconds, rel=0.00501)
    assert float(number) < 1000 or unit == "s"
