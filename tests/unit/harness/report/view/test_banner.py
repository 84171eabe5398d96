"""The verdict in ten seconds: outcome, exit status, evidence, reason, counts."""

from __future__ import annotations

import pytest
from builders import (
    a_change,
    a_check,
    a_compared_verdict,
    a_failed_traffic_check,
    a_history,
    a_record,
    a_run,
    a_verdict,
)

from harness.errors import ExitCode
from harness.model.outcome import Evidence, Outcome
from harness.model.verdict import INTERRUPTED, CheckResult, Run, Verdict
from harness.model.waiver import Waiver
from harness.report.view.banner import Banner
from harness.report.view.page import build_page

OPEN = a_check(check="traffic", outcome=Outcome.INCONCLUSIVE, summary="cpu has no boundary")
SKIPPED = a_check(check="baseline", outcome=Outcome.SKIPPED, summary="not timed")
FAILED = a_failed_traffic_check()


def banner_of(
    *verdicts: Verdict, checks: tuple[CheckResult, ...] = (), baseline: str | None = None
) -> Banner:
    return build_page(a_run(*verdicts, checks=checks, baseline=baseline)).banner


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.PASSED, ExitCode.PASSED),
        (Outcome.SKIPPED, ExitCode.PASSED),
        (Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE),
        (Outcome.FAILED, ExitCode.FAILED),
    ],
)
def test_every_outcome_has_its_exit_status(outcome: Outcome, status: ExitCode) -> None:
    run = a_run(a_verdict(a_check(outcome=outcome)))
    assert run.exit_code == status
    assert build_page(run).banner.exit_status == status


def test_an_interrupted_run_ends_as_shells_expect() -> None:
    stopped = a_check(check="interrupted", outcome=Outcome.INCONCLUSIVE)
    assert a_run(a_verdict(), checks=(stopped,)).exit_code == 130


def test_a_pass_says_how_much_passed() -> None:
    top = banner_of(a_verdict(), a_verdict(a_check(), a_check(), case="b"))
    assert (top.mark.sign, top.mark.word) == ("✓", "passed")
    assert top.reason == "Both cases passed every check"
    assert top.checks == "3 checks in 2 cases"


def test_a_pass_against_a_baseline_names_it() -> None:
    assert banner_of(a_verdict(), baseline="main").reason == (
        "The only case passed every check, held against baseline main"
    )


def test_a_failure_names_the_first_case_and_its_reason() -> None:
    top = banner_of(
        a_verdict(case="good"), a_verdict(OPEN, case="open"), a_verdict(FAILED, case="bad")
    )
    assert top.reason == (
        "1 of 3 cases failed: softmax_cross_entropy/bad: 1 d2h within 'forward', 0 allowed "
        "(the loss stays on the device: SINGA-502)"
    )


def test_a_reason_that_all_cases_share_needs_no_case() -> None:
    top = banner_of(a_verdict(OPEN), a_verdict(OPEN, case="b"))
    assert top.reason == "Both cases are inconclusive: cpu has no boundary"


def test_when_all_cases_end_alike_for_different_reasons_the_first_is_named() -> None:
    other = a_check(check="traffic", outcome=Outcome.INCONCLUSIVE, summary="3 records lost")
    top = banner_of(a_verdict(OPEN), a_verdict(other, case="b"))
    assert top.reason == (
        "Both cases are inconclusive: first softmax_cross_entropy/4096x1000-float32: cpu has no boundary"
    )


def test_the_only_case_needs_no_name() -> None:
    assert banner_of(a_verdict(SKIPPED)).reason == "The only case was skipped: not timed"


def test_what_passed_is_told_where_something_else_was_skipped() -> None:
    untimed = a_check(check="throughput", outcome=Outcome.SKIPPED, summary="no timings")
    top = banner_of(
        a_verdict(a_check(), untimed), a_verdict(a_check(), untimed, case="b"), baseline="main"
    )
    assert (top.mark.sign, top.mark.word, top.exit_status) == ("○", "passed with skips", 0)
    assert top.reason == (
        "Every check that ran passed, held against baseline main; "
        "2 checks were skipped: throughput (no timings)"
    )
    assert top.checks == "4 checks in 2 cases: 2 skipped, 2 passed"


