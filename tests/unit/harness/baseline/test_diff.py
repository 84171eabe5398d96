"""A run against a baseline: comparability first, then every case of either side gets its own result."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import pytest
from builders import a_sample
from hypothesis import given
from hypothesis import strategies as st

from harness.baseline.comparability import differences, soft_differences
from harness.baseline.diff import Comparison, Policy, compare_with_baseline
from harness.errors import UsageError
from harness.model.baseline import Baseline, BaselineCase
from harness.model.environment import Environment, FieldDifference
from harness.model.measurement import Throughput
from harness.model.outcome import Outcome
from harness.model.trace import TrafficCounts
from harness.model.verdict import CheckResult

_HARD = {"cpu.model": "AMD EPYC", "cpu.cores": "2"}
_WORK = Throughput(unit="samples", units_per_call=64, bytes_per_call=2560)
_TIMES = tuple(1e6 + 1e3 * (n % 7) for n in range(30))
_CASE = BaselineCase(
    key="mlp/seed0",
    parameters={"dtype": "float32"},
    traffic_device="simulated",
    timing_device="cpu",
    traffic={"run": TrafficCounts(kernels=3)},
    sample=a_sample(call_ns=_TIMES, peer_ns=_TIMES),
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


def _slower(case: BaselineCase) -> BaselineCase:
    assert case.sample is not None
    calls = tuple(2 * call for call in case.sample.call_ns)
    return replace(case, sample=replace(case.sample, call_ns=calls))


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
        (
            {"sample": a_sample(call_ns=_TIMES, peer_ns=_TIMES, timer="cuda_event")},
            "sample.timer differs",
            True,
            False,
        ),
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


def test_a_new_case_is_skipped_and_a_missing_one_makes_the_run_inconclusive() -> None:
    new = replace(_CASE, key="mlp/new")
    compared = compare_with_baseline(_a_baseline(_CASE, new), _a_baseline(_CASE, _old()))
    assert [result.outcome for result in compared.cases["mlp/new"]] == [Outcome.SKIPPED] * 2
    assert {result.summary for result in compared.cases["mlp/new"]} == {"not in baseline 'main'"}
    (missing,) = compared.run
    assert missing.check == "baseline"
    assert missing.outcome is Outcome.INCONCLUSIVE
    assert missing.summary == "mlp/old is in baseline 'main' but was not run"


def _old() -> BaselineCase:
    return replace(_CASE, key="mlp/old")


def test_the_policy_decides_what_new_and_missing_cases_mean() -> None:
    policy = Policy(new=Outcome.FAILED, missing=Outcome.SKIPPED)
    compared = compare_with_baseline(_a_baseline(_CASE), _a_baseline(_old()), policy)
    assert [result.outcome for result in compared.cases["mlp/seed0"]] == [Outcome.FAILED] * 2
    assert [result.outcome for result in compared.run] == [Outcome.SKIPPED]


def test_a_case_nobody_times_is_judged_by_its_traffic_alone() -> None:
    untimed = _a_baseline(replace(_CASE, sample=None, throughput=None, timing_device=""))
    ((traffic,),) = compare_with_baseline(untimed, untimed).cases.values()
    assert (traffic.check, traffic.outcome) == ("traffic-baseline", Outcome.PASSED)
    _, throughput = _only(compare_with_baseline(untimed, _a_baseline(_CASE)))
    assert throughput.outcome is Outcome.INCONCLUSIVE


def test_the_policy_reaches_the_decision() -> None:
    assert _CASE.sample is not None
    raw = replace(_CASE, sample=replace(_CASE.sample, peer_ns=()))
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


def test_a_thousand_cases_are_compared_in_two_seconds() -> None:
    cases = [replace(_CASE, key=f"op/{n}") for n in range(1000)]
    start = time.process_time()
    compare_with_baseline(_a_baseline(*cases), _a_baseline(*cases))
    assert time.process_time() - start < 2
