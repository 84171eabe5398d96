from types import SimpleNamespace

import pytest
from builders import a_check, a_kernel, a_limit, a_transfer

from harness.model.budget import Budget, Quantity
from harness.model.outcome import Outcome
from harness.pytest_plugin.judgement import conclude, judge, result_text
from harness.pytest_plugin.recording import Recorder
from harness.pytest_plugin.settings import Inconclusive

SEEN = a_check(check="positive control", evidence="controls seen 3/3")
NO_D2H = a_limit(quantity=Quantity.D2H)
WITHIN_FORWARD = Budget({"forward": (NO_D2H,)})
WITHIN_BODY = Budget({"run": (NO_D2H,)})


def watched(probe, control=SEEN):
    return SimpleNamespace(device=SimpleNamespace(name="fake", probe=probe), control=control)


def ran(probe, *events, region="forward"):
    """A recorder of a body with these events in one region."""
    recorder = Recorder(probe)
    with recorder.body(), recorder.region(region):
        for event in events:
            probe.see(event)
    return recorder


def test_device_work_within_the_limits_passes(probe):
    result = judge(ran(probe, a_kernel()), WITHIN_FORWARD, watched(probe))
    assert result.outcome is Outcome.PASSED
    assert "controls seen 3/3" in result.evidence


def test_a_read_fails(probe):
    result = judge(ran(probe, a_kernel(), a_transfer()), WITHIN_FORWARD, watched(probe))
    assert result.outcome is Outcome.FAILED


def test_no_device_work_in_the_body_is_inconclusive(probe):
    result = judge(ran(probe), WITHIN_BODY, watched(probe))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "nothing ran on the device" in result.summary


def test_no_device_work_in_the_region_is_inconclusive_though_there_is_some_elsewhere(probe):
    recorder = Recorder(probe)
    with recorder.body():
        probe.see(a_kernel())
        with recorder.region("forward"):
            pass
    result = judge(recorder, WITHIN_FORWARD, watched(probe))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "nothing ran on the device within 'forward'" in result.summary


def test_a_region_that_was_never_entered_is_inconclusive(probe):
    result = judge(ran(probe, a_kernel(), region="backward"), WITHIN_FORWARD, watched(probe))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "'forward'" in result.summary
    assert "never entered" in result.summary


def test_a_region_entered_outside_the_blocks_says_so(probe):
    recorder = Recorder(probe)
    with recorder.body():
        with recorder.region("forward"):
            probe.see(a_kernel())
        with recorder.block():
            probe.see(a_kernel())
    result = judge(recorder, WITHIN_FORWARD, watched(probe))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert any("outside the device_trace() blocks" in detail for detail in result.details)


def test_a_device_without_a_boundary_is_inconclusive(probe):
    result = judge(Recorder(None), WITHIN_BODY, watched(None))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "'fake' has no boundary" in result.summary


def test_no_trace_at_all_is_inconclusive(probe):
    result = judge(Recorder(probe), WITHIN_BODY, watched(probe))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "no trace was recorded" in result.summary


def test_a_control_that_was_not_seen_is_inconclusive(probe):
    missed = a_check(outcome=Outcome.INCONCLUSIVE, summary="missed a D2H copy", evidence="seen 2/3")
    result = judge(ran(probe, a_kernel()), WITHIN_FORWARD, watched(probe, missed))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "missed a D2H copy" in result.summary


def test_an_excess_that_was_seen_fails_however_poor_the_view(probe):
    probe.dropped = 5
    missed = a_check(outcome=Outcome.INCONCLUSIVE, summary="missed a sync", evidence="seen 2/3")
    result = judge(ran(probe, a_transfer()), WITHIN_FORWARD, watched(probe, missed))
    assert result.outcome is Outcome.FAILED


def test_an_excess_of_the_whole_body_says_how_to_record_less(probe):
    result = judge(ran(probe, a_transfer()), WITHIN_BODY, watched(probe))
    assert "with device_trace():" in result_text(result)


def test_an_excess_of_a_block_does_not(probe):
    recorder = Recorder(probe)
    with recorder.body(), recorder.block():
        probe.see(a_transfer())
    text = result_text(judge(recorder, WITHIN_BODY, watched(probe)))
    assert "limit exceeded" in text
    assert "with device_trace():" not in text


def test_the_text_of_an_inconclusive_result_begins_with_the_word(probe):
    text = result_text(judge(ran(probe), WITHIN_BODY, watched(probe)))
    assert text.startswith("INCONCLUSIVE: nothing ran on the device")


def test_a_passed_result_concludes_nothing(probe):
    conclude(judge(ran(probe, a_kernel()), WITHIN_FORWARD, watched(probe)), Inconclusive.FAIL)


@pytest.mark.parametrize("policy", list(Inconclusive))
def test_a_failed_result_fails_under_every_policy(probe, policy):
    result = judge(ran(probe, a_transfer()), WITHIN_FORWARD, watched(probe))
    with pytest.raises(pytest.fail.Exception, match="transfer limit exceeded within 'forward'"):
        conclude(result, policy)


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [(Inconclusive.FAIL, pytest.fail.Exception), (Inconclusive.SKIP, pytest.skip.Exception)],
)
def test_an_inconclusive_result_never_returns(probe, policy, outcome):
    result = judge(ran(probe), WITHIN_BODY, watched(probe))
    with pytest.raises(outcome, match="INCONCLUSIVE"):
        conclude(result, policy)


@pytest.mark.parametrize(
    ("budget", "step"),
    [
        (
            Budget({"froward": (NO_D2H,)}),
            "the test entered 'forward'; write within='forward', or open",
        ),
        (Budget({"loss": (NO_D2H,)}), "the test entered 'forward'; limit one of them, or open"),
        (WITHIN_FORWARD, "run the op under test there, on arrays of the `device` fixture"),
    ],
)
def test_what_to_do_next_is_to_change_the_test_where_the_test_is_the_cause(probe, budget, step):
    result = judge(ran(probe), budget, watched(probe))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert result.next_step.startswith(step)


def test_what_to_do_next_is_to_ask_the_doctor_where_the_probe_is_the_cause(probe):
    missed = a_check(outcome=Outcome.INCONCLUSIVE, summary="missed a sync")
    blind = watched(probe, missed)
    assert "harness doctor" in judge(ran(probe), Budget({"loss": (NO_D2H,)}), blind).next_step
    probe.dropped = 1
    assert "harness doctor" in judge(ran(probe), WITHIN_BODY, watched(probe)).next_step


def test_a_doubt_of_the_probe_says_itself_what_to_do(probe):
    probe.doubts = ("thread 'reader' is still running; join it",)
    result = judge(ran(probe, a_kernel()), WITHIN_BODY, watched(probe))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert result_text(result).startswith("INCONCLUSIVE: thread 'reader' is still running; join it")
    assert result.next_step == ""


def test_an_excess_by_a_function_that_ran_before_the_test_names_its_thread(probe):
    recorder = ran(probe, a_transfer())
    site = a_transfer().site
    recorder.elsewhere = {(site.file, site.function): "reader"}
    text = result_text(judge(recorder, WITHIN_FORWARD, watched(probe)))
    assert "thread 'reader' was inside forward() before this test began" in text
    recorder.elsewhere = {(site.file, "another"): "reader"}
    assert "thread" not in result_text(judge(recorder, WITHIN_FORWARD, watched(probe)))


def test_a_late_mark_without_a_recording_says_that_it_was_late(probe):
    result = judge(Recorder(probe), WITHIN_BODY, watched(probe), late=True)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "added while the test ran" in result.summary
