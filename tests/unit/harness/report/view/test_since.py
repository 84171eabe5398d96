"""Since when a case is slower, and how sure that is."""

from __future__ import annotations

from dataclasses import replace

from builders import a_change, a_check, a_compared_verdict, a_history, a_run, a_verdict

from harness.model.history import CaseHistory, HistoryChange
from harness.model.outcome import Outcome
from harness.model.verdict import Run, Verdict
from harness.report.view.since import since_text, speed_text

KEY = "softmax_cross_entropy/4096x1000-float32"


def a_slower_run(*history: CaseHistory, verdicts: tuple[Verdict, ...] = ()) -> Run:
    return a_run(*(verdicts or (a_compared_verdict(),)), history=history, baseline="main")


def test_a_change_the_history_has_is_told_with_its_day_and_commit() -> None:
    text = since_text(a_slower_run(a_history(runs=12, change_at=8)))
    assert text == f"2025-11-25 (commit 0123456789ab), 1.050x: {KEY}"


def test_a_slowdown_no_earlier_run_shows_began_with_this_one() -> None:
    expected = "this run: the 15 runs before do not show it, the newest of 2025-11-28 "
    assert since_text(a_slower_run(a_history(runs=12, earlier=3))).startswith(expected)


def test_a_speedup_before_does_not_explain_a_slowdown() -> None:
    faster = replace(a_history(), changes=(HistoryChange(index=3, ratio=0.8),))
    assert since_text(a_slower_run(faster)).startswith("this run: the 12 runs before")


def test_this_run_in_the_history_is_not_one_before() -> None:
    only = a_history(runs=1)
    mine = replace(only, points=(replace(only.points[0], created=a_run().created),))
    assert since_text(a_slower_run(mine)) == f"this run, the first in the history of {KEY}"
    jumped = replace(mine, changes=(HistoryChange(index=0, ratio=1.1),))
    assert since_text(a_slower_run(jumped)) == f"this run, the first in the history of {KEY}"


def test_uncommitted_changes_and_a_missing_commit_are_told() -> None:
    history = a_history(change_at=8)
    for commit, dirty, told in (
        ("abc", True, "(commit abc, with uncommitted changes)"),
        (None, None, "(no commit)"),
    ):
        points = tuple(replace(each, commit=commit, dirty=dirty) for each in history.points)
        assert told in since_text(a_slower_run(replace(history, points=points)))


def test_the_worst_slowdown_that_has_a_history_is_told() -> None:
    verdicts = (
        a_compared_verdict(case="little", change=a_change(ratio=1.02)),
        a_compared_verdict(case="much", change=a_change(ratio=1.5)),
        a_compared_verdict(case="most", change=a_change(ratio=1.9)),
    )
    known = [a_history(key=f"softmax_cross_entropy/{case}") for case in ("little", "much")]
    assert since_text(a_slower_run(*known, verdicts=verdicts)).endswith("/much")


def test_nothing_is_said_where_nothing_failed_or_nothing_is_known() -> None:
    fine = a_compared_verdict(outcome=Outcome.PASSED)
    assert since_text(a_slower_run(a_history(change_at=3), verdicts=(fine,))) == ""
    assert since_text(a_slower_run()) == ""
    assert since_text(a_run(a_verdict(), history=(a_history(),))) == ""


def test_how_sure_speeds_are_is_told_with_how_they_were_compared() -> None:
    change = a_change()
    surer = replace(change, ratio=replace(change.ratio, confidence=0.99))
    verdicts = (a_compared_verdict(), a_compared_verdict(case="b", change=surer))
    assert speed_text(a_run(*verdicts, paired_with="main")) == (
        "2 cases side by side, 95.0 % intervals"
    )
    assert speed_text(a_run(verdicts[1], baseline="main")) == (
        "1 case against a baseline, 99.0 % intervals"
    )
    assert speed_text(a_run(a_verdict())) == ""


def test_speeds_that_nobody_judged_are_not_told_as_held_against_a_baseline() -> None:
    def told(*outcomes: Outcome) -> str:
        checks = [a_check(outcome=outcome, change=a_change()) for outcome in outcomes]
        return speed_text(a_run(*map(a_verdict, checks)))

    assert told(Outcome.SKIPPED, Outcome.SKIPPED) == "none of 2 judged against a baseline"
    assert told(Outcome.SKIPPED, Outcome.PASSED).startswith("1 of 2 cases judged against")