def test_reasons_for_skipping_beyond_two_are_counted() -> None:
    skips = [
        a_check(check=f"c{n}", outcome=Outcome.SKIPPED, summary=f"reason {n}") for n in range(4)
    ]
    assert banner_of(a_verdict(a_check(), *skips)).reason == (
        "Every check that ran passed; 4 checks were skipped: "
        "c0 (reason 0), c1 (reason 1), and for 2 more reasons"
    )


@pytest.mark.parametrize("check", ["positive control", "known defect", "timing conditions"])
def test_a_control_that_passed_does_not_make_a_skipped_case_a_pass(check: str) -> None:
    top = banner_of(a_verdict(SKIPPED, a_check(check=check)))
    assert (top.mark.word, top.reason) == ("skipped", "The only case was skipped: not timed")


def test_cases_that_passed_in_part_are_counted_apart_from_those_nobody_looked_at() -> None:
    top = banner_of(
        a_verdict(SKIPPED), a_verdict(a_check(), SKIPPED, case="b"), a_verdict(case="c")
    )
    assert [(count.mark.word, count.number) for count in top.counts] == [
        ("failed", 0),
        ("inconclusive", 0),
        ("skipped", 1),
        ("passed with skips", 1),
        ("passed", 1),
    ]


def test_how_many_checks_ended_how_is_told_unless_all_passed() -> None:
    assert banner_of(a_verdict(FAILED, a_check(), a_check(), OPEN)).checks == (
        "4 checks in 1 case: 1 failed, 1 inconclusive, 2 passed"
    )


STOPPED = a_check(
    check=INTERRUPTED, outcome=Outcome.INCONCLUSIVE, summary="interrupted after 2 of 9 cases"
)


def test_an_interrupted_run_says_what_became_of_the_cases_that_finished() -> None:
    top = banner_of(a_verdict(), a_verdict(case="b"), checks=(STOPPED,))
    assert (top.mark.sign, top.mark.word, top.exit_status) == ("?", "interrupted", 130)
    assert top.reason == (
        "Interrupted after 2 of 9 cases. Both cases that finished passed every check"
    )
    assert top.checks == "2 checks in 2 cases"


def test_a_failure_before_an_interruption_outweighs_it() -> None:
    top = banner_of(a_verdict(), a_verdict(FAILED, case="bad"), checks=(STOPPED,))
    assert (top.mark.word, top.exit_status) == ("failed", 130)
    assert top.reason.startswith(
        "Interrupted after 2 of 9 cases. 1 of 2 cases that finished failed: softmax_cross_entropy/bad"
    )


def test_a_doubt_about_the_whole_run_is_told_beside_its_interruption() -> None:
    lost = a_check(check="baseline", outcome=Outcome.INCONCLUSIVE, summary="mlp/a was not run")
    assert banner_of(a_verdict(), checks=(STOPPED, lost)).reason == (
        "Interrupted after 2 of 9 cases. A check of the whole run is inconclusive: mlp/a was not run"
    )


def test_a_run_interrupted_before_its_first_case_checked_nothing() -> None:
    assert banner_of(checks=(STOPPED,)).reason == (
        "Interrupted after 2 of 9 cases; nothing was checked"
    )


def test_a_failure_of_the_whole_run_is_told_as_one() -> None:
    lost = a_check(check="baseline", outcome=Outcome.FAILED, summary="case mlp/a is gone")
    assert banner_of(a_verdict(), checks=(lost,)).reason == (
        "A check of the whole run failed: case mlp/a is gone"
    )


@pytest.mark.parametrize(
    ("checks", "reason"),
    [
        ((), "Nothing was checked, so nothing is known"),
        ((a_check(),), "No case ran; the checks of the whole run passed"),
        ((OPEN,), "A check of the whole run is inconclusive: cpu has no boundary"),
    ],
)
def test_a_run_without_cases_is_never_told_as_cases_that_passed(
    checks: tuple[CheckResult, ...], reason: str
) -> None:
    assert banner_of(checks=checks).reason == reason


