"""The second view beside the probe, here another simulated recording that can be made blind."""

from dataclasses import replace

import pytest
from toy_workload import ToyCase, square_sum

from harness.devices.simulated import SimulatedDevice
from harness.model.budget import Budget
from harness.model.outcome import Outcome
from harness.probes.simulated import SimulatedProbe
from harness.session.witness import check_witness

NOTHING = {"d2h": 0, "syncs": 0, "because": "the loss stays on the device"}


class SecondView:
    name = "second view"

    def __init__(self, *, change=lambda trace: trace):
        self._change = change

    def witness(self, run):
        with SimulatedProbe().record() as recording:
            run(recording.region)
        return self._change(recording.trace())


def result_of(view, *, calls=square_sum, budget=None, probe_passed=True):
    device, case = SimulatedDevice(), ToyCase(calls=calls)
    device.witness = view
    plain = {"forward": NOTHING} if budget is None else budget
    return check_witness(
        case, Budget.from_plain(plain), case.inputs(0), device, probe_passed=probe_passed
    )


def reads(inputs, region):
    with region("forward"):
        float(inputs["x"].sum())
    return square_sum(inputs, region)


def test_without_a_second_view_there_is_no_result():
    assert result_of(None) is None


def test_a_call_that_stays_on_the_device_passes():
    assert result_of(SecondView()).outcome is Outcome.PASSED


def test_a_read_fails_though_the_probe_saw_none():
    result = result_of(SecondView(), calls=reads)
    assert (result.check, result.outcome) == ("capture", Outcome.FAILED)


@pytest.mark.parametrize(
    ("probe_passed", "outcome"), [(True, Outcome.SKIPPED), (False, Outcome.INCONCLUSIVE)]
)
def test_a_view_that_could_not_look_takes_nothing_from_a_sure_probe(probe_passed, outcome):
    doubtful = SecondView(change=lambda trace: replace(trace, doubts=("cuBLAS is not captured",)))
    result = result_of(doubtful, probe_passed=probe_passed)
    assert result.outcome is outcome
    assert "cuBLAS is not captured" in result.summary


def test_a_view_that_misses_the_plants_proves_nothing():
    blind = SecondView(change=lambda trace: replace(trace, events=tuple(k for k in trace.kernels)))
    assert result_of(blind, probe_passed=False).outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    "budget",
    [
        {"forward": NOTHING, "metrics": {**NOTHING, "d2h": 1}},
        {"forward": NOTHING, "metrics": {**NOTHING, "syncs": None}},
    ],
    ids=["a read", "any wait"],
)
def test_a_budget_that_allows_reads_is_not_judged_by_capture(budget):
    result = result_of(SecondView(), budget=budget)
    assert result.outcome is Outcome.SKIPPED
    assert "'metrics'" in result.summary
