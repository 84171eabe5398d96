"""Speeds of two sessions: what is kept suffices, and what is said of them is right as often as promised."""

import dataclasses
import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.measurement import SPEED_PROBABILITIES, Sample, Speed
from harness.stats.change import BETWEEN_RUNS_RAW, Decision, remedy
from harness.stats.speed import compare_speeds, speed_of


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
    call = level * shared * rng.lognormal(0, noise, count)
    return Sample(
        call_ns=tuple(call.tolist()),
        peer_ns=()
        if peer is None
        else tuple((peer * shared * rng.lognormal(0, noise, count)).tolist()),
        calls_per_value=1,
        warmup_calls=0,
        timer=timer,
        seed=seed,
    )


def a_speed(
    level: float,
    *,
    seed: int = 0,
    peer: float | None = 1e6,
    mood: float = 1.0,
    noise: float = 0.005,
    count: int = 60,
    timer: str = "perf_counter_ns",
) -> Speed:
    return speed_of(
        a_sample(level, seed=seed, peer=peer, mood=mood, noise=noise, count=count, timer=timer)
    )


def test_a_speed_keeps_quantiles_worth_and_origin() -> None:
    sample = a_sample(2e6, count=200)
    speed = speed_of(sample, commit="4ef8c54", created="2026-01-02T03:04:05Z")
    assert (speed.timer, speed.rounds, speed.calls_per_value) == ("perf_counter_ns", 200, 1)
    assert (speed.commit, speed.created) == ("4ef8c54", "2026-01-02T03:04:05Z")
    assert len(speed.call_ns) == len(speed.relative) == len(SPEED_PROBABILITIES)
    assert (speed.call_ns[0], speed.call_ns[-1]) == (min(sample.call_ns), max(sample.call_ns))
    assert speed.call_ns[16] == pytest.approx(float(np.median(sample.call_ns)))
    ratios = np.divide(sample.call_ns, sample.peer_ns)
    assert speed.relative[16] == pytest.approx(float(np.median(ratios)))
    assert 100 < speed.worth <= 200
    assert speed_of(a_sample(2e6, peer=None)).relative == ()


@pytest.mark.parametrize("counts", [(200, 300), (130, 1000), (150, 150)])
@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_the_quantiles_that_are_kept_give_the_interval_of_all_values(
    counts: tuple[int, int], noise: float
) -> None:
    """Against resampling all values, to a seventh of its width: 31 quantiles are enough."""
    rng = np.random.default_rng(sum(counts))
    sides = [rng.lognormal(0, noise, count) for count in counts]
    speeds = [speed_of(of_values(side.tolist())) for side in sides]
    found = compare_speeds(speeds[0], speeds[1], margin=0.01, between_runs=0.0).ratio
    assert found is not None
    drawn = [
        np.median(side[rng.integers(0, side.size, (8000, side.size))], axis=1) for side in sides
    ]
    low, high = np.quantile(drawn[0] / drawn[1], [0.005, 0.995])
    assert found.low == pytest.approx(low, abs=0.15 * (high - low))
    assert found.high == pytest.approx(high, abs=0.15 * (high - low))


def of_values(call_ns: list[float], peer_ns: list[float] | None = None) -> Sample:
    return Sample(
        call_ns=tuple(call_ns),
        peer_ns=tuple(peer_ns or ()),
        calls_per_value=1,
        warmup_calls=0,
        timer="perf_counter_ns",
        seed=0,
    )


@pytest.mark.parametrize("counts", [(8, 8), (12, 40), (60, 60), (300, 150)])
@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_the_interval_covers_the_true_ratio_as_often_as_it_says(
    counts: tuple[int, int], noise: float
) -> None:
    rng = np.random.default_rng(sum(counts))
    covered = 0
    for _ in range(300):
        now = of_values((1.2 * rng.lognormal(0, noise, counts[0])).tolist())
        then = of_values(rng.lognormal(0, noise, counts[1]).tolist())
        change = compare_speeds(
            speed_of(now), speed_of(then), margin=0.0, confidence=0.95, between_runs=0.0
        )
        assert change.ratio is not None
        covered += change.ratio.low <= 1.2 <= change.ratio.high
    assert covered >= 272  # 95 % nominal: fewer of 300 have probability 0.001


def test_a_peer_tells_slow_code_from_a_slow_machine() -> None:
    then = a_speed(2e6, seed=1)
    slow_machine = compare_speeds(a_speed(2e6, seed=2, mood=1.4), then, margin=0.05)
    assert slow_machine.decision is Decision.UNCHANGED
    assert not slow_machine.raw
    slow_code = compare_speeds(a_speed(2.2e6, seed=2), then, margin=0.05)
    assert slow_code.decision is Decision.REGRESSED
    faster = compare_speeds(a_speed(1.8e6, seed=2, mood=1.4), then, margin=0.05)
    assert faster.decision is Decision.IMPROVED


