"""What is said of a case whose process never told the end of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import a_verdict

from harness.errors import ExitCode
from harness.model.environment import Environment
from harness.model.event import Site
from harness.model.outcome import Outcome
from harness.session.isolation.errand import Errand
from harness.session.isolation.messages import Broke, Refused
from harness.session.isolation.process import ending_text
from harness.session.isolation.verdicts import Ending, How, lost_case, not_run, refusal, story
from harness.session.record import Plan, PlannedWorkload, Terms
from harness.session.verify import Settings

SITE = Site("loss.py", 31, "forward")
ERRAND = Errand(
    workloads=("toys",),
    device="auto",
    settings=Settings(benchmark=False),
    terms=Terms(command="harness run", seed=0),
    time_limit_s=300,
)
HUNG = Ending(how=How.TIME_LIMIT, case="toys/a", site=SITE, status=-9)
GPU = Plan(
    environment=Environment(hard={}),
    workloads=(),
    traffic_device="cuda:0",
    timing_device="cuda:0",
)


def the_check(ending, plan=None):
    (check,) = lost_case(ending, None, plan, ERRAND).checks
    return check


def test_a_hang_names_case_limit_and_line_and_is_inconclusive():
    check = the_check(HUNG)
    assert check.outcome is Outcome.INCONCLUSIVE
    assert check.summary == (
        "a did not come back within 300 s and was stopped at loss.py:31 in forward"
    )
    assert "where it was cannot be told" in the_check(replace(HUNG, site=None)).summary


def test_on_a_gpu_the_next_step_is_to_look_for_a_kernel_that_never_ends():
    assert "cuda-gdb" in the_check(HUNG, GPU).next_step
    assert "cuda-gdb" not in the_check(HUNG).next_step
    verdict = lost_case(HUNG, None, GPU, ERRAND)
    assert (verdict.traffic_device, verdict.timing_device) == ("cuda:0", "cuda:0")


def test_a_process_the_driver_holds_is_named():
    (detail,) = the_check(replace(HUNG, held=123)).details
    assert "process 123 did not die of SIGKILL" in detail


@pytest.mark.parametrize(
    ("status", "how", "next_step"),
    [
        (-11, "died of SIGSEGV", "gdb --args"),
        (-9, "died of SIGKILL", "memory ran out"),
        (0, "ended itself with exit status 0", "os._exit()"),
        (3, "ended itself with exit status 3", "os._exit()"),
        (-200, "died of signal 200", "gdb --args"),
    ],
)
def test_a_death_is_named_with_what_to_do_about_it(status, how, next_step):
    check = the_check(Ending(how=How.DIED, case="toys/a", status=status))
    assert how == ending_text(status)
    assert how in check.summary
    assert next_step in check.next_step
    known = status >= 0 or status == -11
    assert check.outcome is (Outcome.FAILED if known else Outcome.INCONCLUSIVE)


def test_the_command_to_paste_names_the_case_as_it_was_given():
    planned = PlannedWorkload(name="toys", cases=("a",), whole=True, target="my.module:TOYS")
    crashed = Ending(how=How.DIED, case="toys/a", status=-11)
    check = the_check(crashed, replace(GPU, workloads=(planned,)))
    assert check.next_step.endswith("run --time-limit 0 my.module:TOYS/a")
    assert the_check(crashed).next_step.endswith("run --time-limit 0 toys/a")


def test_a_defect_of_the_harness_is_called_one():
    check = the_check(Ending(how=How.BROKE, case="toys/a", told=Broke("KeyError: 'x'")))
    assert "the harness itself" in check.summary
    assert "KeyError: 'x'" in check.summary
    assert "defect of the harness" in check.next_step


def test_what_was_found_before_is_kept_and_that_of_another_case_is_not():
    before = a_verdict()
    ending = replace(HUNG, case=before.key)
    kept = lost_case(ending, before, None, ERRAND)
    assert kept.checks[:-1] == before.checks
    assert kept.traffic == before.traffic
    assert len(lost_case(HUNG, before, None, ERRAND).checks) == 1


def test_a_case_that_was_not_run_says_why():
    (check,) = not_run("toys/b", "there is no GPU any more", GPU).checks
    assert check.summary == "b was not run: there is no GPU any more"
    assert check.outcome is Outcome.INCONCLUSIVE


def test_a_refusal_keeps_its_exit_status():
    error = refusal(Refused("no such device", 3))
    assert (str(error), error.exit_code) == ("no such device", ExitCode.UNAVAILABLE)


def test_a_hang_outside_of_any_case_names_what_was_being_done():
    ending = Ending(how=How.TIME_LIMIT, doing="preparing device cuda:0")
    assert story(ending, ERRAND).startswith("preparing device cuda:0 did not come back within")


def test_the_benchmarks_own_time_is_not_counted():
    timed = replace(ERRAND, settings=Settings(seconds_per_case=2.0))
    assert (ERRAND.limit_s("toys/a"), timed.limit_s("toys/a")) == (300, 310)
    assert "10 s for its benchmark" in lost_case(HUNG, None, None, timed).checks[0].evidence


def test_a_short_limit_for_cases_leaves_time_to_import_and_to_start_a_gpu():
    short = replace(ERRAND, time_limit_s=1)
    assert (short.limit_s("toys/a"), short.limit_s("")) == (1, 60)
    assert ERRAND.limit_s("") == 300
    importing = Ending(how=How.TIME_LIMIT, doing="importing it", workload="toys")
    assert "within 60 s" in story(importing, short)
