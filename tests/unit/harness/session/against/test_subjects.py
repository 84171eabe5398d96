"""Which cases are compared."""

import sys
import types

import pytest
from toy_workload import Toy, ToyCase

from harness.model.outcome import Outcome
from harness.session.against.subjects import chosen
from harness.session.catalogue import select


@pytest.fixture
def toys(monkeypatch):
    """A module with a workload of a timed and an untimed case."""

    class Both(Toy):
        def cases(self):
            return (ToyCase(name="timed", timed=True), ToyCase(name="hard", timed=False))

    module = types.ModuleType("toys_to_compare")
    module.TOYS = Both()
    module.BROKEN = Toy(case=ToyCase(timed=True, throughput="fast"))
    module.EMPTY = types.SimpleNamespace(name="empty", summary="", cases=list)
    monkeypatch.setitem(sys.modules, "toys_to_compare", module)
    return module


def test_cases_not_worth_timing_are_left_out_and_counted(toys):
    found = chosen(select(["toys_to_compare:TOYS"]))
    assert [each.subject.key for each in found.candidates] == ["toys/timed"]
    assert not found.verdicts
    assert found.notes == ("1 case that is not timed was left out",)


def test_a_case_not_worth_timing_that_was_asked_for_is_skipped(toys):
    found = chosen(select(["toys_to_compare:TOYS/hard"]))
    assert not found.candidates
    assert [verdict.outcome for verdict in found.verdicts] == [Outcome.SKIPPED]


@pytest.mark.parametrize(("target", "says"), [("BROKEN", "throughput"), ("EMPTY", "no cases")])
def test_a_workload_that_breaks_its_contract_fails_by_name(toys, target, says):
    found = chosen(select([f"toys_to_compare:{target}"]))
    assert not found.candidates
    (verdict,) = found.verdicts
    assert verdict.outcome is Outcome.FAILED
    assert says in verdict.checks[0].summary


def test_a_subject_knows_the_module_of_its_workload_and_what_the_command_line_calls_it(toys):
    (candidate,) = chosen(select(["toys_to_compare:TOYS/timed"])).candidates
    assert candidate.subject.module == "toys_to_compare"
    assert candidate.subject.given == "toys_to_compare:TOYS/timed"
