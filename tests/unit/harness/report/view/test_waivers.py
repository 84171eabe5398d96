"""Waivers in a report: the oldest first, each with what it covers, why, and for how long."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from builders import a_check, a_failed_traffic_check, a_run, a_verdict

from harness.checks.waivers import apply_waivers
from harness.model.verdict import Run
from harness.model.waiver import Waiver
from harness.report.view.waivers import waived_count, waived_findings

SEEN = a_check(check="positive control")
OLD = Waiver(
    case="*/a*", check="traffic", reason="the vendor's copy", since="2025-01-03", until="2026-01-31"
)
YOUNG = Waiver(case="*/b", check="traffic", reason="a known leak", since="2025-11-01")


def a_waived_run() -> Run:
    verdicts = [a_verdict(SEEN, a_failed_traffic_check(), case=case) for case in ("b", "a1", "a2")]
    return apply_waivers(a_run(*verdicts), [YOUNG, OLD], date(2025, 11, 30))


def test_the_oldest_waiver_comes_first_and_lists_all_its_cases() -> None:
    old, young = waived_findings(a_waived_run())
    assert [link.label for link in old.cases] == [
        "softmax_cross_entropy/a1",
        "softmax_cross_entropy/a2",
    ]
    assert old.cases[0].anchor == "case-softmax-cross-entropy-a1"
    assert (old.since, old.age, old.until) == ("3 January 2025", "331 days", "31 January 2026")
    assert old.found == f"failed: {a_failed_traffic_check().summary}"
    assert (old.reason, old.check) == ("the vendor's copy", "traffic")
    assert young.until == "without an end"


def test_how_many_findings_do_not_count_is_said_in_a_word() -> None:
    assert waived_count(a_waived_run()) == 3
    assert waived_count(a_run(a_verdict())) == 0
    assert waived_findings(a_run(a_verdict())) == ()


def test_a_file_that_holds_any_text_for_a_date_is_shown_as_it_is() -> None:
    run = a_waived_run()
    strange = replace(OLD, since="<b>\u202e", until="soon")
    check = replace(run.verdicts[1].checks[1], waiver=strange, details=())
    (found,) = waived_findings(a_run(a_verdict(check)))
    assert (found.since, found.age, found.until) == ("<b>\\u202e", "age unknown", "soon")
    assert found.found == check.summary
