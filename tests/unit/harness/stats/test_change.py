"""The decision: where the whole interval lies, never the estimate alone."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.measurement import Estimate, Sample
from harness.stats.change import (
    BETWEEN_RUNS_RAW,
    Decision,
    compare_pairs,
    compare_samples,
    decide,
    remedy,
)


def interval(low: float, high: float, confidence: float = 0.95) -> Estimate:
    return Estimate(value=math.sqrt(low * high), low=low, high=high, confidence=confidence)


def a_sample(
    level: float,
    *,
    seed: int = 0,
    peer: float | None = 1e6,
    mood: float = 1.0,
    noise: float = 0.005,
    count: int = 60,
    timer: str = "perf_counter_ns",
) -> Sample:
    """Times around ``level`` and of a peer around ``peer``, both slowed by the machine's ``mood``."""
    rng = np.random.default_rng(seed)
    shared = mood * rng.lognormal(0, 0.02, count)
    return Sample(
        call_ns=tuple((level * shared * rng.lognormal(0, noise, count)).tolist()),
        peer_ns=()
        if peer is None
        else tuple((peer * shared * rng.lognormal(0, noise, count)).tolist()),
        calls_per_value=1,
        warmup_calls=0,
        timer=timer,
        seed=seed,
    )


@pytest.mark.parametrize(
    ("low", "high", "decision"),
    [
        (1.021, 1.05, Decision.REGRESSED),
        (1.019, 1.05, Decision.INCONCLUSIVE),
        (0.99, 1.01, Decision.UNCHANGED),
        (0.99, 1.021, Decision.INCONCLUSIVE),
        (0.97, 1.01, Decision.INCONCLUSIVE),
        (0.5, 0.98, Decision.IMPROVED),
        (0.5, 0.99, Decision.INCONCLUSIVE),
        (0.5, 2.0, Decision.INCONCLUSIVE),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, decision: Decision) -> None:
    assert decide(interval(low, high), 0.02) is decision


def test_an_interval_less_sure_than_asked_decides_nothing() -> None:
    sure = interval(1.5, 1.6, confidence=0.95)
    assert decide(sure, 0.02) is Decision.REGRESSED
    assert decide(sure, 0.02, confidence=0.99) is Decision.INCONCLUSIVE
    assert decide(interval(1.5, 1.6, confidence=0.75), 0.02) is Decision.INCONCLUSIVE


@given(st.floats(0.2, 5), st.floats(1.0, 1.5), st.floats(0, 0.5))
def test_swapping_the_sides_swaps_the_decision(value: float, width: float, margin: float) -> None:
    swap = {Decision.REGRESSED: Decision.IMPROVED, Decision.IMPROVED: Decision.REGRESSED}
    there = interval(value / width, value * width)
    back = interval(1 / there.high, 1 / there.low)
    bounds = [1 + margin, 1 / (1 + margin)]
    if any(
        math.isclose(edge, bound) for edge in (there.low, there.high) for bound in bounds
    ):  # rounding decides
        return
    decision = decide(there, margin)
    assert decide(back, margin) is swap.get(decision, decision)


@pytest.mark.parametrize("margin", [-0.01, math.nan, math.inf])
def test_a_margin_that_makes_no_sense_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="margin is"):
        decide(interval(1, 1), margin)


def test_pairs_of_one_session_show_two_per_cent() -> None:
    slow, base = a_sample(1.03e6), a_sample(1e6)
    found = compare_pairs(slow.call_ns, slow.peer_ns, margin=0.01)
    assert found.decision is Decision.REGRESSED
    assert not found.raw
    same = compare_pairs(base.call_ns, base.peer_ns, margin=0.01)
    assert same.decision is Decision.UNCHANGED


