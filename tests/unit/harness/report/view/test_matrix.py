"""Cases by runs: nothing blank, the worst on top, and times side by side without a judgement."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import (
    a_change,
    a_check,
    a_compared_verdict,
    a_copy_bandwidth,
    a_defective_record,
    a_record,
    a_run,
    a_verdict,
    an_estimate,
)

from harness.model.measurement import Estimate, Throughput
from harness.model.outcome import Outcome
from harness.model.verdict import Run, Verdict
from harness.model.waiver import Waiver
from harness.report.view.matrix import MatrixCell, matrix_rows, row_anchors

FAILED = a_check(check="traffic", outcome=Outcome.FAILED)


def timed(
    value: float, *, width: float = 0.01, case: str = "a", parameters: dict[str, str] | None = None
) -> Verdict:
    estimate = Estimate(
        value=value, low=value * (1 - width), high=value * (1 + width), confidence=0.95
    )
    return a_verdict(case=case, call_time=estimate, parameters=parameters)


def cells(*runs: Run, row: int = 0) -> list[MatrixCell | None]:
    return list(matrix_rows(runs)[row].cells)


def cell(run: Run, *others: Run) -> MatrixCell:
    """The cell of the last run in the only row."""
    found = cells(run, *others)[-1]
    assert found is not None
    return found


def test_a_case_that_a_run_does_not_have_is_none_there_and_the_row_says_so() -> None:
    first, second = a_run(a_verdict(case="a"), a_verdict(case="b")), a_run(a_verdict(case="b"))
    rows = matrix_rows([first, second])
    assert [(row.case, row.incomplete) for row in rows] == [("a", True), ("b", False)]
    assert rows[0].cells[1] is None


def test_a_row_with_a_failure_in_any_run_stands_above_all_that_passed() -> None:
    passed = [a_verdict(case=case) for case in "abc"]
    broken = [a_verdict(case="a"), a_verdict(case="b"), a_verdict(FAILED, case="c")]
    open_ = a_verdict(a_check(outcome=Outcome.INCONCLUSIVE), case="b")
    rows = matrix_rows([a_run(*passed), a_run(*broken), a_run(open_)])
    assert [row.case for row in rows] == ["c", "b", "a"]
    assert [row.mark.word for row in rows] == ["failed", "inconclusive", "passed"]


def test_of_rows_that_failed_alike_that_which_failed_in_more_runs_comes_first() -> None:
    once, twice = a_verdict(FAILED, case="once"), a_verdict(FAILED, case="twice")
    rows = matrix_rows([a_run(once, twice), a_run(a_verdict(case="once"), twice)])
    assert [row.case for row in rows] == ["twice", "once"]


def test_a_cell_names_the_checks_that_did_not_pass_the_worst_first() -> None:
    waiver = Waiver(case="*", check="values", reason="known", since="2025-11-01")
    verdict = a_verdict(
        a_check(check="speed", outcome=Outcome.SKIPPED),
        replace(a_check(outcome=Outcome.SKIPPED), waiver=waiver),
        FAILED,
        FAILED,
    )
    assert cell(a_run(verdict)).not_passed == "traffic, speed skipped, values waived"


def test_times_are_told_with_their_ratio_to_the_first_run_and_the_fastest_is_named() -> None:
    first, second, third = cells(*(a_run(timed(each)) for each in (2e6, 1e6, 3e6)))
    assert first is not None
    assert second is not None
    assert third is not None
    assert [each.ratio for each in (first, second, third)] == ["", "0.500x", "1.500x"]
    assert [each.fastest for each in (first, second, third)] == [False, True, False]
    assert (second.call_time, second.spread) == ("1.00 ms", "± 1.0 %")


@pytest.mark.parametrize(("width", "about"), [(0.001, False), (0.05, True)])
def test_a_ratio_whose_intervals_overlap_is_told_as_about(width: float, about: bool) -> None:
    assert cell(a_run(timed(1e6, width=width)), a_run(timed(1.02e6, width=width))).about is about


def test_a_time_that_is_no_number_has_no_ratio_and_is_nobodys_fastest() -> None:
    first, second = cells(a_run(timed(float("nan"))), a_run(timed(1e6)))
    assert first is not None
    assert second is not None
    assert (first.call_time, second.ratio, second.fastest) == ("", "", False)


def test_a_case_of_other_parameters_is_told_and_not_compared() -> None:
    small = a_run(timed(1e6, parameters={"shape": "8x10"}))
    large = a_run(timed(2e6, parameters={"shape": "64x10"}))
    found = cell(small, large)
    assert (found.ratio, found.other_parameters) == ("", "shape 64x10")


def test_traffic_is_told_where_there_was_any_and_apart_from_what_nobody_watched() -> None:
    assert cell(a_run(a_verdict())).traffic is None
    assert cell(a_run(a_verdict(traffic=a_record()))).traffic == ()
    found = cell(a_run(a_verdict(traffic=a_defective_record()))).traffic
    assert found is not None
    assert [(each.label, each.limited, each.exceeded) for each in found] == [
        ("D2H", "1 / 0", True),
        ("syncs", "1 / 0", True),
    ]


def test_what_the_run_itself_decided_about_speed_is_told_in_its_words() -> None:
    run = a_run(a_compared_verdict(change=a_change(ratio=1.05)), paired_with="main")
    assert cell(run).change == "1.050x of main (0123456789ab), regressed"


def test_throughput_is_told_in_the_unit_of_the_op_and_against_the_copies_of_its_own_run() -> None:
    moves = Throughput(unit="samples", units_per_call=4096.0, bytes_per_call=12_500_000)
    verdict = a_verdict(call_time=an_estimate(), throughput=moves)
    found = cell(a_run(verdict, copy_bandwidth=a_copy_bandwidth()))
    assert (found.throughput, found.of_copy) == ("3.28 M samples/s", "50.0 %")


def test_two_cases_of_one_name_in_a_run_are_two_rows() -> None:
    twice, once = a_run(a_verdict(), a_verdict(FAILED)), a_run(a_verdict())
    rows = matrix_rows([twice, once])
    assert [row.incomplete for row in rows] == [True, False]
    assert row_anchors([twice, once]) == (("row-1", "row-2"), ("row-1",))


def test_a_workload_that_broke_before_it_had_cases_is_a_row_too() -> None:
    assert matrix_rows([a_run(a_verdict(FAILED, case="-")), a_run()])[0].case == "no case ran"


def test_runs_without_cases_have_no_rows() -> None:
    assert matrix_rows([a_run(), a_run()]) == ()


def test_only_what_passed_with_an_interval_below_all_others_is_the_fastest() -> None:
    def fastest(*verdicts: Verdict) -> list[bool]:
        (row,) = matrix_rows([a_run(verdict) for verdict in verdicts])
        return [cell.fastest for cell in row.cells if cell is not None]

    slow = a_verdict(call_time=an_estimate(value=3e6, low=2.9e6, high=3.1e6))
    wrong = a_verdict(a_check(outcome=Outcome.FAILED), call_time=an_estimate())
    near = a_verdict(call_time=an_estimate(value=2.95e6, low=2.8e6, high=3.0e6))
    once = a_verdict(call_time=an_estimate(value=1e6, low=1e6, high=1e6))
    assert fastest(slow, a_verdict(call_time=an_estimate())) == [False, True]
    assert fastest(slow, wrong) == [False, False]
    assert fastest(slow, near) == [False, False]
    assert fastest(slow, once) == [False, False]
