"""JUnit XML: what a CI service must see as red is red, and foreign text stays text."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from builders import a_check, a_failed_traffic_check, a_record, a_run, a_verdict, an_environment
from hypothesis import given
from hypothesis import strategies as st

from harness.model.outcome import Outcome
from harness.model.verdict import INTERRUPTED, CheckResult, Run
from harness.model.waiver import Waiver
from harness.report.junit import junit_xml

ALLOWED = {
    "testsuites": ({"name", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "timestamp"},
        {"properties", "testcase"},
    ),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name", "classname"}, {"failure", "error", "skipped", "system-out"}),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "skipped": ({"message"}, set()),
    "system-out": (set(), set()),
}
"""Attributes, all required, and children of the part of junit-10.xsd that is used."""


def problems(root: ElementTree.Element) -> list[str]:
    """Where a document leaves the schema, or its counts its test cases."""
    found = []
    for element in root.iter():
        attributes, children = ALLOWED.get(element.tag, (set(), set()))
        if set(element.keys()) != attributes:
            found.append(f"{element.tag} has {sorted(element.keys())}")
        found += [f"{child.tag} in {element.tag}" for child in element if child.tag not in children]
        kinds = {
            "tests": "testcase",
            "failures": "failure",
            "errors": "error",
            "skipped": "skipped",
        }
        for kind in kinds.keys() & set(element.keys()):
            if int(element.get(kind, "")) != len(list(element.iter(kinds[kind]))):
                found.append(f"{element.tag} counts {kind} wrongly")
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    return found + [f"{name} twice" for name in set(names) if names.count(name) > 1]


def document(*runs: Run) -> ElementTree.Element:
    root = ElementTree.fromstring(junit_xml(runs))
    assert problems(root) == []
    return root


def outcome_of(result: CheckResult) -> tuple[str, str | None]:
    """The element by which a check is told not to have passed, and its type."""
    (case,) = document(a_run(a_verdict(result))).iter("testcase")
    (told,) = [child for child in case if child.tag != "system-out"]
    return told.tag, told.get("type")


def test_a_suite_per_workload_and_a_case_per_check() -> None:
    run = a_run(
        a_verdict(a_check(), a_failed_traffic_check(), case="64x10"),
        a_verdict(workload="mlp", case="float32"),
    )
    first, second = document(run)
    assert (first.get("name"), second.get("name")) == ("softmax_cross_entropy", "mlp")
    names = [(case.get("classname"), case.get("name")) for case in first.iter("testcase")]
    assert names == [
        ("softmax_cross_entropy.64x10", "values [simulated]"),
        ("softmax_cross_entropy.64x10", "traffic"),
    ]
    assert (first.get("tests"), first.get("failures"), second.get("failures")) == ("2", "1", "0")


def test_a_limit_exceeded_is_a_failure_with_its_text() -> None:
    failure = next(document(a_run(a_verdict(a_failed_traffic_check()))).iter("failure"))
    assert failure.get("type") == "traffic"
    assert failure.text is not None
    assert failure.text.startswith("transfer limit exceeded within 'forward'\n  allowed   0 D2H")
    assert "next      remove the copy or wait" in failure.text


@pytest.mark.parametrize(
    ("check", "outcome", "told"),
    [
        ("values", Outcome.FAILED, ("failure", "values")),
        ("run", Outcome.FAILED, ("error", "crash")),
        ("values", Outcome.INCONCLUSIVE, ("error", "inconclusive")),
        (INTERRUPTED, Outcome.INCONCLUSIVE, ("error", "inconclusive")),
        ("throughput", Outcome.SKIPPED, ("skipped", None)),
    ],
)
def test_what_ends_the_command_with_a_status_is_red_here_too(
    check: str, outcome: Outcome, told: tuple[str, str | None]
) -> None:
    assert outcome_of(a_check(check=check, outcome=outcome)) == told


def test_a_check_that_passed_is_told_with_its_evidence_and_nothing_else() -> None:
    (case,) = document(a_run(a_verdict())).iter("testcase")
    assert [child.tag for child in case] == ["system-out"]
    assert case[0].text == (
        "loss 0.12 of the allowed error\nevidence: float64 oracle, device simulated"
    )


def test_a_waived_check_is_skipped_with_its_reason_and_end() -> None:
    waiver = Waiver(
        case="*", check="values", reason="SINGA-502", since="2025-11-01", until="2026-01-01"
    )
    waived = replace(a_check(outcome=Outcome.SKIPPED, summary="loss wrong"), waiver=waiver)
    (skipped,) = document(a_run(a_verdict(waived))).iter("skipped")
    assert skipped.get("message") == (
        "waived since 2025-11-01 until 2026-01-01: SINGA-502 (found: loss wrong)"
    )


@pytest.mark.parametrize("run", [a_run(), a_run(replace(a_verdict(), checks=()))])
def test_a_run_that_checked_nothing_is_no_green_file(run: Run) -> None:
    (error,) = document(run).iter("error")
    assert error.get("type") == "inconclusive"


def test_checks_of_the_whole_run_have_a_suite_of_their_own() -> None:
    missing = a_check(check="baseline", outcome=Outcome.INCONCLUSIVE)
    assert [suite.get("name") for suite in document(a_run(a_verdict(), checks=(missing,)))] == [
        "run",
        "softmax_cross_entropy",
    ]


def test_a_suite_says_seed_commit_evidence_and_environment() -> None:
    suite = document(a_run(a_verdict(traffic=a_record())))[0]
    facts = {fact.get("name"): fact.get("value") for fact in suite.iter("property")}
    assert facts["seed"] == "0"
    assert facts["commit"] == "0123456789abcdef"
    assert facts["evidence"] == "SIMULATED"
    assert facts["environment.cpu.model"] == "EPYC 7B13"


def test_the_same_check_on_two_devices_is_two_cases_of_different_names() -> None:
    checks = [a_check(evidence=f"float64 oracle, device {name}") for name in ("cpu", "simulated")]

    def names(*found: CheckResult) -> list[str | None]:
        verdict = replace(a_verdict(*found), traffic_device="simulated", timing_device="cpu")
        return [case.get("name") for case in document(a_run(verdict)).iter("testcase")]

    assert names(*checks) == ["values [cpu]", "values [simulated]"]
    assert names(*reversed(checks)) == ["values [simulated]", "values [cpu]"]
    assert names(checks[0]) == ["values [cpu]"]
    assert names(*checks[:1] * 2) == ["values [cpu]", "values [cpu] (2)"]
    assert names(a_check(evidence="device of somebody")) == ["values"]


def test_the_same_cases_of_two_runs_are_told_apart_by_what_differs() -> None:
    other = an_environment(commit="fedcba9876543210")
    root = document(a_run(a_verdict()), a_run(a_verdict(), environment=other))
    assert [suite.get("name") for suite in root] == [
        "softmax_cross_entropy (0123456789ab)",
        "softmax_cross_entropy (fedcba987654)",
    ]


hostile = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["\0\x1b[2J", "]]></failure><x/>", "\ud800", "\ufffe\uffff", "a\nb\t\r", "\u202e"]
    ),
)


@given(hostile, hostile)
def test_no_text_breaks_the_document_or_is_lost(text: str, other: str) -> None:
    wrong = a_check(
        check=text, outcome=Outcome.FAILED, summary=other, evidence=text, next_step=text
    )
    run = a_run(
        a_verdict(wrong, workload=text, case=other),
        run_id=text,
        command=other,
        environment=replace(an_environment(commit=text), soft={text: other}),
    )
    root = document(run)
    assert int(root.get("tests", "")) == 1


def test_what_xml_forbids_is_made_visible() -> None:
    wrong = a_check(outcome=Outcome.FAILED, summary="\0\x1b\ufffe\udcff</x>&")
    (failure,) = document(a_run(a_verdict(wrong))).iter("failure")
    assert failure.get("message") == r"\x00\x1b\ufffe\udcff</x>&"


def test_the_checks_of_this_test_find_what_leaves_the_schema() -> None:
    root = document(a_run(a_verdict(a_failed_traffic_check())))
    root[0].set("tests", "7")
    root[0].set("colour", "red")
    ElementTree.SubElement(root[0][1], "note")
    assert problems(root) == [
        "testsuite has ['colour', 'errors', 'failures', 'name', 'skipped', 'tests', 'timestamp']",
        "testsuite counts tests wrongly",
        "note in testcase",
    ]
