"""Outcomes: a run is as good as its worst part, and nothing checked proves nothing."""

import itertools

import pytest

from harness.model.outcome import Evidence, Outcome, worst


def test_outcomes_are_ordered_passed_skipped_inconclusive_failed() -> None:
    ordered = [Outcome.PASSED, Outcome.SKIPPED, Outcome.INCONCLUSIVE, Outcome.FAILED]
    assert sorted(Outcome, key=lambda outcome: outcome.severity) == ordered
    assert [outcome.severity for outcome in ordered] == [0, 1, 2, 3]


@pytest.mark.parametrize("pair", list(itertools.product(Outcome, Outcome)))
def test_the_worst_of_two_is_the_more_severe(pair: tuple[Outcome, Outcome]) -> None:
    assert worst(pair).severity == max(outcome.severity for outcome in pair)


def test_no_outcome_at_all_is_inconclusive() -> None:
    assert worst([]) is Outcome.INCONCLUSIVE


def test_evidence_is_listed_strongest_first() -> None:
    assert [evidence.value for evidence in Evidence] == [
        "PROVEN",
        "WITNESSED",
        "RECORDED",
        "SIMULATED",
    ]


def test_every_outcome_has_its_exit_code() -> None:
    assert {outcome.value: int(outcome.exit_code) for outcome in Outcome} == {
        "passed": 0,
        "skipped": 0,
        "inconclusive": 4,
        "failed": 1,
    }
