"""The rest of the page: environment, reproduction, blind spots, notes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from builders import (
    a_change,
    a_check,
    a_compared_verdict,
    a_defective_record,
    a_failed_traffic_check,
    a_limit,
    a_record,
    a_run,
    a_transfer,
    a_verdict,
    an_environment,
    an_estimate,
)

from harness.model.event import Site
from harness.model.measurement import Throughput
from harness.model.outcome import Evidence, Outcome
from harness.model.trace import TrafficCounts
from harness.model.traffic import traffic_lines
from harness.model.verdict import INTERRUPTED, Run
from harness.report.view.cases import Fact
from harness.report.view.page import Page, build_page


def spots_of(run: Run) -> dict[str, str]:
    return {spot.title: spot.cases for spot in build_page(run).blind_spots}


def test_the_title_says_outcome_and_run() -> None:
    page = build_page(a_run(a_verdict()))
    assert page.title == "PASSED · 20251130T165000000Z"
    assert page.subtitle == "2025-11-30T16:50:00+00:00 · took 12.3 s · harness 0.1.0"


def test_what_decides_comparability_stands_apart_from_what_explains() -> None:
    hard, soft = build_page(a_run()).fact_tables
    assert [(row.name, row.now) for row in hard.others] == [
        ("cpu.model", "EPYC 7B13"),
        ("python.version", "3.11.9"),
    ]
    assert [(row.name, row.now) for row in soft.others] == [("numpy.version", "2.4.0")]


@pytest.mark.parametrize(
    ("commit", "dirty", "text"),
    [
        ("abcdef0", False, "abcdef0"),
        ("abcdef0", True, "abcdef0 with uncommitted changes"),
        ("abcdef0", None, "abcdef0 (changes unknown)"),
        (None, None, "unknown: the code under test is in no git repository"),
    ],
)
def test_the_code_under_test_is_told(commit: str | None, dirty: bool | None, text: str) -> None:
    page = build_page(a_run(environment=an_environment(commit=commit, dirty=dirty)))
    assert page.environment == (Fact("commit", text),)


def commands_of(page: Page) -> tuple[str, ...]:
    return page.commands


def test_a_run_can_be_had_again_by_copying_two_lines() -> None:
    page = build_page(a_run(command="harness run mlp --seed 7"))
    assert commands_of(page) == ("git checkout 0123456789abcdef", "harness run mlp --seed 7")


@pytest.mark.parametrize("commit", [None, "main; rm -rf ~", "0123456789abcdef\nrm"])
def test_nothing_but_a_commit_is_offered_for_checkout(commit: str | None) -> None:
    page = build_page(a_run(environment=an_environment(commit=commit)))
    assert commands_of(page) == ("harness run",)


def test_uncommitted_changes_are_told_where_the_run_is_reproduced() -> None:
    facts = build_page(a_run(environment=an_environment(dirty=True), baseline="main")).reproduction
    assert Fact("baseline", "main") in facts
    assert Fact("seed", "0") in facts
    assert any("uncommitted changes" in fact.text for fact in facts)


def test_every_level_of_evidence_says_what_it_cannot_see() -> None:
    verdicts = [
        a_verdict(case=level.value, traffic=a_record(evidence=level, probe=level.value.lower()))
        for level in Evidence
    ]
    found = spots_of(a_run(*verdicts))
    assert list(found)[:4] == ["PROVEN", "WITNESSED", "RECORDED", "SIMULATED"]
    assert found["PROVEN"] == "softmax_cross_entropy/PROVEN"


def test_a_probe_is_named_beside_its_level() -> None:
    record = a_record(evidence=Evidence.PROVEN, probe="cupti 13.4")
    assert "PROVEN by cupti 13.4" in spots_of(a_run(a_verdict(traffic=record)))


def test_cases_nobody_watched_or_timed_are_told() -> None:
    watched = a_verdict(traffic=a_record(), call_time=an_estimate())
    found = spots_of(a_run(watched, a_verdict(case="b"), a_verdict(case="c")))
    assert found["no traffic seen"] == "2 of 3 cases"
    assert found["not timed"] == "2 of 3 cases"
    assert found["timed elsewhere"] == "softmax_cross_entropy/4096x1000-float32"


def test_a_case_timed_where_it_was_watched_is_not_told_as_timed_elsewhere() -> None:
    verdict = a_verdict(traffic=a_record(), call_time=an_estimate(), timing_device="simulated")
    assert "timed elsewhere" not in spots_of(a_run(verdict))


def test_notes_and_checks_of_the_run_are_kept() -> None:
    run = replace(a_run(notes=("bfloat16 was skipped",)), checks=a_verdict().checks)
    page = build_page(run)
    assert page.notes == ("bfloat16 was skipped",)
    assert [check.check for check in page.run_checks] == ["values"]


def test_source_lines_are_shown_relative_to_the_folder_given(tmp_path: Path) -> None:
    lines = traffic_lines([a_transfer(site=Site(str(tmp_path / "ops.py"), 3, "f"))])
    page = build_page(a_run(a_verdict(traffic=a_record(lines=lines))), relative_to=tmp_path)
    traffic = page.cases[0].traffic
    assert traffic is not None
    assert traffic.lines[0].site == "ops.py:3 in f"


def test_the_title_of_an_interrupted_run_says_so() -> None:
    stopped = a_check(check=INTERRUPTED, outcome=Outcome.INCONCLUSIVE)
    assert build_page(a_run(a_verdict(), checks=(stopped,))).title.startswith("INTERRUPTED · ")


def test_columns_that_no_case_fills_are_left_out() -> None:
    bare = a_verdict(a_check(check="test"))
    assert build_page(a_run(bare)).columns == ("case", "traffic")
    timed = a_verdict(
        traffic=a_record(),
        call_time=an_estimate(),
        throughput=Throughput(unit="samples", units_per_call=1, bytes_per_call=0),
    )
    other = a_verdict(case="b", parameters={"shape": "8x8", "dtype": "float32"})
    assert build_page(a_run(timed, other)).columns == (
        "case",
        "parameters",
        "values",
        "traffic",
        "call time",
        "throughput",
    )


@pytest.mark.parametrize(
    ("first_calls", "counted"),
    [
        ([], ""),
        ([None, None], "per warm call"),
        ([{}], "in the one recorded run"),
        ([None, {}], "per warm call, in the one recorded run"),
    ],
)
def test_what_the_counts_are_of_is_taken_from_the_records(
    first_calls: list[dict[str, TrafficCounts] | None], counted: str
) -> None:
    verdicts = (
        a_verdict(case=f"{n}", traffic=replace(a_record(first_call=first), runs=1))
        for n, first in enumerate(first_calls)
    )
    assert build_page(a_run(*verdicts)).counted == counted


def test_the_navigation_has_the_sections_there_are() -> None:
    assert "self-check" not in build_page(a_run(a_verdict())).sections
    timed = build_page(a_run(a_verdict(call_time=an_estimate(), controls=(a_defective_record(),))))
    assert "self-check" in timed.sections
    assert list(timed.sections)[:2] == ["next", "cases"]


def test_only_the_worst_cases_are_pictured_and_the_others_refer_to_a_budget_told_before() -> None:
    green = [a_verdict(case=f"c{n}", traffic=a_record()) for n in range(150)]
    bad = a_verdict(a_failed_traffic_check(), case="bad", traffic=a_defective_record())
    page = build_page(a_run(*green, bad))
    assert [case.pictured for case in page.cases] == [True] * 50 + [False] * 101
    assert page.cases[0].case == "bad"
    assert page.unpictured == 101
    assert all(case.reasons for case in page.cases[:50])
    assert all(not case.reasons for case in page.cases[50:])
    told = page.cases[50].reasons_at
    assert told is not None
    assert told.anchor == page.cases[0].anchor


def test_a_budget_of_its_own_is_told_however_many_cases_there_are() -> None:
    green = [a_verdict(case=f"c{n}", traffic=a_record()) for n in range(101)]
    own = a_record(limits={"forward": (a_limit(because="it is special"),)})
    page = build_page(a_run(*green, a_verdict(case="own", traffic=own)))
    assert page.cases[-1].case == "own"
    assert [reason.because for reason in page.cases[-1].reasons] == ["it is special"]


def test_the_filter_counts_every_outcome_there_is_and_stays_away_from_a_short_table() -> None:
    skipped = a_check(check="throughput", outcome=Outcome.SKIPPED)
    few = [a_verdict(a_check(), skipped, case=f"c{n}") for n in range(5)]
    assert not build_page(a_run(*few)).filtered
    page = build_page(a_run(*few, a_verdict()))
    assert page.filtered
    assert [(count.mark.word, count.number) for count in page.outcomes] == [
        ("skipped", 5),
        ("passed", 1),
    ]


def test_a_margin_all_cases_share_is_told_once() -> None:
    same, other = a_compared_verdict(case="a"), a_change(margin=0.02)
    assert build_page(a_run(same, a_verdict())).margin == "1.0 %"
    assert build_page(a_run(same, a_compared_verdict(case="b", change=other))).margin == ""
    assert build_page(a_run(a_verdict())).margin == ""
