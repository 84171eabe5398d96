"""Verdicts and runs: joined outcomes."""

import dataclasses

from builders import a_check, a_run, a_verdict

from harness.model.outcome import Outcome


def test_a_case_is_known_by_workload_and_name() -> None:
    assert a_verdict(workload="mlp", case="seed-0").key == "mlp/seed-0"


def test_a_verdict_is_the_worst_of_its_checks() -> None:
    verdict = a_verdict(a_check(), a_check(outcome=Outcome.SKIPPED))
    assert verdict.outcome is Outcome.SKIPPED


def test_a_verdict_without_checks_is_inconclusive() -> None:
    nothing = dataclasses.replace(a_verdict(), checks=())
    assert nothing.outcome is Outcome.INCONCLUSIVE


def test_a_run_is_the_worst_of_its_verdicts_and_its_own_checks() -> None:
    assert a_run(a_verdict()).outcome is Outcome.PASSED
    assert a_run(a_verdict(), checks=(a_check(outcome=Outcome.FAILED),)).outcome is Outcome.FAILED
    failed = a_verdict(a_check(outcome=Outcome.FAILED))
    assert a_run(a_verdict(), failed).outcome is Outcome.FAILED


def test_a_run_that_checked_nothing_is_inconclusive() -> None:
    assert a_run().outcome is Outcome.INCONCLUSIVE
