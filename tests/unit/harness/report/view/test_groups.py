"""Cases under their workload, and what they have in common said once."""

from __future__ import annotations

from builders import a_check, a_run, a_verdict

from harness.model.outcome import Outcome
from harness.model.verdict import Verdict
from harness.report.view.cases import Fact
from harness.report.view.groups import CaseGroup
from harness.report.view.page import build_page


def groups_of(*verdicts: Verdict) -> tuple[CaseGroup, ...]:
    return build_page(a_run(*verdicts)).groups


def a_case(name: str, **parameters: str) -> Verdict:
    return a_verdict(case=name, parameters=parameters)


def differing(group: CaseGroup) -> dict[str, list[str]]:
    return {
        row.case.case: [f"{fact.name} {fact.text}" for fact in row.parameters] for row in group.rows
    }


def test_a_workload_is_one_group_however_its_cases_are_scattered() -> None:
    groups = groups_of(a_case("a"), a_verdict(workload="mlp", case="m"), a_case("b"))
    assert [(group.workload, len(group.rows)) for group in groups] == [
        ("softmax_cross_entropy", 2),
        ("mlp", 1),
    ]


def test_the_group_and_the_row_with_the_worst_case_come_first() -> None:
    failed = a_check(outcome=Outcome.FAILED)
    groups = groups_of(
        a_case("a"),
        a_verdict(workload="mlp", case="good"),
        a_verdict(failed, workload="mlp", case="bad"),
    )
    assert [group.workload for group in groups] == ["mlp", "softmax_cross_entropy"]
    assert [row.case.case for row in groups[0].rows] == ["bad", "good"]


def test_what_most_cases_share_is_told_once_and_what_differs_in_its_row() -> None:
    (group,) = groups_of(
        a_case("a", dtype="float32", shape="8x8"),
        a_case("b", dtype="float32", shape="9x9"),
        a_case("c", dtype="float16", shape="10x10"),
    )
    assert group.usual == (Fact("dtype", "float32"),)
    assert not group.without_exception
    assert differing(group) == {
        "a": ["shape 8x8"],
        "b": ["shape 9x9"],
        "c": ["dtype float16", "shape 10x10"],
    }


def test_a_parameter_that_some_cases_lack_is_never_usual() -> None:
    (group,) = groups_of(a_case("a", dy="2"), a_case("b", dy="2"), a_case("c"))
    assert group.usual == ()
    assert differing(group) == {"a": ["dy 2"], "b": ["dy 2"], "c": []}


def test_half_of_the_cases_are_not_most_of_them() -> None:
    (group,) = groups_of(a_case("a", dtype="float32"), a_case("b", dtype="float16"))
    assert group.usual == ()


def test_the_parameters_of_a_lone_case_stand_beside_its_workload() -> None:
    (group,) = groups_of(a_case("a", dtype="float32", shape="8x8"))
    assert group.usual == (Fact("dtype", "float32"), Fact("shape", "8x8"))
    assert group.without_exception
    assert differing(group) == {"a": []}


def test_no_parameter_is_lost_between_the_workload_and_the_row() -> None:
    verdicts = [
        a_case(f"{n}", a=str(n % 2), b=str(n % 3), **({"c": "1"} if n else {})) for n in range(7)
    ]
    (group,) = groups_of(*verdicts)
    usual = {fact.name: fact.text for fact in group.usual}
    for row in group.rows:
        own = {fact.name: fact.text for fact in row.parameters}
        original = next(each for each in verdicts if each.case == row.case.case)
        assert usual | own == dict(original.parameters)