def test_every_outcome_is_counted_also_those_nothing_ended_with() -> None:
    counts = banner_of(a_verdict(FAILED), a_verdict(case="b"), a_verdict(case="c")).counts
    assert [(count.mark.word, count.number) for count in counts] == [
        ("failed", 1),
        ("inconclusive", 0),
        ("skipped", 0),
        ("passed", 2),
    ]


def test_a_case_without_any_check_is_inconclusive() -> None:
    run = a_run(Verdict(workload="w", case="c", parameters={}, checks=()))
    assert build_page(run).banner.reason == "The only case is inconclusive: no check ran"


def test_one_level_of_evidence_is_told_plainly() -> None:
    assert banner_of(a_verdict(traffic=a_record())).evidence == "SIMULATED"


def test_several_levels_are_told_strongest_first_with_their_counts() -> None:
    top = banner_of(
        a_verdict(traffic=a_record()),
        a_verdict(case="b", traffic=a_record(evidence=Evidence.PROVEN)),
        a_verdict(case="c"),
        a_verdict(case="d", traffic=a_record()),
    )
    assert top.evidence == "PROVEN in 1, SIMULATED in 2, none in 1"


def test_no_evidence_is_said_and_not_left_blank() -> None:
    assert banner_of(a_verdict()).evidence == "none (nothing watched the boundary)"


def test_two_versions_side_by_side_are_said_to_have_been_timed_and_not_to_be_unwatched() -> None:
    top = build_page(a_run(a_compared_verdict(), paired_with="main (0123456)")).banner
    assert top.evidence == "timed only"
    assert top.speed == "1 case side by side, 95.0 % intervals"
    assert build_page(a_run(a_verdict())).banner.evidence == "none (nothing watched the boundary)"


def test_a_slowdown_the_history_knows_of_is_dated() -> None:
    run = a_run(a_compared_verdict(), history=(a_history(change_at=8),), baseline="main")
    assert build_page(run).banner.since.startswith("2025-11-25 (commit 0123456789ab)")
    assert banner_of(a_verdict()).since == ""


def slowdowns(*outcomes: Outcome) -> Run:
    verdicts = [
        a_verdict(
            a_check(
                check="throughput",
                outcome=outcome,
                summary=f"{outcome.value}: {1 + n / 10:.3f}x",
                change=a_change(ratio=1 + n / 10, decision=outcome.value),
            ),
            case=f"case-{n}",
        )
        for n, outcome in enumerate(outcomes, 1)
    ]
    return a_run(*verdicts)


def test_a_figure_of_one_case_is_not_told_of_all() -> None:
    top = build_page(slowdowns(Outcome.FAILED, Outcome.FAILED)).banner
    assert top.reason == "Both cases failed; the slowest, softmax_cross_entropy/case-2: 1.200x"


def test_an_outcome_is_not_told_twice_in_a_sentence() -> None:
    top = build_page(slowdowns(Outcome.INCONCLUSIVE)).banner
    assert top.reason == "The only case is inconclusive: 1.100x"


def test_checks_that_a_waiver_skipped_are_counted_once() -> None:
    waiver = Waiver(case="*", check="values", reason="known", since="2025-11-01")
    waived = a_check(outcome=Outcome.SKIPPED, waiver=waiver)
    skipped = a_check(check="capture", outcome=Outcome.SKIPPED)

    def told(*checks: CheckResult) -> str:
        return build_page(a_run(a_verdict(*checks))).banner.checks.partition(": ")[2]

    assert told(waived, a_check()) == "1 skipped (waived), 1 passed"
    assert told(waived, waived) == "2 skipped (both waived)"
    assert told(waived, skipped) == "2 skipped (1 waived)"


def test_a_check_of_a_case_may_be_called_like_the_interruption_of_a_run() -> None:
    named = a_check(check=INTERRUPTED, outcome=Outcome.FAILED, summary="not what it seems")
    stopped = a_check(check=INTERRUPTED, outcome=Outcome.INCONCLUSIVE, summary="stopped by hand")
    banner = build_page(a_run(a_verdict(named), checks=(stopped,))).banner
    assert banner.reason.startswith("Stopped by hand. The only case that finished failed")
