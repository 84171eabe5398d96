"""What a series is worth: independent values all of it, values that resemble their neighbours less."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.bootstrap import median_interval
from harness.stats.correlation import effective_count
from harness.stats.pairs import pair_ratio_interval


def clustered(rng: np.random.Generator, count: int, *, size: int, share: float) -> np.ndarray:
    """Log-normal values around 1 in clusters of ``size``, to which ``share`` of the variance belongs."""
    shared = np.repeat(rng.normal(0, np.sqrt(share), -(-count // size)), size)[:count]
    values: np.ndarray = np.exp(0.05 * (shared + rng.normal(0, np.sqrt(1 - share), count)))
    return values


@pytest.mark.parametrize("count", [40, 200, 1000])
def test_independent_values_are_worth_what_they_are_many(count: int) -> None:
    rng = np.random.default_rng(count)
    worth = [effective_count(rng.lognormal(0, 0.1, count)) / count for _ in range(200)]
    assert np.median(worth) > 0.95
    assert np.mean(worth) > 0.85


def test_values_of_one_layout_are_worth_little_more_than_one() -> None:
    rng = np.random.default_rng(0)
    worth = [effective_count(clustered(rng, 400, size=5, share=1.0)) for _ in range(50)]
    assert 60 < np.mean(worth) < 120  # 80 layouts


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_the_interval_covers_the_truth_whatever_share_of_the_noise_a_layout_has(
    share: float,
) -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(300):
        found = median_interval(clustered(rng, 150, size=5, share=share).tolist())
        covered += found.low <= 1.0 <= found.high
    assert (
        covered >= 267
    )  # 95 % nominal, 91 % granted to an estimated correlation; P(< 267) is 0.08 there


def test_taken_as_independent_clustered_values_cover_far_too_rarely() -> None:
    """The planted defect: the same values in an order that hides whose neighbours they were."""
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(300):
        shuffled = rng.permutation(clustered(rng, 150, size=5, share=0.8))
        found = median_interval(shuffled.tolist())
        covered += found.low <= 1.0 <= found.high
    assert covered < 225


def test_a_machine_that_changes_its_mind_half_way_widens_the_interval_of_pairs() -> None:
    rng = np.random.default_rng(1)
    step = np.where(np.arange(100) < 50, 1.0, 1.05)
    peer, noise = rng.lognormal(0, 0.05, 100), rng.lognormal(0, 0.01, 100)
    steady = pair_ratio_interval((peer * noise).tolist(), peer.tolist())
    moved = pair_ratio_interval((peer * noise * step).tolist(), peer.tolist())
    assert moved.low < 1.01
    assert moved.high > 1.04
    assert steady.high - steady.low < 0.02


@given(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=120))
def test_no_series_is_worth_more_than_it_has_values_or_too_little_to_decide(
    values: list[float],
) -> None:
    worth = effective_count(np.asarray(values))
    assert min(8, len(values)) <= worth <= len(values)


@pytest.mark.parametrize("values", [[7.0] * 50, [1.0, 2.0] * 50])
def test_constant_and_alternating_values_are_taken_as_independent(values: list[float]) -> None:
    assert effective_count(np.asarray(values)) == len(values)


def test_fewer_than_thirty_values_do_not_tell() -> None:
    assert effective_count(np.arange(29.0)) == 29
    assert effective_count(np.arange(30.0)) == 8
