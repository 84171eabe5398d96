"""What a self-check found, and how the command that made it ends."""

from __future__ import annotations

from dataclasses import replace

from builders import a_self_check, an_environment

from harness.errors import ExitCode
from harness.model.outcome import Outcome
from harness.model.selfcheck import Injection, SelfCheck, SelfCheckRun


def a_run_of(*checks: SelfCheck, interrupted: bool = False) -> SelfCheckRun:
    return SelfCheckRun(
        environment=an_environment(),
        checks=checks,
        planned=2,
        duration_s=1.0,
        interrupted=interrupted,
    )


def test_the_share_of_an_injection_is_that_of_its_decisions_and_none_of_none() -> None:
    injection = Injection(slowdown=0.02, found=18, decisions=20, measured=0.02)
    assert injection.share == 0.9
    assert replace(injection, found=0, decisions=0).share == 0.0


def test_the_injection_asked_for_is_told_from_the_others() -> None:
    check = a_self_check()
    assert check.asked is not None
    assert check.asked.slowdown == check.find
    assert replace(check, injections=()).asked is None


def test_a_run_is_as_good_as_its_worst_op() -> None:
    run = a_run_of(a_self_check(), a_self_check(outcome=Outcome.INCONCLUSIVE))
    assert run.outcome is Outcome.INCONCLUSIVE
    assert run.exit_code is ExitCode.INCONCLUSIVE
    assert a_run_of(a_self_check()).exit_code is ExitCode.PASSED


def test_an_interrupted_run_is_inconclusive_at_best_and_ends_as_interrupted() -> None:
    run = a_run_of(a_self_check(), interrupted=True)
    assert run.outcome is Outcome.INCONCLUSIVE
    assert run.exit_code is ExitCode.INTERRUPTED
    failed = a_run_of(a_self_check(outcome=Outcome.FAILED), interrupted=True)
    assert failed.outcome is Outcome.FAILED