@pytest.mark.parametrize("side", ["now", "then", "both"])
def test_without_a_peer_on_both_sides_the_comparison_is_raw(side: str) -> None:
    def peer(of: str) -> float | None:
        return None if side in (of, "both") else 1e6

    found = compare_speeds(
        a_speed(4e6, seed=2, peer=peer("now")),
        a_speed(2e6, seed=1, peer=peer("then")),
        margin=0.05,
    )
    assert found.raw
    assert found.decision is Decision.REGRESSED
    assert "a slow machine looks like slow code" in found.reason


def test_a_raw_change_within_the_moods_of_a_machine_is_inconclusive() -> None:
    now, then = a_speed(2.2e6, peer=None), a_speed(2e6, seed=1, peer=None)
    found = compare_speeds(now, then, margin=0.05)
    assert found.decision is Decision.INCONCLUSIVE
    assert "frozen peer" in found.reason
    trusting = compare_speeds(now, then, margin=0.05, between_runs=0.0)
    assert trusting.decision is Decision.REGRESSED
    assert trusting.raw


def test_two_runs_of_the_same_code_rarely_disagree_beyond_the_margin() -> None:
    """500 pairs of runs, each run with a bias of its own: false alarms stay under 1 % at a margin of 1 %."""
    chance = random.Random(0)
    alarms = 0
    for seed in range(500):
        biases = [math.exp(chance.gauss(0, 0.0058 / math.sqrt(2))) for _ in range(2)]
        runs = [a_speed(2e6 * bias, seed=2 * seed + i) for i, bias in enumerate(biases)]
        decision = compare_speeds(runs[0], runs[1], margin=0.01).decision
        alarms += decision in (Decision.REGRESSED, Decision.IMPROVED)
    assert alarms <= 5


def test_the_interval_is_as_wide_as_both_uncertainties_together() -> None:
    now, then = a_speed(2e6, peer=None), a_speed(2e6, seed=1, peer=None)
    found = compare_speeds(now, then, margin=0.05).ratio
    assert found is not None
    assert math.log(found.high / found.value) >= 1.96 * BETWEEN_RUNS_RAW


def test_speeds_of_different_timers_are_not_comparable() -> None:
    found = compare_speeds(a_speed(2e6, timer="cuda events"), a_speed(2e6), margin=0.05)
    assert found.decision is Decision.NOT_COMPARABLE
    assert found.ratio is None
    assert found.reason == "timed by cuda events now and by perf_counter_ns in the baseline"
    assert (found.p_regressed, found.p_improved) == (1.0, 1.0)
    with pytest.raises(ValueError, match="nothing was compared: timed by cuda events"):
        remedy(found, 1.05)


@pytest.mark.parametrize(
    ("call_ns", "peer_ns", "said"),
    [
        ([], None, "timings cannot be used: none were kept now"),
        ([1.0, math.nan], None, "a value is nan now, times are positive and finite"),
        ([1.0, math.inf], None, "a value is nan now"),
        ([1.0, 0.0], None, "a value is 0 now"),
        ([1.0, -2.0], None, "a value is -2 now"),
        ([1.0, 2.0], [1.0, 0.0], "a value is nan now"),
        ([1.0, 2.0], [1.0, math.inf], "a value is 0 now"),
        ([1.0, 2.0], [1.0, math.nan], "a value is nan now"),
    ],
)
def test_timings_that_cannot_be_used_are_not_comparable_and_say_why(
    call_ns: list[float], peer_ns: list[float] | None, said: str
) -> None:
    then = a_speed(2e6) if peer_ns else a_speed(2e6, peer=None)
    found = compare_speeds(speed_of(of_values(call_ns, peer_ns)), then, margin=0.05)
    assert found.decision is Decision.NOT_COMPARABLE
    assert said in found.reason


def test_a_speed_edited_by_hand_is_not_comparable() -> None:
    good = a_speed(2e6, peer=None)
    edits: list[tuple[dict[str, Any], str]] = [
        ({"call_ns": good.call_ns[1:]}, "none were kept in the baseline"),
        ({"worth": 99.0}, "60 rounds are said to be worth 99 in the baseline"),
        ({"worth": math.nan}, "said to be worth nan"),
        ({"rounds": 0}, "none were kept in the baseline"),
    ]
    for changes, said in edits:
        broken = dataclasses.replace(good, **changes)
        found = compare_speeds(good, broken, margin=0.05)
        assert found.decision is Decision.NOT_COMPARABLE
        assert said in found.reason


def test_a_peer_timed_less_often_is_refused() -> None:
    with pytest.raises(ValueError, match="2 values with 1 of the peer"):
        speed_of(of_values([1.0, 2.0], [1.0]))


def test_values_that_never_differ_are_inconclusive_since_no_timing_is_so() -> None:
    same = speed_of(of_values([5e5] * 40))
    found = compare_speeds(same, a_speed(2e6, peer=None), margin=0.05)
    assert found.decision is Decision.INCONCLUSIVE
    assert "every value is the same" in found.reason
    assert (found.p_regressed, found.p_improved) == (1.0, 1.0)


