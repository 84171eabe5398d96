"""The decision: where the whole interval lies, never the estimate alone."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.measurement import Estimate, Sample
from harness.stats.change import Decision, compare_pairs, decide, remedy


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


def test_values_of_two_kinds_cancel_where_either_side_has_as_many_of_them() -> None:
    """Whoever ran first paid for page faults, four times over: the ratio is still that of the code."""
    rng = np.random.default_rng(3)
    first = rng.permutation(np.arange(400) % 2)
    call, peer = np.where(first, 3.9e6, 1.1e6), np.where(first, 1.1e6, 3.9e6)
    call, peer = call * rng.lognormal(0, 0.02, 400), peer * rng.lognormal(0, 0.02, 400)
    same = compare_pairs(call.tolist(), peer.tolist(), margin=0.05)
    assert same.decision is Decision.UNCHANGED
    slow = compare_pairs((1.1 * call).tolist(), peer.tolist(), margin=0.05)
    assert slow.decision is Decision.REGRESSED


def test_a_ratio_that_drifts_is_inconclusive_and_more_time_is_not_asked_for() -> None:
    rng = np.random.default_rng(4)
    call, peer = rng.lognormal(0, 0.02, (2, 300))
    found = compare_pairs((np.linspace(1, 1.2, 300) * call).tolist(), peer.tolist(), margin=0.1)
    assert found.decision is Decision.INCONCLUSIVE
    assert "the values do not average out for more time to help: pin the process" in found.reason


@pytest.mark.parametrize(
    ("candidate", "baseline", "said"),
    [
        ([], [], "no timings of the candidate"),
        ([1.0, 2.0], [], "no timings of the baseline"),
        ([1.0, math.nan], [1.0, 2.0], "timing 2 of 2 of the candidate is nan ns"),
        ([1.0, 2.0], [0.0, 2.0], "timing 1 of 2 of the baseline is 0 ns, times are positive"),
        ([1.0, 2.0], [1.0, -3.0], "timing 2 of 2 of the baseline is -3 ns"),
        ([math.inf, 2.0], [1.0, 3.0], "timing 1 of 2 of the candidate is inf ns"),
    ],
)
def test_timings_that_cannot_be_used_are_not_comparable_and_say_why(
    candidate: list[float], baseline: list[float], said: str
) -> None:
    found = compare_pairs(candidate, baseline, margin=0.01)
    assert found.decision is Decision.NOT_COMPARABLE
    assert said in found.reason
    assert (found.p_regressed, found.p_improved) == (1.0, 1.0)


def test_one_pair_and_constant_pairs_are_inconclusive_in_words() -> None:
    one = compare_pairs([2.0], [1.0], margin=0.01)
    assert one.decision is Decision.INCONCLUSIVE
    assert "too few values to be 95.0 % sure; time longer (--seconds)" in one.reason
    constant = compare_pairs([5e5] * 40, [4e5] * 40, margin=0.01)
    assert constant.decision is Decision.INCONCLUSIVE
    assert "every value is the same, which timings never are" in constant.reason
    assert (constant.p_regressed, constant.p_improved) == (1.0, 1.0)
    nearly = compare_pairs([5e5] * 39 + [5.01e5], [4e5] * 40, margin=0.01)
    assert nearly.decision is Decision.REGRESSED


def test_what_is_no_list_of_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match="2 and 1 given"):
        compare_pairs([1.0, 2.0], [1.0], margin=0.01)
    with pytest.raises(ValueError, match="do not ascend"):
        compare_pairs([1.0, 2.0], [1.0, 2.0], margin=0.01, process_starts=(1,))
    with pytest.raises(ValueError, match="between 0 and 1"):
        compare_pairs([1.0], [1.0], margin=0.01, confidence=95)


@pytest.mark.parametrize("count", [12, 60, 150])
@pytest.mark.parametrize("processes", [1, 3])
def test_the_p_values_say_the_same_as_the_interval(count: int, processes: int) -> None:
    rng = np.random.default_rng(count)
    starts = range(0, count, count // processes)
    for ratio in np.linspace(0.93, 1.07, 30):
        call, peer = rng.lognormal(0, 0.02, (2, count))
        found = compare_pairs(
            (ratio * call).tolist(), peer.tolist(), margin=0.02, process_starts=starts
        )
        assert (found.decision is Decision.REGRESSED) == (found.p_regressed <= 0.025)
        assert (found.decision is Decision.IMPROVED) == (found.p_improved <= 0.025)


def test_a_clear_regression_is_clear_among_thousands() -> None:
    slow = a_sample(1.3e6)
    found = compare_pairs(slow.call_ns, slow.peer_ns, margin=0.01)
    assert found.p_regressed < 1e-7
    assert found.p_improved == pytest.approx(1.0)


def test_processes_that_disagree_leave_it_open_where_one_of_them_would_not() -> None:
    rng = np.random.default_rng(5)
    call, peer = rng.lognormal(0, 0.005, (2, 27))
    biased = (np.repeat([1.04, 1.01, 1.045], 9) * call).tolist()
    together = compare_pairs(biased, peer.tolist(), margin=0.01)
    assert together.decision is Decision.REGRESSED
    apart = compare_pairs(biased, peer.tolist(), margin=0.01, process_starts=(0, 9, 18))
    assert apart.decision is Decision.INCONCLUSIVE


def test_pairs_on_the_margin_need_a_wider_margin() -> None:
    slow = a_sample(1.05e6, noise=0.002)
    found = compare_pairs(slow.call_ns, slow.peer_ns, margin=0.05)
    assert found.decision is Decision.INCONCLUSIVE
    assert "the ratio lies near the margin: widen the margin" in found.reason or (
        "scatter too much" in found.reason
    )


def test_a_clock_that_stands_still_is_no_reason_to_time_longer() -> None:
    for count in (3, 60):
        found = compare_pairs([1e6] * count, [1e6] * count, margin=0.01)
        step = remedy(found, 1.01, 1 / 1.01)
        assert step == "give the case more work per call, or time it where the clock is finer"
        assert found.reason.endswith(f"; {step}")
