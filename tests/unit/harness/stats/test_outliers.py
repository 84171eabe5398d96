"""Robust scatter: what a few disturbed values cannot move."""

import math

import numpy as np
import pytest

from harness.stats.outliers import Spread, spread


def test_normal_noise_has_its_standard_deviation() -> None:
    values = np.random.default_rng(0).normal(100.0, 2.0, 5000).tolist()
    found = spread(values)
    assert found.deviation == pytest.approx(2.0, rel=0.05)
    assert found.iqr == pytest.approx(2 * 0.6745 * 2.0, rel=0.05)
    assert found.relative == pytest.approx(0.02, rel=0.05)
    assert found.outliers == 0


def test_a_burst_is_counted_and_moves_nothing() -> None:
    quiet = np.random.default_rng(0).normal(100.0, 2.0, 100).tolist()
    disturbed = spread([*quiet[:95], *[1e6] * 5])
    assert disturbed.outliers == 5
    assert disturbed.deviation == pytest.approx(spread(quiet).deviation, rel=0.3)


def test_a_constant_or_single_value_has_no_scatter() -> None:
    nothing = Spread(median=7.0, deviation=0.0, iqr=0.0, outliers=0)
    assert spread([7.0] * 9) == nothing
    assert spread([7.0]) == nothing
    assert spread([0.0, 0.0]).relative == 0.0


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_what_is_no_sample_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one, all of them finite"):
        spread(values)
