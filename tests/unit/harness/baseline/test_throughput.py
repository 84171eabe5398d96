"""Speed against a baseline: fails only on certainty, and never for a slow machine."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from builders import a_sample, a_speed

from harness.baseline.holding import among_all, held_against
from harness.baseline.policy import Policy
from harness.baseline.throughput import (
    THROUGHPUT_CHECK,
    compare_throughput,
    origin_text,
    untimed,
)
from harness.model.measurement import Speed
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.stats.speed import speed_of

_ROUNDS = 60


def _timed(
    slowdown: float = 1.0,
    *,
    machine: float = 1.0,
    noise: float = 0.01,
    peer: bool = True,
    rounds: int = _ROUNDS,
    seed: int = 1,
) -> Speed:
    """A call of 1 ms and its peer of 0.8 ms, on a machine that is ``machine`` times slower."""
    rng = random.Random(seed)
    moods = [machine * rng.lognormvariate(0, 0.05) for _ in range(rounds)]  # what both share
    calls = [1e6 * slowdown * mood * rng.lognormvariate(0, noise) for mood in moods]
    peers = [8e5 * mood * rng.lognormvariate(0, noise) for mood in moods]
    sample = a_sample(call_ns=tuple(calls), peer_ns=tuple(peers) if peer else ())
    return speed_of(sample, commit="0123456789abcdef")


def _compared(
    then: Speed,
    now: Speed,
    *,
    fail_over: float = 0.05,
    trust_raw: bool = False,
    anchor: Speed | None = None,
    doubt: str = "",
    others: int = 0,
) -> CheckResult:
    """``now`` against a baseline of ``then``, in a run with so many other cases that have not changed."""
    policy = Policy(trust_raw=trust_raw)
    speeds = (then,) if anchor is None else (anchor, then)
    held = {"op": held_against(speeds, now, margin=fail_over, policy=policy)}
    for number in range(others):
        held[str(number)] = held_against((then,), then, margin=fail_over, policy=policy)
    judged = among_all(held, confidence=policy.confidence)["op"]
    result = compare_throughput(judged, speeds, name="main", doubt=doubt)
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


def test_the_decision_is_recorded_in_numbers_for_reports() -> None:
    change = _compared(_timed(), _timed(1.10, seed=2)).change
    assert change is not None
    assert change.ratio.low < 1.10 < change.ratio.high
    assert (change.margin, change.decision, change.raw) == (0.05, "regressed", False)
    assert change.against == "baseline 'main'"
    assert change.baseline_ns == pytest.approx(1e6, rel=0.05)
    raw = _compared(_timed(peer=False), _timed(peer=False, seed=2)).change
    assert raw is not None
    assert raw.raw
    assert _compared(_timed(), replace(_timed(), timer="another")).change is None


def test_a_slow_machine_passes_and_the_medians_show_it() -> None:
    result = _compared(_timed(), _timed(machine=1.5, seed=2))
    assert result.outcome is Outcome.PASSED
    assert result.details == (
        "median time of the call: 996 us then, 1.52 ms now",
        "median time of the frozen peer: about 799 us then, 1.21 ms now",
    )


def test_slow_code_on_a_fast_machine_fails_all_the_same() -> None:
    then, now = _timed(), _timed(1.10, machine=0.8, seed=2)
    assert then.call_ns[0] > now.call_ns[0]
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
        (1.0, 0.08, "as much --seconds, then and now"),
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
    assert ("--seconds" in result.next_step) == ("--seconds" in advice)


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
                "time longer (--seconds), then and now: 8 rounds on each side can decide"
            )


@pytest.mark.parametrize(
    ("call_ns", "says"),
    [
        ((0.0,) * 9, "a value is 0 now"),
        ((float("nan"),) * 9, "a value is nan now"),
        ((-1.0,) * 9, "a value is -1 now"),
        ((), "none were kept now"),
    ],
)
def test_times_that_cannot_be_compared_are_inconclusive_with_the_reason(
    call_ns: tuple[float, ...], says: str
) -> None:
    now = speed_of(a_sample(call_ns=call_ns))
    result = _compared(_timed(), now)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "not comparable with baseline 'main': timings cannot be used" in result.summary
    assert says in result.summary
    assert result.evidence == ""


def test_constant_times_pass_nothing() -> None:
    constant = speed_of(a_sample(call_ns=(1e6,) * 60, peer_ns=(8e5,) * 60))
    result = _compared(constant, constant)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "every value is the same" in result.summary
    assert result.next_step.startswith("give the case more work per call")
    assert result.next_step not in result.summary
    few = speed_of(a_sample(call_ns=(1e6,) * 3))
    for now in (few, constant, speed_of(a_sample(call_ns=(1e6,) * 60))):
        assert "longer" not in _compared(now, now).next_step


def test_a_clock_that_is_another_is_not_compared() -> None:
    result = _compared(_timed(), replace(_timed(), timer="cuda_event"))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "timed by cuda_event now and by perf_counter_ns in the baseline" in result.summary
    assert result.next_step == "save the baseline again: harness baseline save main --replace"


@pytest.mark.parametrize(
    ("commit", "ref"),
    [("0123456789abcdef", "0123456789abcdef"), ("0123456789abcdef-dirty", "REF"), (None, "REF")],
)
def test_where_other_load_blurs_it_both_versions_are_to_be_timed_in_one_session(
    commit: str | None, ref: str
) -> None:
    then = replace(_timed(noise=0.3), commit=commit)
    for now in (_timed(1.12, noise=0.3, seed=2), _timed(1.3, peer=False, noise=0.5, seed=2)):
        result = _compared(then, now)
        assert result.outcome in (Outcome.INCONCLUSIVE, Outcome.SKIPPED)
        assert result.next_step.endswith(f"in one session: harness compare --against {ref}")
    sharp = _compared(_timed(), _timed(1.05, seed=2))
    assert sharp.outcome is Outcome.INCONCLUSIVE
    assert "compare --against" not in sharp.next_step


def test_a_slow_step_is_named_with_the_commit_it_came_after() -> None:
    result = _compared(_timed(), _timed(1.10, seed=2), anchor=_timed(1.09, seed=3))
    assert result.outcome is Outcome.FAILED
    assert "the time per call of baseline 'main', at most" in result.summary
    assert result.summary.endswith("% since commit 0123456789ab")
    assert result.details[2].startswith("against its anchor speed (commit 0123456789ab): 1.0")
    assert result.details[2].endswith(", passed")
    assert result.next_step.endswith("harness baseline save main --replace")


def test_a_creep_is_named_with_its_anchor_and_the_save_it_was_too_much_with() -> None:
    anchor = replace(_timed(), commit="aa" * 20)
    step = replace(_timed(1.08, seed=3), commit="bb" * 20)
    now = replace(_timed(1.09, seed=2), commit="cc" * 20)
    result = _compared(step, now, anchor=anchor)
    assert result.outcome is Outcome.FAILED
    assert "the time per call of the anchor of baseline 'main', at most 1.050x" in result.summary
    assert result.summary.endswith("since commit aaaaaaaaaaaa")
    other, course, since = result.details[2:]
    assert other.startswith("against its newest speed (commit bbbbbbbbbbbb): 1.0")
    assert other.endswith(", passed")
    assert course.startswith("against the anchor, save by save: 1.0")
    assert course.endswith(" commit cccccccccccc")
    assert since == "surely beyond the 1.050x allowed since commit bbbbbbbbbbbb"
    assert result.next_step.endswith("harness baseline save main --replace --new-anchor")


def test_a_creep_that_is_too_much_only_now_says_so() -> None:
    result = _compared(_timed(1.04, seed=3), _timed(1.08, seed=2), anchor=_timed())
    assert result.outcome is Outcome.FAILED
    assert result.details[-1] == "surely beyond the 1.050x allowed since this run"


def test_an_anchor_without_a_peer_fails_nothing_and_hides_nothing() -> None:
    raw, step = _timed(peer=False), _timed(1.3, seed=3)
    result = _compared(step, _timed(1.3, seed=2), anchor=raw)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "raw times cannot tell" in result.summary
    failed = _compared(step, _timed(1.5, seed=2), anchor=raw)
    assert failed.outcome is Outcome.FAILED
    vouched = _compared(step, _timed(1.3, seed=2), anchor=raw, trust_raw=True)
    assert vouched.outcome is Outcome.FAILED
    assert "save by save: 1.3" in vouched.details[-2]


def test_a_slowdown_under_doubtful_conditions_is_inconclusive_and_a_pass_stays_one() -> None:
    reason = "the power cap held its clocks down for 9.0 % of the time"
    slow = _compared(_timed(), _timed(1.10, seed=2), doubt=reason)
    assert slow.outcome is Outcome.INCONCLUSIVE
    assert slow.summary.startswith(f"slower, but timed under doubtful conditions ({reason}): 1.1")
    assert "cool and free" in slow.next_step
    fair = _compared(_timed(), _timed(seed=2), doubt=reason)
    assert fair == _compared(_timed(), _timed(seed=2))
    unknown = _compared(_timed(), _timed(1.05, seed=2), doubt=reason)
    assert unknown.outcome is Outcome.INCONCLUSIVE


def test_a_slowdown_that_is_sure_by_itself_must_be_surer_among_many() -> None:
    slow = _timed(1.07, seed=2)
    assert _compared(_timed(), slow).outcome is Outcome.FAILED
    among = _compared(_timed(), slow, others=1000)
    assert among.outcome is Outcome.INCONCLUSIVE
    assert among.summary.startswith("cannot tell against baseline 'main': 1.0")
    assert "among 1,001 comparisons one such is to be expected by chance" in among.summary
    assert among.next_step
    assert _compared(_timed(), _timed(1.10, seed=2), others=1000).outcome is Outcome.FAILED


def test_raw_times_nobody_vouches_for_take_no_share_of_the_confidence() -> None:
    policy = Policy()
    raw = held_against((_timed(peer=False),), _timed(2.0, peer=False), margin=0.05, policy=policy)
    slow = held_against((_timed(),), _timed(1.07, seed=2), margin=0.05, policy=policy)
    many = {str(number): raw for number in range(1000)}
    (judged,) = among_all({"op": slow, **many}, confidence=0.99)["op"]
    assert judged.outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("commit", "created", "says"),
    [
        ("ab" * 20, "", "commit abababababab"),
        ("ab" * 20 + "-dirty", "", "commit abababababab-dirty"),
        (None, "2025-11-30T16:50:00Z", "the run of 2025-11-30T16:50:00Z"),
        (None, "", "a run without a commit"),
    ],
)
def test_where_a_speed_comes_from_is_said(commit: str | None, created: str, says: str) -> None:
    assert origin_text(a_speed(commit=commit, created=created)) == says


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
