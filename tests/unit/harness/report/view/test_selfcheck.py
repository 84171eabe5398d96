"""The self-check as data: a sentence for all ops, a row for each, and what to do where none was made."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import a_run, a_self_check, a_verdict, an_estimate

from harness.model.outcome import Outcome
from harness.report.view.page import build_page
from harness.report.view.selfcheck import self_check_text, self_check_view

NOW = "2025-11-30T16:50:00+00:00"


def test_all_ops_in_one_sentence() -> None:
    checks = (
        a_self_check(key="a"),
        a_self_check(key="b", outcome=Outcome.INCONCLUSIVE, smallest=None),
        a_self_check(key="c", smallest=0.019, false_alarms=1),
    )
    view = self_check_view(checks, now=NOW)
    assert view.sentence == (
        "2 of 3 ops can be gated on this machine; 1 false alarm in 60 decisions on identical code; "
        "smallest slowdown found +1.4 % to +1.9 %; 3 h ago"
    )
    assert view.mark.style == "inconclusive"
    assert view.command == ""
    assert [op.key for op in view.ops] == ["b", "a", "c"]


def test_a_row_says_how_often_and_how_sure() -> None:
    (op,) = self_check_view((a_self_check(),), now=NOW).ops
    assert op.alarms == "0 of 20 (< 13.9 %)"
    assert op.spread == "0.14 %"
    assert [each.text for each in op.found] == ["+1.4 % in 18 of 20", "+2.0 % in 19 of 20"]
    assert [each.seen for each in op.found] == ["+1.4 %", "+2.0 %"]
    assert op.smallest == "+1.4 %"
    assert op.settings == "4 s per decision, margin 1.0 %, 95.0 % sure, on cpu"


def test_what_was_not_found_is_told_as_where_it_might_be() -> None:
    checks = (
        a_self_check(smallest=None, estimated=0.034),
        a_self_check(smallest=None, estimated=None),
        replace(a_self_check(smallest=None, estimated=None), decisions=0),
        a_self_check(smallest=None, estimated=2.2),
    )
    assert [op.smallest for op in self_check_view(checks, now=NOW).ops] == [
        "none; about +3.4 % might be",
        "none",
        "",
        "none",
    ]


def test_where_none_was_made_the_command_is_named() -> None:
    view = self_check_view((), now=NOW)
    assert view.ops == ()
    assert self_check_text(view) == (
        "none was made on this machine, so nobody knows which slowdowns it can find; "
        "make one: harness selfcheck"
    )


@pytest.mark.parametrize(
    ("created", "age"),
    [
        ("2025-11-30T16:49:00+00:00", "just now"),
        ("2025-11-30T16:20:00+00:00", "30 min ago"),
        ("2025-11-30T13:20:00+00:00", "3 h ago"),
        ("2025-11-25T13:20:00+00:00", "5 days ago"),
        ("2025-12-25T13:20:00+00:00", "just now"),  # by a clock that runs ahead
        ("2025-11-30T13:20:00", "no date known"),  # without a time zone
        ("yesterday", "no date known"),
    ],
)
def test_its_age_is_told(created: str, age: str) -> None:
    view = self_check_view((a_self_check(created=created),), now=NOW)
    assert view.ops[0].age == age
    assert view.sentence.endswith(f"; {age}")


def test_a_check_of_last_quarter_is_asked_for_again() -> None:
    view = self_check_view((a_self_check(created="2025-08-30T13:20:00+00:00"),), now=NOW)
    assert view.sentence.endswith("92 days ago, which is old")
    assert self_check_text(view).endswith("; make one: harness selfcheck")


def test_a_run_without_timings_says_nothing_of_self_checks() -> None:
    assert build_page(a_run(a_verdict())).self_check is None
    timed = build_page(a_run(a_verdict(call_time=an_estimate())))
    assert timed.self_check is not None
    assert timed.self_check.ops == ()
    known = build_page(a_run(a_verdict(), self_checks=(a_self_check(),)))
    assert known.self_check is not None
    assert len(known.self_check.ops) == 1
