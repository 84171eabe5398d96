"""What to do next: the worst first, said once, each with its evidence."""

from __future__ import annotations

from builders import (
    a_change,
    a_check,
    a_compared_verdict,
    a_failed_traffic_check,
    a_record,
    a_run,
    a_sample,
    a_verdict,
)

from harness.model.outcome import Evidence, Outcome
from harness.model.verdict import INTERRUPTED, Run
from harness.model.waiver import Waiver
from harness.report.view.page import build_page
from harness.report.view.steps import Step

OPEN = a_check(
    check="traffic",
    outcome=Outcome.INCONCLUSIVE,
    summary="cpu has no boundary",
    evidence="no probe",
    next_step="run on a simulated device",
)


def steps_of(run: Run) -> tuple[Step, ...]:
    return build_page(run).steps


def test_failures_come_before_what_is_open_before_what_was_skipped() -> None:
    skipped = a_check(check="baseline", outcome=Outcome.SKIPPED, summary="not timed")
    run = a_run(
        a_verdict(skipped), a_verdict(OPEN, case="b"), a_verdict(a_failed_traffic_check(), case="c")
    )
    assert [step.mark.word for step in steps_of(run)] == ["failed", "inconclusive", "skipped"]


def test_a_finding_true_of_many_cases_is_told_once_with_all_of_them() -> None:
    run = a_run(*(a_verdict(OPEN, case=case) for case in ("a", "b", "c")))
    (step,) = steps_of(run)
    assert step.title == "traffic inconclusive in 3 cases"
    assert [link.label for link in step.cases] == [
        f"softmax_cross_entropy/{case}" for case in "abc"
    ]
    assert step.evidence == "no probe"
    assert step.action == "run on a simulated device"


def test_a_case_that_fails_on_two_devices_is_one_case() -> None:
    on = [
        a_check(outcome=Outcome.FAILED, evidence=f"device {name}") for name in ("simulated", "cpu")
    ]
    (step,) = steps_of(a_run(a_verdict(*on)))
    assert step.title == "values failed in softmax_cross_entropy/4096x1000-float32"
    assert len(step.cases) == 1
    assert step.evidence == "device simulated; device cpu"


def test_cases_are_counted_and_not_their_devices() -> None:
    wrong = a_check(outcome=Outcome.FAILED)
    (step,) = steps_of(a_run(a_verdict(wrong, wrong, case="a"), a_verdict(wrong, wrong, case="b")))
    assert step.title == "values failed in 2 cases"


def test_evidence_of_its_own_in_every_case_is_counted() -> None:
    verdicts = (
        a_verdict(a_check(outcome=Outcome.FAILED, evidence=f"{n} rounds"), case=f"{n}")
        for n in range(5)
    )
    (step,) = steps_of(a_run(*verdicts))
    assert step.evidence == "0 rounds; 1 rounds; 3 more"


def test_an_interruption_is_called_by_its_name_and_points_nowhere() -> None:
    stopped = a_check(check=INTERRUPTED, outcome=Outcome.INCONCLUSIVE, summary="after 1 of 9")
    (step,) = steps_of(a_run(a_verdict(), checks=(stopped,)))
    assert step.title == "the run was interrupted"


def test_findings_that_differ_stay_apart() -> None:
    other = a_check(check="traffic", outcome=Outcome.INCONCLUSIVE, summary="3 records lost")
    assert len(steps_of(a_run(a_verdict(OPEN), a_verdict(other, case="b")))) == 2


def test_links_lead_to_the_sections_of_the_cases() -> None:
    page = build_page(a_run(a_verdict(case="good"), a_verdict(OPEN, case="open")))
    (step,) = page.steps
    assert step.cases[0].anchor == next(case.anchor for case in page.cases if case.case == "open")


def test_an_exceeded_limit_brings_its_source_line() -> None:
    (step,) = steps_of(a_run(a_verdict(a_failed_traffic_check())))
    assert "ops/host_roundtrip.py:31 in forward" in step.failure


def test_a_check_of_the_whole_run_has_no_case() -> None:
    lost = a_check(check="baseline", outcome=Outcome.FAILED, summary="case mlp/a is gone")
    (step,) = steps_of(a_run(a_verdict(), checks=(lost,)))
    assert (step.title, step.cases) == ("baseline failed", ())


def test_a_pass_without_a_baseline_is_advised_to_save_one() -> None:
    (step,) = steps_of(a_run(a_verdict(sample=a_sample())))
    assert step.mark.style == "advice"
    assert step.action == "harness baseline save NAME, then harness run --baseline NAME"


def test_a_pass_on_a_simulated_device_alone_is_advised_to_use_a_gpu() -> None:
    (step,) = steps_of(a_run(a_verdict(traffic=a_record()), baseline="main"))
    assert step.title == "evidence is SIMULATED"


def test_a_proven_pass_against_a_baseline_leaves_nothing_to_do() -> None:
    proven = a_verdict(traffic=a_record(evidence=Evidence.PROVEN), sample=a_sample())
    assert steps_of(a_run(proven, baseline="main")) == ()


def test_a_run_that_checked_nothing_says_what_to_do_and_never_that_all_is_well() -> None:
    (step,) = steps_of(a_run())
    assert (step.mark.word, step.finding) == ("inconclusive", "nothing was checked")
    assert "harness workloads" in step.action


def test_a_finding_of_ten_thousand_characters_leaves_room_for_the_next() -> None:
    endless = a_check(outcome=Outcome.FAILED, summary="x" * 10_000)
    page = build_page(a_run(a_verdict(endless)))
    assert len(page.steps[0].finding) < 700
    assert len(page.cases[0].checks[0].brief) < 300
    assert len(page.cases[0].checks[0].summary) == 10_000


def test_no_advice_stands_between_a_reader_and_a_finding() -> None:
    run = a_run(a_verdict(OPEN, traffic=a_record(), sample=a_sample()))
    assert [step.mark.word for step in steps_of(run)] == ["inconclusive"]


def test_slowdowns_of_many_cases_are_one_step_with_the_slowest_first() -> None:
    ratios = {"a": 1.02, "b": 1.5, "c": 1.1}
    run = a_run(
        *(a_compared_verdict(case=name, change=a_change(ratio=by)) for name, by in ratios.items()),
        a_compared_verdict(case="d", change=a_change(ratio=1.0), outcome=Outcome.INCONCLUSIVE),
    )
    failed, undecided = steps_of(run)
    assert failed.title == "throughput failed in 3 cases; the slowest:"
    assert failed.finding == "regressed: 1.500x the baseline's time"
    assert [link.label[-1] for link in failed.cases] == ["b", "c", "a"]
    assert undecided.title == "throughput inconclusive in softmax_cross_entropy/d"


def test_a_step_on_what_was_waived_says_what_was_found() -> None:
    waiver = Waiver(case="*", check="throughput", reason="known", since="2025-11-01")
    waived = a_check(
        outcome=Outcome.SKIPPED,
        summary="waived since 1 November 2025: known",
        details=("found, failed: 1.088x the time",),
        waiver=waiver,
    )
    (step,) = build_page(a_run(a_verdict(waived))).steps
    assert step.finding == "failed: 1.088x the time; waived since 1 November 2025: known"
