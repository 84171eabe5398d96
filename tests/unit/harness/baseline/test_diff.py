"""A run against a baseline: comparability first, then every case of either side gets its own result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from builders import a_check, a_record, a_run, a_sample, a_speed, a_verdict, an_environment
from hypothesis import given
from hypothesis import strategies as st
from work import calls_of

from harness.baseline.comparability import differences, soft_differences
from harness.baseline.diff import (
    Comparison,
    Policy,
    compare_run,
    compare_with_baseline,
    no_baseline,
)
from harness.baseline.promise import promised_by
from harness.errors import UsageError
from harness.model.baseline import Baseline, BaselineCase
from harness.model.environment import Environment, FieldDifference
from harness.model.measurement import Sample, Throughput
from harness.model.outcome import Evidence, Outcome
from harness.model.trace import TrafficCounts
from harness.model.verdict import TIMING_CONDITIONS, CheckResult

_HARD = {"cpu.model": "AMD EPYC", "cpu.cores": "2"}
_WORK = Throughput(unit="samples", units_per_call=64, bytes_per_call=2560)
_SPEED = a_speed(call_ns=1e6, relative=1.25)
_CASE = BaselineCase(
    key="mlp/seed0",
    parameters={"dtype": "float32"},
    traffic_device="simulated",
    timing_device="cpu",
    traffic={"run": TrafficCounts(kernels=3)},
    probe="simulated",
    evidence=Evidence.SIMULATED,
    speeds=(_SPEED,),
    throughput=_WORK,
)


def _a_baseline(
    *cases: BaselineCase, hard: Mapping[str, str] = _HARD, soft: Mapping[str, str] | None = None
) -> Baseline:
    return Baseline(
        name="main",
        created="2026-01-31T12:00:00Z",
        environment=Environment(hard=hard, soft=soft or {}),
        cases=cases,
    )


def _slower(case: BaselineCase, factor: float = 2.0) -> BaselineCase:
    """The case with its newest speed so many times as slow."""
    speed = case.speeds[-1]
    slow = replace(
        speed,
        call_ns=tuple(factor * value for value in speed.call_ns),
        relative=tuple(factor * value for value in speed.relative),
    )
    return replace(case, speeds=(*case.speeds[:-1], slow))


def _only(comparison: Comparison) -> tuple[CheckResult, CheckResult]:
    assert comparison.run == ()
    ((traffic, throughput),) = comparison.cases.values()
    assert (traffic.check, throughput.check) == ("traffic-baseline", "throughput")
    return traffic, throughput


def test_the_same_run_passes_both_checks() -> None:
    traffic, throughput = _only(compare_with_baseline(_a_baseline(_CASE), _a_baseline(_CASE)))
    assert traffic.outcome is Outcome.PASSED
    assert throughput.outcome is Outcome.PASSED


def test_each_check_catches_its_own_defect() -> None:
    leaky = replace(_CASE, traffic={"run": TrafficCounts(kernels=3, syncs=1)})
    traffic, throughput = _only(compare_with_baseline(_a_baseline(leaky), _a_baseline(_CASE)))
    assert (traffic.outcome, throughput.outcome) == (Outcome.FAILED, Outcome.PASSED)
    slow = _a_baseline(_slower(_CASE))
    traffic, throughput = _only(compare_with_baseline(slow, _a_baseline(_CASE)))
    assert (traffic.outcome, throughput.outcome) == (Outcome.PASSED, Outcome.FAILED)


@pytest.mark.parametrize(
    ("hard", "detail"),
    [
        ({**_HARD, "cpu.cores": "4"}, "cpu.cores: 2 in the baseline, 4 now"),
        ({"cpu.model": "AMD EPYC"}, "cpu.cores: 2 in the baseline, absent now"),
        ({**_HARD, "variable.X": "1"}, "variable.X: absent in the baseline, 1 now"),
        ({}, "cpu.model: AMD EPYC in the baseline, absent now"),
    ],
)
def test_another_environment_is_inconclusive_field_by_field_whatever_was_seen(
    hard: Mapping[str, str], detail: str
) -> None:
    leaky = replace(_slower(_CASE), traffic={"run": TrafficCounts(kernels=3, syncs=1)})
    for case in (_CASE, leaky):
        compared = compare_with_baseline(_a_baseline(case, hard=hard), _a_baseline(_CASE))
        for result in _only(compared):
            assert result.outcome is Outcome.INCONCLUSIVE
            assert result.summary.startswith("not comparable with baseline 'main': ")
            assert detail in result.details
            assert result.next_step
    assert "seen all the same: host waits 0 -> 1 in the whole call" in _only(compared)[0].details


def test_many_differing_fields_are_counted_in_the_sentence_and_listed_below() -> None:
    other = {f"fact.{n}": "x" for n in range(9)}
    result, _ = _only(compare_with_baseline(_a_baseline(_CASE, hard=other), _a_baseline(_CASE)))
    assert result.summary.endswith("cpu.cores, cpu.model, fact.0, fact.1 and 7 more differ")
    assert len(result.details) == 11


def test_environments_that_say_nothing_are_not_comparable() -> None:
    blank = _a_baseline(_CASE, hard={})
    for result in _only(compare_with_baseline(blank, blank)):
        assert result.outcome is Outcome.INCONCLUSIVE
        assert "neither side says which machine it ran on" in result.summary


def test_soft_facts_forbid_nothing() -> None:
    current = _a_baseline(_CASE, soft={"load.average": "9"})
    assert differences(_a_baseline().environment, current.environment) == ()
    assert soft_differences(_a_baseline().environment, current.environment) == (
        FieldDifference(field="load.average", baseline=None, current="9"),
    )
    for result in _only(compare_with_baseline(current, _a_baseline(_CASE))):
        assert result.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("change", "field", "traffic", "speed"),
    [
        ({"parameters": {"dtype": "float16"}}, "parameters.dtype differs", False, False),
        ({"traffic_device": "cuda:0"}, "traffic_device differs", False, True),
        ({"timing_device": "cuda:0"}, "timing_device differs", True, False),
        ({"timing_device": ""}, "timing_device differs", True, False),
        ({"throughput": None}, "throughput differs", True, False),
        ({"throughput": replace(_WORK, units_per_call=64.5)}, "throughput differs", True, False),
        ({"throughput": replace(_WORK, unit="images")}, "throughput differs", True, False),
        ({"speeds": (replace(_SPEED, timer="cuda_event"),)}, "timer differs", True, False),
        ({"probe": "cupti 13.4"}, "probe differs", False, True),
        ({"probe": ""}, "probe differs", False, True),
        ({"evidence": Evidence.WITNESSED}, "evidence differs", False, True),
        ({"evidence": None}, "evidence differs", False, True),
    ],
    ids=lambda value: None if isinstance(value, dict) else "",
)
def test_a_case_that_is_not_the_same_thing_is_not_compared(
    change: Mapping[str, object], field: str, traffic: bool, speed: bool
) -> None:
    now = replace(_CASE, **change)  # type: ignore[arg-type]
    results = _only(compare_with_baseline(_a_baseline(now), _a_baseline(_CASE)))
    for result, comparable in zip(results, (traffic, speed), strict=True):
        assert result.outcome is (Outcome.PASSED if comparable else Outcome.INCONCLUSIVE)
        assert comparable or field in result.summary


def test_another_version_of_the_same_probe_counts_alike() -> None:
    then, now = replace(_CASE, probe="cupti 13.4"), replace(_CASE, probe="cupti 13.5")
    traffic, _ = _only(compare_with_baseline(_a_baseline(now), _a_baseline(then)))
    assert traffic.outcome is Outcome.PASSED


def test_a_new_case_is_skipped_and_a_missing_one_makes_the_run_inconclusive() -> None:
    new = replace(_CASE, key="mlp/new")
    compared = compare_with_baseline(_a_baseline(_CASE, new), _a_baseline(_CASE, _old()))
    assert [result.outcome for result in compared.cases["mlp/new"]] == [Outcome.SKIPPED] * 2
    assert {result.summary for result in compared.cases["mlp/new"]} == {
        "not in baseline 'main'; renamed from mlp/old?"
    }
    (missing,) = compared.run
    assert missing.check == "baseline"
    assert missing.outcome is Outcome.INCONCLUSIVE
    assert missing.summary == ("mlp/old is in baseline 'main' but was not run; renamed to mlp/new?")


def _old() -> BaselineCase:
    return replace(_CASE, key="mlp/old")


def test_the_policy_decides_what_new_and_missing_cases_mean() -> None:
    policy = Policy(new=Outcome.FAILED, missing=Outcome.SKIPPED, renamed=Outcome.PASSED)
    for parameters, outcome in (({}, Outcome.SKIPPED), (_CASE.parameters, Outcome.PASSED)):
        old = replace(_old(), parameters=parameters)
        compared = compare_with_baseline(_a_baseline(_CASE), _a_baseline(old), policy)
        assert [result.outcome for result in compared.cases["mlp/seed0"]] == [Outcome.FAILED] * 2
        assert [result.outcome for result in compared.run] == [outcome]


def test_the_policy_decides_what_skipped_and_inconclusive_comparisons_mean() -> None:
    strict = Policy(skipped=Outcome.FAILED, inconclusive=Outcome.FAILED)
    raw = replace(_CASE, speeds=(a_speed(call_ns=1e6),))
    _, speed = _only(compare_with_baseline(_a_baseline(raw), _a_baseline(raw), strict))
    assert speed.outcome is Outcome.FAILED
    assert speed.details[0] == "skipped, and counted as failed (--skipped)"
    elsewhere = _a_baseline(_CASE, hard={"cpu.model": "other"})
    for policy, outcome in (
        (strict, Outcome.FAILED),
        (Policy(inconclusive=Outcome.SKIPPED), Outcome.SKIPPED),
    ):
        for result in _only(compare_with_baseline(elsewhere, _a_baseline(_CASE), policy)):
            assert result.outcome is outcome
            assert (
                f"inconclusive, and counted as {outcome.value} (--inconclusive)" in result.details
            )
    new = compare_with_baseline(_a_baseline(_CASE), _a_baseline(), strict)
    assert {result.outcome for result in new.cases["mlp/seed0"]} == {Outcome.SKIPPED}


def test_what_could_not_tell_is_never_counted_as_a_pass() -> None:
    with pytest.raises(UsageError, match="is no pass; let it count as skipped"):
        Policy(inconclusive=Outcome.PASSED)


def test_a_run_without_its_baseline_says_how_to_save_one() -> None:
    result = no_baseline("main", "baselines", outcome=Outcome.SKIPPED)
    assert (result.check, result.outcome) == ("baseline", Outcome.SKIPPED)
    assert result.summary == "no baseline 'main' in baselines, so nothing was compared"
    assert "harness baseline save main" in result.next_step


@pytest.mark.parametrize(
    ("asked", "then", "now", "slowdown", "outcome"),
    [
        (None, None, None, 1.08, Outcome.FAILED),
        (None, None, 0.2, 1.08, Outcome.PASSED),
        (None, 0.2, None, 1.08, Outcome.PASSED),
        (None, 0.2, 0.02, 1.08, Outcome.FAILED),
        (None, 0.02, 0.2, 1.08, Outcome.PASSED),
        (0.05, 0.2, 0.2, 1.08, Outcome.FAILED),
        (0.2, 0.02, 0.02, 1.08, Outcome.PASSED),
        (None, None, 0.02, 1.045, Outcome.FAILED),
    ],
)
def test_the_margin_is_the_one_asked_for_else_the_cases_own(
    asked: float | None, then: float | None, now: float | None, slowdown: float, outcome: Outcome
) -> None:
    before, after = replace(_CASE, margin=then), replace(_slower(_CASE, slowdown), margin=now)
    policy = Policy(fail_over=asked)
    _, speed = _only(compare_with_baseline(_a_baseline(after), _a_baseline(before), policy))
    assert speed.outcome is outcome
    said = [detail for detail in speed.details if detail.startswith("margin the case declares")]
    assert len(said) == (then != now)


def test_soft_facts_that_differ_are_shown_beside_a_slowdown_only() -> None:
    told = "differs too: load.average: absent in the baseline, 9 now"
    for slowdown, shown in ((1.0, False), (2.0, True)):
        current = _a_baseline(_slower(_CASE, slowdown), soft={"load.average": "9"})
        _, speed = _only(compare_with_baseline(current, _a_baseline(_CASE)))
        assert (told in speed.details) is shown


def test_a_run_is_held_against_its_own_promise_and_passes() -> None:
    verdict = a_verdict(traffic=a_record(), sample=_a_sample(), throughput=_WORK)
    run = a_run(verdict, environment=an_environment())
    results = _only(compare_run(run, promised_by(run, "main")))
    assert [result.outcome for result in results] == [Outcome.PASSED] * 2


def test_a_run_on_a_throttled_gpu_does_not_fail_for_its_speed_alone() -> None:
    doubt = a_check(check=TIMING_CONDITIONS, outcome=Outcome.INCONCLUSIVE, summary="it was shared")
    before = a_run(a_verdict(traffic=a_record(), sample=_a_sample(), throughput=_WORK))
    for checks, outcome in (((), Outcome.FAILED), ((doubt,), Outcome.INCONCLUSIVE)):
        leaky = a_record(regions={"run": TrafficCounts(kernels=3, syncs=1)})
        verdict = a_verdict(*checks, traffic=leaky, sample=_a_sample(2.0), throughput=_WORK)
        traffic, speed = _only(compare_run(a_run(verdict), promised_by(before, "main")))
        assert (traffic.outcome, speed.outcome) == (Outcome.FAILED, outcome)
        assert ("it was shared" in speed.summary) == bool(checks)


def _a_sample(slowdown: float = 1.0) -> Sample:
    peers = tuple(8e5 + 1e3 * (n % 7) for n in range(60))
    calls = tuple(slowdown * (1e6 + 1e3 * (n % 11)) for n in range(60))
    return a_sample(call_ns=calls, peer_ns=peers)


def test_a_case_nobody_times_is_judged_by_its_traffic_alone() -> None:
    untimed = _a_baseline(replace(_CASE, speeds=(), throughput=None, timing_device=""))
    ((traffic,),) = compare_with_baseline(untimed, untimed).cases.values()
    assert (traffic.check, traffic.outcome) == ("traffic-baseline", Outcome.PASSED)
    _, throughput = _only(compare_with_baseline(untimed, _a_baseline(_CASE)))
    assert throughput.outcome is Outcome.INCONCLUSIVE


def test_the_policy_reaches_the_decision() -> None:
    raw = replace(_CASE, speeds=(a_speed(call_ns=1e6, rounds=30),))
    slow, before = _a_baseline(_slower(raw)), _a_baseline(raw)
    for policy, outcome in (
        (Policy(), Outcome.INCONCLUSIVE),
        (Policy(trust_raw=True), Outcome.FAILED),
        (Policy(trust_raw=True, fail_over=3.0), Outcome.PASSED),
        (Policy(trust_raw=True, confidence=1 - 1e-12), Outcome.INCONCLUSIVE),  # 30 rounds: too few
    ):
        _, throughput = _only(compare_with_baseline(slow, before, policy))
        assert throughput.outcome is outcome


@pytest.mark.parametrize("fail_over", [-0.1, float("nan"), float("inf")])
def test_a_margin_that_is_no_fraction_is_a_usage_error(fail_over: float) -> None:
    with pytest.raises(UsageError, match=r"fail_over is .*; give a fraction of at least 0"):
        Policy(fail_over=fail_over)


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_a_confidence_that_is_no_fraction_is_a_usage_error(confidence: float) -> None:
    with pytest.raises(UsageError, match="give a fraction between 0 and 1"):
        Policy(confidence=confidence)


_keys = st.sets(st.sampled_from("abcdef"))


@given(_keys, _keys)
def test_every_case_of_either_side_gets_its_result(ran: set[str], promised: set[str]) -> None:
    compared = compare_with_baseline(
        _a_baseline(*(replace(_CASE, key=key) for key in sorted(ran))),
        _a_baseline(*(replace(_CASE, key=key) for key in sorted(promised))),
    )
    assert compared.cases.keys() == ran
    assert len(compared.run) == len(promised - ran)


def test_twice_as_many_cases_with_an_anchor_are_twice_the_work() -> None:
    cases = [replace(_CASE, key=f"op/{n}", speeds=(_SPEED,) * 3) for n in range(200)]
    whole, half = _a_baseline(*cases), _a_baseline(*cases[:100])
    work = calls_of(lambda: compare_with_baseline(whole, whole))
    assert work < 2.2 * calls_of(lambda: compare_with_baseline(half, half))
