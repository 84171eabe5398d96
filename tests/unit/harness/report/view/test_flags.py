"""What a reader must know of a case beside its numbers."""

from __future__ import annotations

from dataclasses import replace

from builders import a_check, a_condition, a_run, a_sample, a_verdict, a_waiver

from harness.baseline.diff import compare_run
from harness.baseline.promise import promised_by
from harness.model.outcome import Outcome
from harness.model.verdict import TIMING_CONDITIONS, Verdict
from harness.report.view.flags import Flag, flags


def words(verdict: Verdict) -> list[str]:
    return [flag.word for flag in flags(verdict)]


def test_an_ordinary_case_has_none() -> None:
    sample = a_sample(call_ns=(1e6,) * 6)
    assert flags(a_verdict(sample=sample, conditions=(a_condition(),))) == ()


def test_what_was_accepted_is_told_with_its_reason_and_its_end() -> None:
    waived = a_check(check="throughput", outcome=Outcome.SKIPPED, waiver=a_waiver())
    assert flags(a_verdict(waived, waived)) == (
        Flag(
            "waived",
            "accepted for a while: throughput: slower until the driver is updated (until 2025-12-31)",
        ),
    )
    forever = replace(waived, waiver=a_waiver(until=""))
    assert "(no end)" in flags(a_verdict(forever))[0].meaning


def test_a_gpu_that_was_held_back_or_shared_is_told_in_the_words_of_the_check() -> None:
    held = a_check(
        check=TIMING_CONDITIONS, outcome=Outcome.INCONCLUSIVE, summary="the power cap held it"
    )
    hot = a_verdict(held, conditions=(a_condition(limited=("power cap",)),))
    assert flags(hot) == (Flag("disturbed", "while it was timed: the power cap held it"),)
    assert words(a_verdict(a_check(check=TIMING_CONDITIONS))) == []


def test_sensors_that_named_a_limit_flag_a_case_no_check_judged() -> None:
    readings = (a_condition(limited=("power cap",)), a_condition(at_s=1, limited=("power cap",)))
    assert flags(a_verdict(conditions=readings)) == (
        Flag("throttled", "what held the clocks back: power cap"),
    )


def test_a_case_its_baseline_does_not_have_is_new() -> None:
    run = a_run(a_verdict(case="new", sample=a_sample()), a_verdict(case="old"))
    baseline = promised_by(replace(run, verdicts=run.verdicts[1:]), "main")
    compared = compare_run(run, baseline)
    new, old = (
        replace(each, checks=compared.cases[each.key], sample=None) for each in run.verdicts
    )
    assert flags(new) == (Flag("new", "nothing to compare with: not in baseline 'main'"),)
    assert flags(old) == ()


def test_fewer_values_than_an_interval_needs_are_told_by_their_number() -> None:
    assert words(a_verdict(sample=a_sample(call_ns=(1e6,)))) == ["1 value"]
    assert words(a_verdict(sample=a_sample(call_ns=(1e6,) * 5))) == ["5 values"]
    assert words(a_verdict(sample=a_sample(call_ns=(1e6,) * 6))) == []
