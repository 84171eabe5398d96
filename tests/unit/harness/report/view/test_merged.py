"""The page of several runs as data: the worst outcome, every finding once, and what differs."""

from __future__ import annotations

from dataclasses import replace

from builders import (
    a_check,
    a_defective_record,
    a_failed_traffic_check,
    a_record,
    a_run,
    a_sample,
    a_self_check,
    a_verdict,
    an_environment,
    an_estimate,
)

from harness.model.environment import Environment
from harness.model.outcome import Outcome
from harness.model.verdict import Run
from harness.report.view.merged import build_merged, without_raw

WRONG = a_check(outcome=Outcome.FAILED, summary="loss is wrong", next_step="look")


def on(gpu: str, *, run: Run) -> Run:
    hard = {"gpu.name": gpu, "gpu.driver": "570"}
    return replace(run, environment=Environment(hard=hard, commit="0123456789abcdef", dirty=False))


def test_the_banner_has_the_worst_of_the_runs_and_the_reason_of_the_first_that_ended_so() -> None:
    good, bad = on("H100", run=a_run(a_verdict())), on("A100", run=a_run(a_verdict(WRONG)))
    page = build_merged([good, bad])
    assert page.mark.word == "failed"
    assert page.title == "FAILED · 2 runs"
    assert page.reason.startswith("1 of 2 runs failed; A100: The only case failed: loss is wrong")
    assert [run.top.exit_status for run in page.runs] == [0, 1]


def test_runs_that_passed_are_said_to_have_passed_with_advice_only() -> None:
    page = build_merged([a_run(a_verdict(traffic=a_record()))] * 2)
    assert page.reason == "Both runs passed every check"
    assert [told.step.title for told in page.steps] == ["evidence is SIMULATED"]
    assert page.steps[0].everywhere


def test_the_same_finding_in_several_runs_is_told_once_with_all_its_cases_and_runs() -> None:
    first = on("H100", run=a_run(a_verdict(WRONG, case="a"), a_verdict(WRONG, case="b")))
    second = on("A100", run=a_run(a_verdict(WRONG, case="a"), a_verdict(WRONG, case="c")))
    third = on("L4", run=a_run(a_verdict(case="a")))
    (told,) = build_merged([first, second, third]).steps
    assert told.step.title == "values failed in 3 cases"
    assert [link.anchor for link in told.step.cases] == ["row-1", "row-2", "row-3"]
    assert (told.runs, told.everywhere) == (("H100", "A100"), False)


def test_findings_that_differ_in_what_to_do_stay_apart_the_worst_first() -> None:
    open_ = a_check(check="traffic", outcome=Outcome.INCONCLUSIVE, summary="no boundary")
    first = on("H100", run=a_run(a_verdict(open_)))
    second = on("A100", run=a_run(a_verdict(a_failed_traffic_check())))
    told = build_merged([first, second]).steps
    assert [each.step.mark.word for each in told] == ["failed", "inconclusive"]
    assert told[0].step.failure.startswith("transfer limit exceeded")


def test_notes_and_blind_spots_are_told_once_with_their_runs() -> None:
    first = on("H100", run=a_run(a_verdict(), notes=("cold",)))
    second = on("A100", run=a_run(a_verdict(), notes=("cold", "warm")))
    page = build_merged([first, second])
    assert [(note.text, note.runs, note.everywhere) for note in page.notes] == [
        ("cold", ("H100", "A100"), True),
        ("warm", ("A100",), False),
    ]
    assert [spot.title for spot in page.blind_spots] == ["no traffic seen", "not timed"]


def test_facts_that_differ_are_told_for_every_run_those_that_decide_comparability_first() -> None:
    first = a_run(environment=an_environment())
    facts = Environment(hard={"cpu.model": "Zen"}, soft={}, commit="0123456789abcdef", dirty=False)
    page = build_merged([first, a_run(environment=facts)])
    assert [(fact.field, fact.hard, fact.values) for fact in page.differences] == [
        ("cpu.model", True, ("EPYC 7B13", "Zen")),
        ("python.version", True, ("3.11.9", "not recorded")),
        ("numpy.version", False, ("2.4.0", "not recorded")),
    ]
    assert page.same_facts == 2  # commit and harness


def test_cases_that_are_not_in_every_run_are_counted() -> None:
    page = build_merged(
        [a_run(a_verdict(case="a"), a_verdict(case="b")), a_run(a_verdict(case="b"))]
    )
    assert page.incomplete == 1


def test_a_title_takes_the_place_of_the_verdict_in_the_name_of_the_page() -> None:
    assert build_merged([a_run(), a_run()], title="fleet").title == "fleet"


def test_leaving_out_what_only_a_page_of_its_own_draws_changes_nothing_here() -> None:
    run = a_run(
        a_verdict(
            traffic=a_record(),
            controls=(a_defective_record(),),
            sample=a_sample(),
            call_time=an_estimate(),
        ),
        self_checks=(a_self_check(),),
    )
    light = without_raw(run)
    assert light.verdicts[0].sample is None
    assert without_raw(light) == light
    runs, lighter = [run, run], [light, light]
    assert build_merged(lighter).rows == build_merged(runs).rows
