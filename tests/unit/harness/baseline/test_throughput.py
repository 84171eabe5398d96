"""Speed against a baseline: fails only on certainty, and never for a slow machine."""

from __future__ import annotations

import random

import pytest
from builders import a_sample

from harness.baseline.throughput import THROUGHPUT_CHECK, compare_throughput, untimed
from harness.model.measurement import Sample
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult

_ROUNDS = 60


def _timed(
    slowdown: float = 1.0,
    *,
    machine: float = 1.0,
    noise: float = 0.01,
    peer: bool = True,
    rounds: int = _ROUNDS,
    seed: int = 1,
) -> Sample:
    """A call of 1 ms and its peer of 0.8 ms, on a machine that is ``machine`` times slower."""
    rng = random.Random(seed)
    moods = [machine * rng.lognormvariate(0, 0.05) for _ in range(rounds)]  # what both share
    calls = [1e6 * slowdown * mood * rng.lognormvariate(0, noise) for mood in moods]
    peers = [8e5 * mood * rng.lognormvariate(0, noise) for mood in moods]
    return a_sample(call_ns=tuple(calls), peer_ns=tuple(peers) if peer else ())


def _compared(
    then: Sample, now: Sample, *, fail_over: float = 0.05, trust_raw: bool = False
) -> CheckResult:
    result = compare_throughput(then, now, name="main", fail_over=fail_over, trust_raw=trust_raw)
    assert result.check == THROUGHPUT_CHECK
    assert bool(result.next_step) == (result.outcome is not Outcome.PASSED) or "gain" in (
        result.next_step
    )
    return result


def test_slow_code_fails_with_its_interval_its_limit_and_the_loss_of_throughput() -> None:
    result = _compared(_timed(), _timed(1.10, seed=2))
    assert result.outcome is Outcome.FAILED
    assert result.summary.startswith("1.")
    assert "the time per call of baseline 'main', at most 1.050x is allowed" in result.summary
    assert "throughput -" in result.summary
    assert result.evidence == (
        "99.0 % interval of ratios to the frozen peer, 60 rounds then, 60 now, perf_counter_ns"
    )


def test_a_slow_machine_passes_and_the_medians_show_it() -> None:
    result = _compared(_timed(), _timed(machine=1.5, seed=2))
    assert result.outcome is Outcome.PASSED
    assert result.details == (
        "median time of the call: 996 us then, 1.52 ms now",
        "median time of the frozen peer: 799 us then, 1.21 ms now",
    )


def test_slow_code_on_a_fast_machine_fails_all_the_same() -> None:
    then, now = _timed(), _timed(1.10, machine=0.8, seed=2)
    assert min(then.call_ns) > min(now.call_ns)
    assert _compared(then, now).outcome is Outcome.FAILED


def test_unchanged_code_passes() -> None:
    result = _compared(_timed(), _timed(seed=2))
    assert result.outcome is Outcome.PASSED
    assert result.summary.endswith("at most 1.050x is allowed")


def test_faster_code_passes_and_says_how_to_keep_the_gain() -> None:
    result = _compared(_timed(), _timed(0.8, seed=2))
    assert result.outcome is Outcome.PASSED
    assert result.summary.startswith("faster: 0.8")
    assert "keep the gain" in result.next_step


def test_a_little_faster_passes_though_the_size_of_the_gain_is_not_certain() -> None:
    result = _compared(_timed(), _timed(0.955, seed=2))
    assert result.outcome is Outcome.PASSED
    assert "faster" not in result.summary


def test_an_interval_across_the_margin_is_inconclusive() -> None:
    result = _compared(_timed(), _timed(1.05, seed=2))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert result.summary.startswith("cannot tell: 1.0")


@pytest.mark.parametrize(
    ("slowdown", "noise", "advice"),
    [
        (1.0, 0.1, "time 9 times as long, then and now"),
        (1.05, 0.01, "from run to run: widen the margin"),
        (1.0, 0.5, "pin the process to one core"),
    ],
)
def test_time_is_asked_for_only_where_it_would_decide(
    slowdown: float, noise: float, advice: str
) -> None:
    result = _compared(_timed(noise=noise), _timed(slowdown, noise=noise, seed=2))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert advice in result.next_step
    assert ("as long" in result.next_step) == advice.startswith("time")


