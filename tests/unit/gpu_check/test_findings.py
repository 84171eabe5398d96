"""Findings survive whatever ends the section that made them."""

from __future__ import annotations

from gpu.findings import Finding, Outcome, read_findings, worst_of


def test_what_is_as_expected_is_confirmed_and_anything_else_differs(note, found):
    note.equal("copies", expected="none", seen="none")
    note.equal("copies", expected="none", seen="1 D2H")
    assert [finding.outcome for finding in found()] == [Outcome.CONFIRMED, Outcome.DIFFERS]
    assert found()[1].text == "this, copies: expected none, seen 1 D2H"


def test_a_finding_is_read_back_as_it_was_made(note, found):
    note.about("item").measured("time", "5.00 us", ns=5000.0, values=[1, 2])
    assert found() == (
        Finding(
            item="item",
            about="time",
            outcome=Outcome.MEASURED,
            seen="5.00 us",
            details={"ns": 5000.0, "values": [1, 2]},
        ),
    )


def test_a_line_cut_off_by_a_kill_leaves_those_before_it(note, file):
    note.equal("a", expected="x", seen="x")
    with file.open("a") as stream:
        stream.write('{"item": "this", "about": "b", "outc')
    assert [finding.about for finding in read_findings(file)] == ["a"]


def test_a_section_that_wrote_nothing_has_no_findings(tmp_path):
    assert read_findings(tmp_path / "missing.jsonl") == ()


def test_what_raised_is_not_tried_with_its_reason_and_its_traceback_is_in_the_log(
    note, found, capsys
):
    try:
        raise RuntimeError("cudaErrorMystery:\nno words")
    except RuntimeError as error:
        note.broke("a copy", error)
    assert found()[0].outcome is Outcome.NOT_TRIED
    assert found()[0].seen == "RuntimeError: cudaErrorMystery: no words"
    assert "Traceback" in capsys.readouterr().err


def test_an_item_is_as_good_as_its_worst_finding(note, found):
    one, other = note.about("1"), note.about("2")
    one.equal("a", expected="x", seen="x")
    other.measured("b", "5")
    one.not_tried("c", "no time")
    assert worst_of(found()) == {"1": Outcome.NOT_TRIED, "2": Outcome.MEASURED}
    one.equal("d", expected="x", seen="y")
    assert worst_of(found())["1"] is Outcome.DIFFERS
