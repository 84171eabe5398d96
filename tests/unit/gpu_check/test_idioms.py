"""A row of the table that costs something else on the device is listed with both sides."""

from __future__ import annotations

from gpu.findings import Outcome
from gpu.idioms import run_idioms


def a_row(**changes):
    return {"name": "row", "run": ["a.get()"], "d2h": 1, "syncs": 1, "source": "x"} | changes


def look(bench, note, found, **changes):
    run_idioms(bench, note, [a_row(**changes)])
    (finding,) = found()
    return finding


def test_a_row_that_costs_what_the_table_says_agrees(bench, note, found):
    finding = look(bench, note, found)
    assert finding.outcome is Outcome.CONFIRMED
    assert finding.item == "row"
    assert finding.seen == "1 D2H, 0 H2D, 1 syncs, 1 blocking"


def test_a_row_that_costs_a_copy_more_differs_and_names_it(bench, note, found):
    finding = look(bench, note, found, run=["(a.get(), b.get())"])
    assert finding.outcome is Outcome.DIFFERS
    assert finding.expected == "1 D2H, 0 H2D, 1 syncs, 1 blocking"
    assert finding.seen == "2 D2H, 0 H2D, 2 syncs, 2 blocking"
    assert any("cudaMemcpyAsync" in event for event in finding.details["events"])


def test_a_copy_that_blocks_where_it_should_not_differs(bench, note, found):
    finding = look(
        bench, note, found, run=["a.get(out=pageable, blocking=False)"], syncs=0, blocking=0
    )
    assert finding.outcome is Outcome.DIFFERS


def test_a_row_that_may_cost_more_may(bench, note, found):
    finding = look(bench, note, found, run=["(a.get(), b.get())"], or_more=True)
    assert finding.outcome is Outcome.CONFIRMED


def test_a_refusal_is_expected_where_the_table_says_so(bench, note, found):
    refused = {"run": ["a[: i[2]]"], "d2h": 0, "syncs": 0}
    assert look(bench, note, found, raises="TypeError", **refused).outcome is Outcome.CONFIRMED


def test_a_refusal_nobody_expects_differs(bench, note, found):
    finding = look(bench, note, found, run=["a[: i[2]]"], d2h=0, syncs=0)
    assert finding.outcome is Outcome.DIFFERS
    assert "TypeError" in finding.seen


def test_an_expected_refusal_that_does_not_come_differs(bench, note, found):
    assert look(bench, note, found, raises="ValueError").outcome is Outcome.DIFFERS


def test_a_doubt_is_no_agreement(bench, note, found):
    bench.gpu.cupti.lose = frozenset({5})
    bench.gpu.cupti.silently = True
    finding = look(bench, note, found)
    assert finding.outcome is Outcome.DIFFERS
    assert finding.seen.count(";") >= 1


def test_a_row_whose_setup_breaks_does_not_keep_the_next_from_running(bench, note, found):
    run_idioms(bench, note, [a_row(setup="a = no_such_name"), a_row(name="next")])
    assert [finding.outcome for finding in found()] == [Outcome.NOT_TRIED, Outcome.CONFIRMED]


def test_a_row_that_cannot_be_written_down_says_why(bench, note, found):
    finding = look(bench, note, found, not_expressible="there is no cold call")
    assert (finding.outcome, finding.seen) == (Outcome.NOT_TRIED, "there is no cold call")