@pytest.mark.parametrize(("then", "now"), [(True, False), (False, True), (False, False)])
def test_a_raw_slowdown_is_inconclusive_until_the_machine_is_vouched_for(
    then: bool, now: bool
) -> None:
    before, after = _timed(peer=then, noise=0), _timed(1.5, peer=now, noise=0, seed=2)
    result = _compared(before, after)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "raw times cannot tell slow code from a slow machine" in result.summary
    assert "--trust-raw" in result.next_step
    assert "not timed" in result.details[1]
    assert _compared(before, after, trust_raw=True).outcome is Outcome.FAILED


def test_unchanged_raw_times_are_not_judged_unless_the_machine_is_vouched_for() -> None:
    then, now = _timed(peer=False), _timed(peer=False)
    result = _compared(then, now)  # runs differ by 9 % by themselves
    assert result.outcome is Outcome.SKIPPED
    assert result.summary.startswith("speed not judged: no frozen peer; 1.000x (0.")
    assert "peer(inputs, region)" in result.next_step
    assert "--trust-raw" in result.next_step
    assert _compared(then, now, trust_raw=True).outcome is Outcome.PASSED
    assert _compared(then, now, fail_over=0.2).outcome is Outcome.PASSED


def test_few_raw_rounds_are_not_judged_but_a_slowdown_beyond_them_all_is_not_hidden() -> None:
    then = _timed(peer=False)
    assert _compared(then, _timed(peer=False, rounds=3)).outcome is Outcome.SKIPPED
    slow = _compared(then, _timed(9.0, peer=False, rounds=3))
    assert slow.outcome is Outcome.INCONCLUSIVE
    assert "too few rounds" in slow.summary


def test_who_trusts_raw_times_is_not_told_to() -> None:
    then, now = _timed(peer=False, noise=0.1), _timed(1.04, peer=False, noise=0.1, seed=2)
    result = _compared(then, now, trust_raw=True)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "--trust-raw" not in result.next_step


def test_vouching_for_the_machine_changes_nothing_where_there_is_a_peer() -> None:
    then, now = _timed(), _timed(1.06, seed=2)
    assert _compared(then, now, trust_raw=True) == _compared(then, now)


def test_too_few_rounds_never_decide() -> None:
    for then, now in ((1, 60), (60, 5), (5, 5)):
        for slowdown in (0.5, 1.0, 2.0):
            result = _compared(_timed(rounds=then), _timed(slowdown, rounds=now))
            assert result.outcome is Outcome.INCONCLUSIVE
            assert result.summary.startswith("too few rounds to tell: ")
            assert result.next_step == (
                "time longer, then and now: 8 rounds on each side can decide"
            )


def test_times_that_cannot_be_compared_are_inconclusive_with_the_reason() -> None:
    result = _compared(_timed(), a_sample(call_ns=(0.0,) * 9, peer_ns=(1.0,) * 9))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "not comparable with baseline 'main': a sample cannot be used" in result.summary
    assert result.evidence == ""


@pytest.mark.parametrize(
    ("by_baseline", "outcome", "says"),
    [
        (True, Outcome.SKIPPED, "baseline 'main' has no timings of this case"),
        (False, Outcome.INCONCLUSIVE, "timed in baseline 'main', but not now"),
    ],
)
def test_a_side_without_timings_is_told(by_baseline: bool, outcome: Outcome, says: str) -> None:
    result = untimed(by_baseline=by_baseline, name="main")
    assert (result.outcome, result.summary) == (outcome, says)


def test_unchanged_code_never_fails_and_ten_percent_always_does() -> None:
    outcomes = [
        (
            _compared(_timed(seed=2 * n), _timed(seed=2 * n + 1, machine=1.3)).outcome,
            _compared(_timed(seed=2 * n), _timed(1.1, seed=2 * n + 1, machine=0.7)).outcome,
        )
        for n in range(100)
    ]
    assert set(outcomes) == {(Outcome.PASSED, Outcome.FAILED)}
