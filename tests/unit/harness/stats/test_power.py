"""The smallest slowdown that would have been found: what it promises is what happens."""

import math

import numpy as np
import pytest

from harness.stats.change import Decision, compare_pairs, not_comparable
from harness.stats.power import smallest_detectable


def pairs(
    rng: np.random.Generator, count: int, ratio: float = 1.0
) -> tuple[list[float], list[float]]:
    above, below = rng.lognormal(0, 0.03, (2, count))
    return (ratio * above).tolist(), below.tolist()


@pytest.mark.parametrize("power", [0.5, 0.9])
def test_a_slowdown_of_that_size_is_found_that_often(power: float) -> None:
    rng = np.random.default_rng(0)
    changes = [compare_pairs(*pairs(rng, 150), margin=0.01) for _ in range(60)]
    smallest = float(np.median([smallest_detectable(change, power=power) for change in changes]))
    found = [
        compare_pairs(*pairs(rng, 150, 1 + smallest), margin=0.01).decision is Decision.REGRESSED
        for _ in range(300)
    ]
    assert np.mean(found) == pytest.approx(power, abs=0.06)
    smaller = [
        compare_pairs(*pairs(rng, 150, 1 + smallest / 2), margin=0.01).decision
        is Decision.REGRESSED
        for _ in range(100)
    ]
    assert np.mean(smaller) < power - 0.2


def test_it_lies_beyond_the_margin_and_shrinks_with_more_values() -> None:
    rng = np.random.default_rng(1)
    few, many = (compare_pairs(*pairs(rng, count), margin=0.02) for count in (60, 1000))
    assert smallest_detectable(few) > smallest_detectable(many) > 0.02


def test_nothing_is_detectable_where_nothing_could_be_decided() -> None:
    assert smallest_detectable(not_comparable(0.01, "another timer")) == math.inf
    assert smallest_detectable(compare_pairs([1.0, 1.1], [1.0, 1.2], margin=0.01)) == math.inf


@pytest.mark.parametrize("power", [0.0, 1.0, 90.0])
def test_a_power_that_is_no_probability_is_refused(power: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        smallest_detectable(not_comparable(0.01, ""), power=power)