def test_too_few_values_are_inconclusive_and_say_so() -> None:
    found = compare_speeds(a_speed(9e6, count=3), a_speed(2e6), margin=0.05)
    assert found.decision is Decision.INCONCLUSIVE
    assert "too few values to be 99.0 % sure" in found.reason
    one = compare_speeds(a_speed(9e6, count=1), a_speed(2e6, count=1), margin=0.05)
    assert one.decision is Decision.INCONCLUSIVE
    assert one.p_regressed == 1.0


@pytest.mark.parametrize(
    ("level", "words"),
    [(2.3e6, "slower by more"), (1.7e6, "faster by more"), (2e6, "within the margin")],
)
def test_the_reason_gives_figures_and_words(level: float, words: str) -> None:
    found = compare_speeds(a_speed(level), a_speed(2e6, seed=1), margin=0.05)
    assert words in found.reason
    assert "the margin of 5.0 %" in found.reason
    assert "99.0 % interval" in found.reason
    assert "time longer" not in found.reason


def test_a_scattered_comparison_asks_for_the_time_that_would_decide_it() -> None:
    found = compare_speeds(a_speed(2e6, noise=0.1), a_speed(2e6, seed=1, noise=0.1), margin=0.05)
    assert found.decision is Decision.INCONCLUSIVE
    assert "the margin of 5.0 %; give it 6 times as much --seconds, then and now" in found.reason
    assert "as much --benchmark-s, then" in remedy(found, 1.05, option="--benchmark-s")
    again = compare_speeds(
        a_speed(2e6, noise=0.1, count=300),
        a_speed(2e6, seed=1, noise=0.1, count=300),
        margin=0.05,
    )
    assert again.decision is Decision.UNCHANGED


def test_time_is_not_asked_for_where_it_would_not_help() -> None:
    near = compare_speeds(a_speed(2.1e6), a_speed(2e6, seed=1), margin=0.05)
    assert near.decision is Decision.INCONCLUSIVE
    assert "unchanged code differs by 0.6 % from run to run: widen the margin" in near.reason
    wild = compare_speeds(a_speed(2e6, noise=0.5), a_speed(2e6, seed=1, noise=0.5), margin=0.05)
    assert "the values scatter too much for more time to help: pin the process" in wild.reason


def test_a_machine_that_drifts_is_told_from_values_that_scatter() -> None:
    rng = np.random.default_rng(3)
    drift = 1e6 * np.linspace(1, 3, 400) * rng.lognormal(0, 0.02, 400)
    speed, calm = speed_of(of_values(drift.tolist())), a_speed(1e6, peer=None, noise=0.001)
    found = compare_speeds(speed, calm, margin=1.0, between_runs=0.0)
    assert found.decision is Decision.INCONCLUSIVE
    assert not found.narrows
    assert "the values do not average out for more time to help" in remedy(found, 2.0)
    assert compare_speeds(calm, calm, margin=0.05).narrows


def test_the_p_value_says_the_same_as_the_interval() -> None:
    for level in np.linspace(1.9e6, 2.3e6, 60):
        found = compare_speeds(a_speed(level), a_speed(2e6, seed=1), margin=0.05)
        assert (found.decision is Decision.REGRESSED) == (found.p_regressed < 0.005)
        assert (found.decision is Decision.IMPROVED) == (found.p_improved < 0.005)


@given(st.floats(0.5, 2.0), st.integers(8, 80), st.integers(8, 80))
def test_swapping_the_sides_swaps_everything(level: float, many: int, few: int) -> None:
    one, other = a_speed(level * 1e6, count=many), a_speed(1e6, seed=1, count=few)
    there, back = (compare_speeds(*sides, margin=0.02) for sides in ((one, other), (other, one)))
    assert there.p_regressed == pytest.approx(back.p_improved, abs=1e-12)
    assert there.ratio is not None
    assert back.ratio is not None
    assert there.ratio.low == pytest.approx(1 / back.ratio.high)


@pytest.mark.parametrize("loss", [0.01, 0.0])
def test_ten_losses_of_one_per_cent_are_found_against_the_anchor_and_by_no_neighbour(
    loss: float,
) -> None:
    """Each run with a bias of its own, as measured; 20 creeps of ten steps."""
    chance = random.Random(1)
    by_neighbour = by_anchor = 0
    for creep in range(20):
        runs = [
            a_speed(
                2e6 * (1 + loss) ** step * math.exp(chance.gauss(0, 0.0058 / math.sqrt(2))),
                seed=100 * creep + step,
            )
            for step in range(11)
        ]
        for before, after in itertools.pairwise(runs):
            decision = compare_speeds(after, before, margin=0.01).decision
            by_neighbour += decision is Decision.REGRESSED
        decision = compare_speeds(runs[-1], runs[0], margin=0.01).decision
        by_anchor += decision is Decision.REGRESSED
    assert by_neighbour <= 5  # of 200
    assert by_anchor == (20 if loss else 0)
