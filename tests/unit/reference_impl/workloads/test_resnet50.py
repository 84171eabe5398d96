"""An iteration of ResNet-50 under test: the oracle, what it may move, and the read before the fix."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import pytest

from harness.checks.traffic import check_traffic
from harness.devices.simulated import SimulatedDevice
from harness.model.budget import Budget
from harness.model.outcome import Outcome
from harness.model.trace import Trace
from harness.model.workload import Case, Workload
from harness.numerics.compare import compare, comparison_text
from harness.numerics.tolerance import Tolerance
from harness.session.training import training_offered
from reference_impl.ops import HostRoundTripSoftMaxCrossEntropy
from reference_impl.workloads.resnet50 import CONTROL, PRE_FIX, WORKLOAD
from reference_impl.workloads.resnet50_case import WAITS, Resnet50Case
from reference_impl.workloads.resnet50_network import Architecture

CASES = {case.name: case for case in WORKLOAD.cases()}
SMALL = Architecture(stages=(1, 1), planes=4, classes=6)


def small(name: str, **options: Any) -> Resnet50Case:
    return replace(CASES[name], batch=3, side=16, architecture=SMALL, **options)


def unwatched(region: str) -> AbstractContextManager[None]:
    return nullcontext()


def recorded(case: Case) -> Trace:
    device = SimulatedDevice()
    arrays = {name: device.to_device(array) for name, array in case.inputs(0).items()}
    assert device.probe is not None
    with device.probe.record() as recording:
        case.run(arrays, recording.region)
    return recording.trace()


def failures(case: Resnet50Case, outputs: Any, expected: Any) -> list[str]:
    found = []
    for name, truth in expected.items():
        tolerance = Tolerance.from_plain(case.tolerances[name], output=name)
        comparison = compare(outputs[name], truth, tolerance)
        if not comparison.passed:
            found.append(comparison_text(comparison, output=name))
    return found


def test_it_is_a_workload_of_cases() -> None:
    assert isinstance(WORKLOAD, Workload)
    assert list(CASES) == ["float32", "float32-ticket_loop", "float64"]
    assert all(isinstance(case, Case) for case in CASES.values())
    assert WAITS == 325


def test_resnet50_agrees_with_the_oracle_to_1e_4() -> None:
    case = CASES["float32"]
    inputs = case.inputs(0)
    assert not failures(case, case.run(inputs, unwatched), case.expected(inputs))


def test_all_gradients_together_are_the_slope_of_the_oracle_s_loss() -> None:
    case = small("float64")
    inputs = case.inputs(1)
    outputs, expected = case.run(inputs, unwatched), case.expected(inputs)
    assert set(outputs) == set(expected) == set(case.tolerances)
    assert not failures(case, outputs, expected)
    assert failures(case, {**outputs, "slope": 1.5 * outputs["slope"] + 1}, expected)


def test_without_waits_an_iteration_moves_nothing_and_waits_for_nothing() -> None:
    case = small("float32")
    trace = recorded(case)
    counts = trace.counts()
    assert (counts.d2h, counts.h2d, counts.syncs) == (0, 0, 0)
    assert not check_traffic([trace], Budget.from_plain(case.budget), control=None).violations


def test_the_ticket_s_loop_waits_twice_for_each_parameter_and_three_times_more() -> None:
    case = small("float32-ticket_loop")
    parameters = len(list(SMALL.convolutions())) * 3 + 2
    trace = recorded(case)
    assert trace.counts().syncs == 3 + 2 * parameters
    assert trace.within("update").counts().syncs == 2 * parameters
    assert not check_traffic([trace], Budget.from_plain(case.budget), control=None).violations


@pytest.mark.parametrize("name", ["float32", "float32-ticket_loop"])
def test_with_the_pre_fix_op_it_fails_within_the_loss(name: str) -> None:
    case = small(name, op=HostRoundTripSoftMaxCrossEntropy)
    result = check_traffic([recorded(case)], Budget.from_plain(case.budget), control=None)
    assert result.outcome is Outcome.FAILED
    regions = {violation.region for violation in result.violations}
    assert "loss" in regions
    assert regions <= {"loss", "run"}  # the whole is told apart only where some waits are allowed


@pytest.mark.parametrize("case", PRE_FIX.cases(), ids=lambda case: case.name)
def test_the_pre_fix_op_is_the_control_of_either_loop(case: Resnet50Case) -> None:
    assert WORKLOAD.controls[CONTROL] is PRE_FIX
    trace = recorded(replace(case, batch=3, side=16, architecture=SMALL))
    for region, expected in PRE_FIX.control_expects.items():
        counts = (trace if region == "run" else trace.within(region)).counts()
        assert {name: getattr(counts, name) for name in expected} == expected
    assert trace.within("loss").counts().syncs == (2 if case.waits else 1)


def test_the_control_tries_every_loop_in_float32() -> None:
    assert [case.name for case in PRE_FIX.cases()] == ["float32", "float32-ticket_loop"]


def test_one_case_offers_what_it_timed_for_the_report() -> None:
    case = small("float32")
    training = training_offered(case, case.inputs(0))
    assert training is not None
    ticket, free = training.timings
    assert (ticket.syncs, free.syncs) == (3 + 2 * 29, 0)
    assert "T4" in training.published
    assert [stage.published_s is not None for stage in ticket.stages] == [True] * 5
    assert [stage.published_s for stage in free.stages] == [None]
    for name in ("float32-ticket_loop", "float64"):
        other = small(name)
        assert training_offered(other, other.inputs(0)) is None


def test_published_figures_are_not_put_beside_the_pre_fix_op() -> None:
    case = small("float32", op=HostRoundTripSoftMaxCrossEntropy)
    training = training_offered(case, case.inputs(0))
    assert training is not None
    assert training.published == ""
    assert all(stage.published_s is None for each in training.timings for stage in each.stages)