def test_a_peer_tells_slow_code_from_a_slow_machine() -> None:
    baseline = a_sample(2e6, seed=1)
    slow_machine = compare_samples(a_sample(2e6, seed=2, mood=1.4), baseline, margin=0.05)
    assert slow_machine.decision is Decision.UNCHANGED
    assert not slow_machine.raw
    slow_code = compare_samples(a_sample(2.2e6, seed=2), baseline, margin=0.05)
    assert slow_code.decision is Decision.REGRESSED
    faster = compare_samples(a_sample(1.8e6, seed=2, mood=1.4), baseline, margin=0.05)
    assert faster.decision is Decision.IMPROVED


@pytest.mark.parametrize("side", ["candidate", "baseline", "both"])
def test_without_a_peer_on_both_sides_the_comparison_is_raw(side: str) -> None:
    def peer(of: str) -> float | None:
        return None if side in (of, "both") else 1e6

    found = compare_samples(
        a_sample(4e6, seed=2, peer=peer("candidate")),
        a_sample(2e6, seed=1, peer=peer("baseline")),
        margin=0.05,
    )
    assert found.raw
    assert found.decision is Decision.REGRESSED
    assert "a slow machine looks like slow code" in found.reason


def test_a_raw_change_within_the_moods_of_a_machine_is_inconclusive() -> None:
    candidate, baseline = a_sample(2.2e6, peer=None), a_sample(2e6, seed=1, peer=None)
    found = compare_samples(candidate, baseline, margin=0.05)
    assert found.decision is Decision.INCONCLUSIVE
    assert "frozen peer" in found.reason
    trusting = compare_samples(candidate, baseline, margin=0.05, between_runs=0.0)
    assert trusting.decision is Decision.REGRESSED
    assert trusting.raw


def test_two_runs_of_the_same_code_rarely_disagree_beyond_the_margin() -> None:
    """2000 pairs of runs, each run with a bias of its own: false alarms stay under 1 % at a margin of 1 %."""
    chance = random.Random(0)
    alarms = 0
    for seed in range(2000):
        biases = [math.exp(chance.gauss(0, 0.0058 / math.sqrt(2))) for _ in range(2)]
        runs = [a_sample(2e6 * bias, seed=2 * seed + i) for i, bias in enumerate(biases)]
        decision = compare_samples(runs[0], runs[1], margin=0.01).decision
        alarms += decision in (Decision.REGRESSED, Decision.IMPROVED)
    assert alarms <= 20


def test_the_interval_is_as_wide_as_both_uncertainties_together() -> None:
    candidate, baseline = a_sample(2e6, peer=None), a_sample(2e6, seed=1, peer=None)
    found = compare_samples(candidate, baseline, margin=0.05).ratio
    assert found is not None
    assert math.log(found.high / found.value) >= 1.96 * BETWEEN_RUNS_RAW


def test_samples_of_different_timers_are_not_comparable() -> None:
    found = compare_samples(a_sample(2e6, timer="cuda events"), a_sample(2e6), margin=0.05)
    assert found.decision is Decision.NOT_COMPARABLE
    assert found.ratio is None
    assert found.reason == "timed by cuda events now and by perf_counter_ns in the baseline"


@pytest.mark.parametrize(
    ("call_ns", "peer_ns", "said"),
    [
        ((), (), "numerator: no values given"),
        ((1.0, math.nan), (), "numerator: value 2 of 2 is nan"),
        ((1.0, 0.0), (), "numerator: the lowest value is 0"),
        ((1.0, 2.0), (1.0,), "2 values with 1 of the peer"),
        ((1.0, 2.0), (1.0, 0.0), "the peer took 0 ns"),
        ((1.0, 2.0), (1.0, math.inf), "numerator: the lowest value is 0"),
        ((1.0, 2.0), (1.0, math.nan), "numerator: value 2 of 2 is nan"),
    ],
)
def test_a_sample_that_cannot_be_used_is_not_comparable_and_says_why(
    call_ns: tuple[float, ...], peer_ns: tuple[float, ...], said: str
) -> None:
    broken = Sample(
        call_ns=call_ns,
        peer_ns=peer_ns,
        calls_per_value=1,
        warmup_calls=0,
        timer="perf_counter_ns",
        seed=0,
    )
    found = compare_samples(broken, a_sample(2e6), margin=0.05)
    assert found.decision is Decision.NOT_COMPARABLE
    assert said in found.reason


