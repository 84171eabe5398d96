"""Stopping on precision or time, never on significance."""

import random

import pytest

from harness.benchmark.stopping import StoppingRule


def noisy(count: int, noise: float, level: float = 1e6) -> list[float]:
    chance = random.Random(count)
    return [level * (1 + noise * chance.gauss(0, 1)) for _ in range(count)]


def test_quiet_values_are_precise_and_noisy_ones_are_not() -> None:
    rule = StoppingRule(half_width=0.01)
    assert rule.precise(noisy(40, 0.001), ())
    assert not rule.precise(noisy(40, 0.2), ())


def test_with_a_peer_the_pair_ratio_decides_and_not_what_slowed_both() -> None:
    rule = StoppingRule(half_width=0.01)
    shared = noisy(40, 0.2)
    assert rule.precise(shared, [2 * value for value in shared])
    assert not rule.precise(shared, noisy(40, 0.001))


def test_too_few_values_are_never_precise() -> None:
    assert not StoppingRule(least_rounds=10).precise([1.0] * 9, ())
    assert StoppingRule(least_rounds=10).precise([1.0] * 10, ())


def test_precision_does_not_depend_on_which_side_the_ratio_lies() -> None:
    rule = StoppingRule(half_width=0.01)
    base = noisy(40, 0.001)
    verdicts = {rule.precise(noisy(40, 0.05, level), base) for level in (0.5e6, 1e6, 2e6)}
    assert len(verdicts) == 1


def test_looks_are_spaced_out() -> None:
    rule = StoppingRule(least_rounds=10)
    assert [rule.next_look(rounds) for rounds in (1, 10, 100)] == [10, 12, 125]
    assert StoppingRule(least_rounds=1).next_look(1) == 2


@pytest.mark.parametrize("limits", [{"half_width": 0.0}, {"time_cap_ns": -1}, {"least_rounds": 0}])
def test_limits_that_cannot_be_met_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must all be above 0"):
        StoppingRule(**limits)  # type: ignore[arg-type]  # the wrong values are the point
