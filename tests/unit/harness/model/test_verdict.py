"""Verdicts and runs: joined outcomes."""

import dataclasses

from builders import a_check, a_run, a_verdict

from harness.errors import ExitCode
from harness.model.outcome import Outcome
from harness.model.verdict import INTERRUPTED


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


def test_a_run_ends_its_command_with_the_status_of_its_outcome() -> None:
    assert a_run(a_verdict()).exit_code is ExitCode.PASSED
    assert a_run(a_verdict(a_check(outcome=Outcome.FAILED))).exit_code is ExitCode.FAILED


def test_an_interrupted_run_says_so_whatever_it_found() -> None:
    stopped = a_check(check=INTERRUPTED, outcome=Outcome.INCONCLUSIVE)
    assert a_run(a_verdict(), checks=(stopped,)).exit_code is ExitCode.INTERRUPTED


def test_the_exit_status_is_what_the_outcome_asks_for_unless_the_command_ended_otherwise() -> None:
    run = a_run(a_verdict(a_check(outcome=Outcome.INCONCLUSIVE)))
    assert run.exit_status == 4
    assert dataclasses.replace(run, ended_with=0).exit_status == 0