def test_too_few_values_are_inconclusive_and_say_so() -> None:
    found = compare_samples(a_sample(9e6, count=3), a_sample(2e6), margin=0.05)
    assert found.decision is Decision.INCONCLUSIVE
    assert "too few values to be 99.0 % sure" in found.reason
    one = compare_samples(a_sample(9e6, count=1), a_sample(2e6, count=1), margin=0.05)
    assert one.decision is Decision.INCONCLUSIVE


@pytest.mark.parametrize(
    ("level", "words"),
    [(2.3e6, "slower by more"), (1.7e6, "faster by more"), (2e6, "within the margin")],
)
def test_the_reason_gives_figures_and_words(level: float, words: str) -> None:
    found = compare_samples(a_sample(level), a_sample(2e6, seed=1), margin=0.05)
    assert words in found.reason
    assert "the margin of 5.0 %" in found.reason
    assert "99.0 % interval" in found.reason
    assert "time longer" not in found.reason


def test_a_scattered_comparison_asks_for_the_time_that_would_decide_it() -> None:
    found = compare_samples(a_sample(2e6, noise=0.1), a_sample(2e6, seed=1, noise=0.1), margin=0.05)
    assert found.decision is Decision.INCONCLUSIVE
    assert found.reason.endswith("the margin of 5.0 %; time 5 times as long, then and now")
    again = compare_samples(
        a_sample(2e6, noise=0.1, count=300),
        a_sample(2e6, seed=1, noise=0.1, count=300),
        margin=0.05,
    )
    assert again.decision is Decision.UNCHANGED


def test_time_is_not_asked_for_where_it_would_not_help() -> None:
    near = compare_samples(a_sample(2.1e6), a_sample(2e6, seed=1), margin=0.05)
    assert near.decision is Decision.INCONCLUSIVE
    assert "unchanged code differs by 0.6 % from run to run: widen the margin" in near.reason
    wild = compare_samples(a_sample(2e6, noise=0.5), a_sample(2e6, seed=1, noise=0.5), margin=0.05)
    assert "the values scatter too much for more time to help: pin the process" in wild.reason
    assert "as long" not in near.reason + wild.reason


def test_values_of_two_kinds_are_told_from_values_that_scatter() -> None:
    """Whoever ran first paid for page faults: hours of that say no more than seconds."""
    rng = np.random.default_rng(3)
    first = rng.permutation(np.arange(400) % 2)
    call, peer = np.where(first, 3.9e6, 1.1e6), np.where(first, 1.1e6, 3.9e6)
    found = compare_pairs(
        (call * rng.lognormal(0, 0.02, 400)).tolist(),
        (peer * rng.lognormal(0, 0.02, 400)).tolist(),
        margin=0.05,
    )
    assert found.decision is Decision.INCONCLUSIVE
    assert "the values do not average out for more time to help" in found.reason


def test_pairs_on_the_margin_need_a_wider_margin() -> None:
    slow = a_sample(1.05e6, noise=0.002)
    found = compare_pairs(slow.call_ns, slow.peer_ns, margin=0.05)
    assert found.decision is Decision.INCONCLUSIVE
    assert "the ratio lies near the margin: widen the margin" in found.reason or (
        "scatter too much" in found.reason
    )


def test_there_is_no_remedy_for_what_was_not_compared() -> None:
    found = compare_samples(a_sample(2e6, timer="cuda events"), a_sample(2e6), margin=0.05)
    with pytest.raises(ValueError, match="nothing was compared: timed by cuda events"):
        remedy(found, 1.05)
