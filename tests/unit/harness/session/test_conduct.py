import pytest
from toy_workload import QUICK, Toy, ToyCase, square_sum

from harness.baseline.diff import Policy
from harness.baseline.promise import promised_by
from harness.devices.registry import choose_devices
from harness.errors import ExitCode
from harness.model.outcome import Outcome
from harness.session.catalogue import Selection
from harness.session.conduct import Request, conduct


def a_selection(*cases, name="toys", whole=True):
    return Selection(name, Toy(name=name), cases or (ToyCase(),), whole=whole)


def run_of(*selections, baseline=None, progress=lambda *seen: None, policy=None):
    request = Request(
        selections=selections,
        devices=choose_devices("simulated"),
        settings=QUICK,
        command="harness run",
        baseline=baseline,
        policy=policy,
    )
    return conduct(request, progress=progress)


def test_every_selected_case_gets_a_verdict_and_is_announced():
    seen = []
    run = run_of(
        a_selection(ToyCase(name="a"), ToyCase(name="b")), progress=lambda *told: seen.append(told)
    )
    assert [verdict.key for verdict in run.verdicts] == ["toys/a", "toys/b"]
    assert seen == [("toys/a", 0, 2), ("toys/b", 1, 2)]
    assert run.outcome is Outcome.PASSED


def test_a_workload_that_cannot_be_listed_fails_and_the_others_run():
    run = run_of(Selection("broken", None, fault="it is broken"), a_selection())
    assert [verdict.outcome for verdict in run.verdicts] == [Outcome.FAILED, Outcome.PASSED]


def test_an_interrupted_run_keeps_what_is_done_and_passes_nothing():
    def stops(inputs, region):
        raise KeyboardInterrupt

    run = run_of(a_selection(ToyCase(name="a"), ToyCase(name="b", calls=stops)))
    assert [verdict.key for verdict in run.verdicts] == ["toys/a"]
    assert run.outcome is Outcome.INCONCLUSIVE
    assert run.exit_code is ExitCode.INTERRUPTED
    assert "after 1 of 2 cases" in run.checks[0].summary


def promised(*selections):
    return promised_by(run_of(*selections), "main")


def test_a_run_that_keeps_the_promise_passes():
    run = run_of(a_selection(), baseline=promised(a_selection()))
    assert run.outcome is Outcome.PASSED
    assert run.baseline == "main"
    assert "traffic-baseline" in {each.check for each in run.verdicts[0].checks}


def test_more_traffic_than_promised_fails_though_the_budget_allows_it():
    def reads(inputs, region):
        outputs = square_sum(inputs, region)
        float(outputs["loss"])
        return outputs

    run = run_of(a_selection(ToyCase(calls=reads)), baseline=promised(a_selection()))
    failed = [each.check for each in run.verdicts[0].checks if each.outcome is Outcome.FAILED]
    assert failed == ["traffic-baseline"]


def test_a_promised_case_that_vanished_from_its_workload_is_inconclusive():
    both = a_selection(ToyCase(name="a"), ToyCase(name="b"))
    run = run_of(a_selection(ToyCase(name="a")), baseline=promised(both))
    assert run.outcome is Outcome.INCONCLUSIVE
    assert "toys/b" in run.checks[0].summary


@pytest.mark.parametrize(
    "asked",
    [a_selection(ToyCase(name="a"), whole=False), a_selection(ToyCase(name="a"), name="others")],
)
def test_a_promised_case_nobody_asked_for_is_only_noted(asked):
    both = promised(a_selection(ToyCase(name="a"), ToyCase(name="b")))
    run = run_of(asked, baseline=both, policy=Policy(new=Outcome.PASSED))
    assert run.outcome in (Outcome.PASSED, Outcome.SKIPPED)
    assert "did not ask for" in run.notes[0]
