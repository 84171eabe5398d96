"""The ratio of pairs: what slows both sides cancels, what slows one call is left out, processes are values."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.stats.pairs import pair_ratio, pair_ratio_interval

POSITIVE = st.lists(st.tuples(st.floats(1e-3, 1e9), st.floats(1e-3, 1e9)), min_size=1, max_size=150)


def test_pairing_cancels_what_slows_both_sides_and_shuffled_partners_are_noticed() -> None:
    rng = np.random.default_rng(0)
    mood = np.exp(np.cumsum(rng.normal(0, 0.1, 100)))
    above = (1.05 * mood * rng.lognormal(0, 0.01, 100)).tolist()
    below = mood * rng.lognormal(0, 0.01, 100)
    paired = pair_ratio_interval(above, below.tolist())
    assert 1.04 < paired.low <= 1.05 <= paired.high < 1.06
    broken = pair_ratio_interval(above, rng.permutation(below).tolist())
    assert broken.high - broken.low > 0.1


@given(POSITIVE)
@settings(max_examples=80)
def test_an_interval_holds_its_point_and_swapping_the_sides_inverts_it(
    pairs: list[tuple[float, float]],
) -> None:
    above, below = ([pair[side] for pair in pairs] for side in (0, 1))
    found, back = pair_ratio_interval(above, below), pair_ratio_interval(below, above)
    assert 0 < found.low <= found.value <= found.high
    assert found.confidence == min(0.95, 1 - 2 ** (1 - len(pairs))) or len(pairs) >= 60
    assert back.value == pytest.approx(1 / found.value)
    assert back.low == pytest.approx(1 / found.high)


def machine(rng: np.random.Generator, count: int) -> np.ndarray:
    """Times whose noise only ever adds: a tight core, and one call in eight held up."""
    held_up = np.where(rng.random(count) < 0.12, rng.exponential(0.5, count), 0.0)
    return rng.lognormal(0, 0.01, count) + rng.exponential(0.02, count) + held_up


def test_it_is_surer_than_the_median_of_pair_ratios_where_calls_are_held_up() -> None:
    rng = np.random.default_rng(0)
    kept, plain = [], []
    for _ in range(400):
        above, below = machine(rng, 100), machine(rng, 100)
        kept.append(math.log(pair_ratio(above.tolist(), below.tolist()).estimate(0.95).value))
        plain.append(float(np.median(np.log(above / below))))
    assert np.std(kept) < 0.8 * np.std(plain)


@pytest.mark.parametrize("count", [12, 40, 100, 400])
def test_it_covers_the_true_ratio_as_often_as_it_says(count: int) -> None:
    rng = np.random.default_rng(count)
    covered = 0
    for _ in range(400):
        above, below = 1.2 * machine(rng, count), machine(rng, count)
        found = pair_ratio_interval(above.tolist(), below.tolist())
        covered += found.low <= 1.2 <= found.high
    assert covered >= 367  # 95 % nominal: fewer of 400 have probability 0.002


def by_process(
    rng: np.random.Generator, processes: int, *, apart: float, count: int = 24
) -> tuple[list[float], list[float], list[int]]:
    """Pairs of unchanged code, the ratio of each process off by what its placement of buffers makes of it."""
    off = np.repeat(rng.normal(0, apart, processes), count)
    above = np.exp(off) * rng.lognormal(0, 0.01, processes * count)
    below = rng.lognormal(0, 0.01, processes * count)
    return above.tolist(), below.tolist(), list(range(0, processes * count, count))


@pytest.mark.parametrize("processes", [2, 3, 8])
@pytest.mark.parametrize("apart", [0.0, 0.02])
def test_however_few_processes_there_are_it_alarms_no_more_often_than_it_says(
    processes: int, apart: float
) -> None:
    rng = np.random.default_rng(processes)
    alarms = apart_alarms = 0
    for _ in range(400):
        above, below, starts = by_process(rng, processes, apart=apart)
        found = pair_ratio(above, below, process_starts=starts)
        alarms += found.estimate(0.95).low > 1.0
        apart_alarms += pair_ratio_interval(above, below).low > 1.0
        assert (found.estimate(0.95).low > 1.0) == (found.p_above(1.0, confidence=0.95) < 0.025)
        assert (found.estimate(0.95).high < 1.0) == (found.p_below(1.0, confidence=0.95) < 0.025)
    assert alarms <= 20  # nominal 10 of 400; more than 20 have probability 0.002
    if apart and processes == 3:
        assert apart_alarms > 25  # the planted defect: their pairs thrown together


def test_a_process_that_was_held_up_all_along_does_not_widen_the_interval_of_eight() -> None:
    above, below, starts = by_process(np.random.default_rng(2), 8, apart=0.002)
    calm = pair_ratio(above, below, process_starts=starts).estimate(0.95)
    held_up = [value * (1.3 if index < starts[1] else 1.0) for index, value in enumerate(above)]
    found = pair_ratio(held_up, below, process_starts=starts).estimate(0.95)
    assert found.high - found.low < 2 * (calm.high - calm.low)
    assert found.low <= 1.0 <= found.high
    several = pair_ratio(held_up[: starts[4]], below[: starts[4]], process_starts=starts[:4])
    assert several.estimate(0.95).high > 1.15  # of four, who knows which is the odd one


def test_a_process_weighs_as_much_as_another_however_long_it_ran() -> None:
    above = [1.1] * 10 + [1.3] * 1000
    found = pair_ratio(above, [1.0] * 1010, process_starts=(0, 10)).estimate(0.95)
    assert found.value == pytest.approx(math.sqrt(1.1 * 1.3))


def test_constant_ratios_are_told_from_measured_ones() -> None:
    assert pair_ratio([2.0] * 50, [1.0] * 50).constant
    assert pair_ratio([2.0] * 50, [1.0] * 50, process_starts=(0, 20)).constant
    assert not pair_ratio([2.0], [1.0]).constant
    assert not pair_ratio([2.0] * 49 + [2.1], [1.0] * 50).constant
    same = pair_ratio([1.0] * 6, [1.0] * 6, process_starts=(0, 3))
    assert same.estimate(0.95).value == 1.0
    assert same.p_above(1.01, confidence=0.95) > 0.99
    assert same.p_below(1.01, confidence=0.95) < 1e-6


def test_a_ratio_that_drifts_does_not_narrow_and_one_in_clusters_does() -> None:
    rng = np.random.default_rng(0)
    drift, layouts = [], []
    for _ in range(50):
        above, below = rng.lognormal(0, 0.03, (2, 200))
        drifting = np.linspace(1, 1.3, 200) * above
        drift.append(pair_ratio(drifting.tolist(), below.tolist()).narrows)
        clustered = np.repeat(rng.uniform(0.9, 1.1, 40), 5) * above
        layouts.append(pair_ratio(clustered.tolist(), below.tolist()).narrows)
    assert np.mean(drift) < 0.05
    assert np.mean(layouts) > 0.95
    assert pair_ratio([1.0, 2.0], [1.0, 1.0]).narrows
    assert pair_ratio([1.0, 2.0], [1.0, 1.0], process_starts=(0, 1)).narrows


def test_few_pairs_carry_the_confidence_they_can_have() -> None:
    one = pair_ratio_interval([3.0], [1.0])
    assert (one.low, one.value, one.high) == pytest.approx((3.0, 3.0, 3.0))
    assert one.confidence == 0.0
    assert pair_ratio_interval([1.0, 3.0, 2.0], [1.0] * 3).confidence == 0.75


@pytest.mark.parametrize("interval", [pair_ratio, pair_ratio_interval])
@pytest.mark.parametrize("bad", [0.0, -2.0])
def test_a_ratio_refuses_values_that_are_not_positive(
    interval: Callable[..., object], bad: float
) -> None:
    with pytest.raises(ValueError, match=f"denominator: the lowest value is {bad:g}"):
        interval([1.0, 1.0], [1.0, bad])
    with pytest.raises(ValueError, match="numerator"):
        interval([1.0, bad], [1.0, 1.0])


def test_pairs_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 1 given"):
        pair_ratio_interval([1.0, 2.0], [1.0])


@pytest.mark.parametrize("starts", [(), (1,), (0, 2, 2), (0, 2, 1), (0, 3)])
def test_processes_that_do_not_follow_each_other_are_refused(starts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="do not ascend from 0 below 3 values"):
        pair_ratio([1.0] * 3, [1.0] * 3, process_starts=starts)


def test_a_confidence_that_is_no_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        pair_ratio_interval([1.0], [1.0], confidence=95)
