"""A waiver accepts what was found and never hides what nobody could see."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from builders import a_check, a_failed_traffic_check, a_run, a_verdict
from hypothesis import given
from hypothesis import strategies as st

from harness.checks.waivers import (
    NEVER_WAIVED,
    WAIVABLE,
    apply_waivers,
    covers,
    day_text,
    waived,
    waiver_notes,
)
from harness.errors import ExitCode
from harness.model.outcome import Outcome
from harness.model.verdict import INTERRUPTED, CheckResult, Verdict
from harness.model.waiver import Waiver

TODAY = date(2026, 11, 30)
SEEN = a_check(check="positive control")
FAILED = a_failed_traffic_check()


def a_waiver(
    *,
    case: str = "softmax*/4096*",
    check: str = "traffic",
    since: str = "2026-01-03",
    until: str = "2026-12-31",
) -> Waiver:
    return Waiver(
        case=case, check=check, reason="cuBLAS copies its workspace", since=since, until=until
    )


def the_check(verdict: Verdict, check: str = "traffic") -> CheckResult:
    return next(result for result in verdict.checks if result.check == check)


def test_a_waived_failure_is_skipped_and_keeps_what_was_found_word_for_word() -> None:
    run = apply_waivers(a_run(a_verdict(SEEN, FAILED)), [a_waiver()], TODAY)
    result = the_check(run.verdicts[0])
    assert result.outcome is Outcome.SKIPPED
    assert result.summary == (
        "waived since 3 January 2026 (331 days) until 31 December 2026: cuBLAS copies its workspace"
    )
    assert result.details == (f"found, failed: {FAILED.summary}",)
    assert (result.violations, result.evidence) == (FAILED.violations, FAILED.evidence)
    assert result.waiver == a_waiver()
    assert run.exit_code is ExitCode.PASSED
    assert run.notes == ()


def test_without_waivers_a_run_is_what_it_was() -> None:
    run = a_run(a_verdict(SEEN, FAILED))
    assert apply_waivers(run, [], TODAY) is run


def test_the_same_failure_in_another_case_or_check_still_fails() -> None:
    for waiver in (a_waiver(case="softmax*/1024*"), a_waiver(check="capture")):
        run = apply_waivers(a_run(a_verdict(SEEN, FAILED)), [waiver], TODAY)
        assert the_check(run.verdicts[0]) == FAILED
        assert run.exit_code is ExitCode.FAILED


def test_a_waiver_that_ended_yesterday_leaves_the_failure_and_says_so() -> None:
    for until, outcome in (("2026-11-29", Outcome.FAILED), ("2026-11-30", Outcome.SKIPPED)):
        run = apply_waivers(a_run(a_verdict(SEEN, FAILED)), [a_waiver(until=until)], TODAY)
        assert run.outcome is outcome
    run = apply_waivers(a_run(a_verdict(SEEN, FAILED)), [a_waiver(until="2026-11-18")], TODAY)
    result = the_check(run.verdicts[0])
    assert result.summary == f"{FAILED.summary}; its waiver ended on 18 November 2026"
    assert result.details == (
        "its waiver ended on 18 November 2026, 12 days ago: cuBLAS copies its workspace",
    )
    assert result.waiver is None


def test_a_valid_waiver_counts_beside_one_that_has_ended() -> None:
    both = [a_waiver(until="2026-02-01"), a_waiver(case="*", until="")]
    run = apply_waivers(a_run(a_verdict(SEEN, FAILED)), both, TODAY)
    assert "without an end" in the_check(run.verdicts[0]).summary


@pytest.mark.parametrize(
    "control",
    [
        (),
        (a_check(check="positive control", outcome=Outcome.INCONCLUSIVE),),
        (SEEN, a_check(check="known defect", outcome=Outcome.INCONCLUSIVE)),
    ],
)
def test_traffic_is_never_waived_where_the_controls_were_not_seen(control) -> None:
    for outcome in (Outcome.FAILED, Outcome.INCONCLUSIVE):
        found = replace(FAILED, outcome=outcome)
        run = apply_waivers(a_run(a_verdict(*control, found)), [a_waiver()], TODAY)
        result = the_check(run.verdicts[0])
        assert result.outcome is outcome
        assert result.details[0].startswith("not waived, since nothing is known")


def test_what_was_neither_observed_nor_compared_is_never_waived() -> None:
    nothing = a_check(check="throughput", outcome=Outcome.INCONCLUSIVE, evidence="")
    noisy = replace(nothing, evidence="99 % interval")
    for found, outcome in ((nothing, Outcome.INCONCLUSIVE), (noisy, Outcome.SKIPPED)):
        run = apply_waivers(a_run(a_verdict(found)), [a_waiver(check="throughput")], TODAY)
        assert run.outcome is outcome


@given(st.sampled_from(Outcome), st.sampled_from([*NEVER_WAIVED, *WAIVABLE]))
def test_a_waiver_makes_nothing_pass_and_touches_no_check_of_the_run(outcome, check) -> None:
    found = a_check(check=check, outcome=outcome)
    stopped = a_check(check=INTERRUPTED, outcome=Outcome.INCONCLUSIVE)
    waivers = [a_waiver(case="*", check=each) for each in WAIVABLE]
    run = a_run(a_verdict(SEEN, found), checks=(stopped, replace(found, check="traffic")))
    after = apply_waivers(run, waivers, TODAY)
    assert after.checks == run.checks
    assert after.exit_code is ExitCode.INTERRUPTED
    result = the_check(after.verdicts[0], check)
    if check in NEVER_WAIVED:
        assert result.outcome is (Outcome.PASSED if check == SEEN.check else outcome)
    elif outcome in (Outcome.PASSED, Outcome.SKIPPED):
        assert result == found
    else:
        assert result.outcome is Outcome.SKIPPED


def test_every_check_is_either_waivable_or_has_a_reason_why_not() -> None:
    assert not set(WAIVABLE) & set(NEVER_WAIVED)
    assert all(NEVER_WAIVED.values())


@pytest.mark.parametrize(
    ("pattern", "key", "matches"),
    [
        ("softmax*/4096*", "softmax_cross_entropy/4096x1000-float32", True),
        ("softmax/4096", "softmax/4096x1", False),
        ("*", "a/b", True),
        ("a/?", "a/bc", False),
        ("tests/test_op.py::test_x[a-1]", "tests/test_op.py/test_x[a-1]", True),
        ("tests/test_op.py::TestA::test_x", "tests/test_op.py/TestA::test_x", True),
        ("tests/*[[]a]", "tests/t[a]", False),
        ("a.b/c", "axb/c", False),
    ],
)
def test_only_stars_and_question_marks_are_special_in_a_pattern(pattern, key, matches) -> None:
    assert covers(a_waiver(case=pattern), key, "traffic") is matches


@given(st.text(min_size=1))
def test_any_name_without_stars_matches_itself_alone(name) -> None:
    literal = name.replace("*", "").replace("?", "").replace("::", "")
    assert covers(a_waiver(case=literal), literal, "traffic")
    assert not covers(a_waiver(case=literal), f"{literal}x", "traffic")


def test_waivers_that_can_go_are_noted_and_those_in_use_are_not() -> None:
    passed = a_check(check="traffic")
    used, useless = a_waiver(case="a/used"), a_waiver(case="a/fixed", until="2026-02-01")
    gone, elsewhere = a_waiver(case="a/gone"), a_waiver(case="*", check="throughput")
    verdicts = (
        a_verdict(SEEN, FAILED, workload="a", case="used"),
        a_verdict(SEEN, passed, workload="a", case="fixed"),
    )
    waivers = [used, useless, gone, elsewhere]
    run = apply_waivers(a_run(*verdicts), waivers, TODAY)
    assert run.notes == (
        "the waiver of traffic in 'a/fixed', which has ended, is no longer needed by this run: the check passed in the "
        "case it names; take the waiver out",
        "1 waiver matched nothing in this run and may be no longer needed: traffic in 'a/gone'",
    )
    assert len(apply_waivers(a_run(*verdicts), waivers, TODAY, whole=False).notes) == 1


def test_a_waiver_written_tomorrow_somewhere_east_is_no_day_old() -> None:
    found = waived(
        FAILED, "softmax/4096", [a_waiver(since="2026-12-01")], today=TODAY, sighted=True
    )
    assert "(0 days)" in found.summary


def test_a_day_is_told_in_words() -> None:
    assert day_text(date(2026, 1, 3)) == "3 January 2026"


@pytest.mark.parametrize(
    ("day", "until", "noted"),
    [
        (date(2026, 7, 2), "", False),
        (date(2026, 7, 3), "", True),
        (date(2026, 7, 3), "2026-12-31", False),
    ],
)
def test_a_waiver_without_an_end_is_noted_once_it_is_old(
    day: date, until: str, noted: bool
) -> None:
    waiver = Waiver(
        case="a/b", check="traffic", reason="see the vendor", since="2026-01-03", until=until
    )
    notes = waiver_notes((), [waiver], today=day)
    assert [("1 waiver older than 180 days has no end; give it one" in note) for note in notes] == [
        True
    ] * noted


def test_old_waivers_without_an_end_share_one_note() -> None:
    old = [Waiver(case=case, check="traffic", reason="r", since="2025-01-03") for case in "ab"]
    (note,) = waiver_notes((), old, today=date(2026, 7, 2))
    assert note.startswith("2 waivers older than 180 days have no end; give them one")
