"""The last lines say what held, what did not, and what nobody looked at."""

from __future__ import annotations

import pytest
from gpu.findings import Finding, Outcome
from gpu.runner import Ended, Ending
from gpu.table import difference_lines, exit_code, table_lines

from harness.errors import ExitCode

WHOLE = frozenset({"checklist"})


def a_finding(outcome: Outcome, *, item: str = "1 reads", about: str = "copies", **more) -> Finding:
    return Finding(item=item, about=about, outcome=outcome, expected="none", seen="one", **more)


def a_section(
    *findings: Finding, name: str = "checklist", ending: Ending = Ending.FINISHED, **more
):
    return Ended(name=name, ending=ending, findings=findings, **more)


CONFIRMED = a_finding(Outcome.CONFIRMED)
NOT_TRIED = a_finding(Outcome.NOT_TRIED, item="2 waits")
DIFFERS = a_finding(Outcome.DIFFERS, item="3 graphs")
MEASURED = a_finding(Outcome.MEASURED)


@pytest.mark.parametrize(
    ("sections", "status"),
    [
        ([a_section(CONFIRMED)], ExitCode.PASSED),
        ([a_section(CONFIRMED), a_section(MEASURED, name="bandwidth")], ExitCode.PASSED),
        ([a_section(CONFIRMED), a_section(DIFFERS, name="idioms")], ExitCode.FAILED),
        ([a_section(CONFIRMED, NOT_TRIED)], ExitCode.INCONCLUSIVE),
        ([a_section(CONFIRMED, NOT_TRIED, name="idioms")], ExitCode.PASSED),
        ([a_section(NOT_TRIED, name="idioms")], ExitCode.INCONCLUSIVE),
        ([a_section()], ExitCode.INCONCLUSIVE),
        ([a_section(CONFIRMED, ending=Ending.TIME_LIMIT)], ExitCode.INCONCLUSIVE),
        ([a_section(CONFIRMED, DIFFERS, ending=Ending.CRASHED)], ExitCode.FAILED),
        ([], ExitCode.INCONCLUSIVE),
    ],
)
def test_only_what_was_looked_at_and_held_passes(sections, status):
    assert exit_code(sections, whole=WHOLE) is status


def test_the_table_has_a_line_per_section_and_its_title_first():
    lines = table_lines(
        [a_section(CONFIRMED, seconds=12.4), a_section(ending=Ending.NO_TIME, name="stress")],
        title="A GPU",
    )
    assert lines[0] == "A GPU"
    assert lines[1].split() == ["section", "outcome", "time", "key", "figures"]
    assert lines[2].startswith("checklist  CONFIRMED")
    assert lines[2].endswith("12 s  1 of 1 item confirmed")
    assert "NO TIME LEFT" in lines[3]


def test_a_section_that_was_not_tried_in_part_says_so():
    (line,) = table_lines([a_section(CONFIRMED, NOT_TRIED)], title="")[2:]
    assert "CONFIRMED, in part" in line
    assert "1 of 2 items confirmed; 1 not tried: 2 waits" in line


def test_a_section_of_figures_is_not_confirmed_by_the_one_thing_it_expects():
    section = a_section(MEASURED, MEASURED, CONFIRMED, name="bandwidth")
    (line,) = table_lines([section], title="")[2:]
    assert line.split()[:2] == ["bandwidth", "MEASURED"]


def test_a_difference_outweighs_all_else():
    (line,) = table_lines([a_section(CONFIRMED, NOT_TRIED, DIFFERS)], title="")[2:]
    assert "DIFFERS, in part" in line
    assert "1 differ: 3 graphs" in line


def test_lines_are_broken_at_118_columns():
    many = [a_finding(Outcome.DIFFERS, item=f"{n} a rather long name") for n in range(9)]
    lines = table_lines([a_section(*many)], title="")
    assert max(map(len, lines)) <= 118
    assert lines[-1].endswith("...")


def test_every_difference_is_printed_with_both_sides_before_the_table():
    (line,) = difference_lines([a_section(CONFIRMED, DIFFERS)])
    assert line == "checklist: differs: 3 graphs, copies: expected none, seen one"


def test_a_section_that_did_not_finish_is_told_with_its_reason():
    cut = a_section(CONFIRMED, ending=Ending.CRASHED, reason="signal SIGSEGV: no output")
    assert difference_lines([cut]) == ["checklist: crashed: signal SIGSEGV: no output"]


def test_a_flood_of_differences_is_cut_and_counted():
    lines = difference_lines([a_section(*[DIFFERS] * 50)])
    assert len(lines) == 41
    assert lines[-1] == "and 10 more, in the files"


def test_speed_is_told_as_a_share_of_the_copying_speed_beside_the_peers():
    ours = a_finding(
        Outcome.MEASURED, item="8x8", about="kernels", details={"of_copy_peak": 0.9, "ns": 10.0}
    )
    peer = a_finding(
        Outcome.MEASURED, item="8x8", about="eager", details={"of_copy_peak": 0.3, "ns": 31.0}
    )
    (line,) = table_lines([a_section(ours, peer, name="bandwidth")], title="")[2:]
    assert line.endswith("8x8: 90.0 % of it (eager 3.1x)")
