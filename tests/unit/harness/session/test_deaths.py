"""What the end of a process says about the code in it."""

import signal

import pytest

from harness.model.outcome import Outcome
from harness.session.deaths import outcome_of_death


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT"])
def test_code_that_crashes_has_failed(name):
    assert outcome_of_death(-getattr(signal, name)) is Outcome.FAILED


@pytest.mark.parametrize("status", [0, 1, 7])
def test_code_that_ends_its_process_has_failed_whatever_the_status(status):
    assert outcome_of_death(status) is Outcome.FAILED


@pytest.mark.parametrize("status", [-signal.SIGKILL, -signal.SIGTERM, None])
def test_what_comes_from_outside_says_nothing_about_the_code(status):
    assert outcome_of_death(status) is Outcome.INCONCLUSIVE
