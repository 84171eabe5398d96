"""Throughput in three ways: units, bytes, and a fraction of what the same run copied."""

from __future__ import annotations

import math

import pytest
from builders import a_copy_bandwidth, an_estimate

from harness.model.measurement import Throughput, rates_of

OP = Throughput(unit="samples", units_per_call=4096, bytes_per_call=10_000_000)
MILLISECOND = an_estimate(value=1e6)


def test_all_three_are_of_the_same_time() -> None:
    rates = rates_of(OP, MILLISECOND, a_copy_bandwidth(before=20e9), device="cpu")
    assert rates is not None
    assert rates.units_per_second == pytest.approx(4_096_000)
    assert rates.bytes_per_second == pytest.approx(10e9)
    assert rates.of_copy == pytest.approx(0.5)


def test_the_roof_is_the_best_copy_of_the_run_and_the_canary_the_lower_median() -> None:
    copy = a_copy_bandwidth(before=20e9, after=25e9, usual=0.8)
    assert (copy.best, copy.usual) == (25e9, 16e9)
    cut_short = a_copy_bandwidth(before=20e9, after=None, usual=0.8)
    assert (cut_short.best, cut_short.usual) == (20e9, 16e9)


def test_the_copies_of_another_device_are_no_roof() -> None:
    rates = rates_of(OP, MILLISECOND, a_copy_bandwidth(device="cuda:0"), device="cpu")
    assert rates is not None
    assert rates.of_copy is None


def test_an_op_that_need_not_move_anything_has_no_bandwidth() -> None:
    op = Throughput(unit="steps", units_per_call=1, bytes_per_call=0)
    rates = rates_of(op, MILLISECOND, a_copy_bandwidth(), device="cpu")
    assert rates is not None
    assert (rates.bytes_per_second, rates.of_copy) == (None, None)


@pytest.mark.parametrize("time", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_means_nothing_gives_no_rate(time: float) -> None:
    assert rates_of(OP, an_estimate(value=time)) is None
    assert rates_of(OP, None) is None
    assert rates_of(None, MILLISECOND) is None


@pytest.mark.parametrize("best", [0.0, math.nan, math.inf])
def test_a_bandwidth_that_means_nothing_is_no_roof(best: float) -> None:
    rates = rates_of(OP, MILLISECOND, a_copy_bandwidth(before=best, after=None), device="cpu")
    assert rates is not None
    assert rates.of_copy is None
