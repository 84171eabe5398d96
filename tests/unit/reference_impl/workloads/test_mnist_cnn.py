"""The training steps of the ticket's network: SINGA's recorded run, the oracle, and what each step may move."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.checks.traffic import check_traffic
from harness.devices.simulated import SimulatedDevice
from harness.model.budget import Budget
from harness.model.outcome import Outcome
from harness.model.trace import Trace
from harness.model.workload import Case, Workload
from harness.numerics.compare import compare, comparison_text
from harness.numerics.tolerance import Tolerance
from reference_impl.autograd import backward
from reference_impl.ops import SoftMaxCrossEntropy
from reference_impl.tensor import Tensor
from reference_impl.workloads.mnist_cnn import CONTROL, PRE_FIX, WORKLOAD
from reference_impl.workloads.mnist_cnn_case import STEPS, MnistCnnCase
from reference_impl.workloads.mnist_cnn_images import SYNTHETIC
from reference_impl.workloads.mnist_cnn_metrics import HostMetrics
from reference_impl.workloads.mnist_cnn_network import PARAMETERS, Network, first_parameters
from reference_impl.workloads.mnist_cnn_steps import batches, forward, optimizer

GOLDEN = Path(__file__).parents[3] / "golden"
RECORDED = json.loads((GOLDEN / "singa_cnn_trajectory.json").read_text())["steps_out"]
LOSSES = [2.4136310, 2.3489978, 2.4336884, 2.4681904, 2.2331393]
CASES = WORKLOAD.cases()
BY_NAME = {case.name: case for case in CASES}


def unwatched(region: str) -> AbstractContextManager[None]:
    return nullcontext()


def five_steps(dtype: str) -> list[dict[str, Any]]:
    """What SINGA recorded of each step, of this network on the same images from the same weights."""
    network, sgd = Network(first_parameters(0, dtype)), optimizer()
    recorded = []
    for x, t, labels in zip(*batches(SYNTHETIC, 5, dtype), strict=True):
        logits, loss = forward(network, SoftMaxCrossEntropy, x, t, unwatched)
        metrics, norms = HostMetrics(), {}
        metrics.add(logits.data, loss.data, labels)
        for parameter, gradient in backward(loss):
            assert parameter.name is not None
            norms[parameter.name] = float(np.linalg.norm(gradient.data.astype(np.float64)))
            sgd.update(parameter, gradient)
        row = logits.data[0]
        recorded.append(
            {"loss": float(loss.data), "correct": metrics.correct, "logits": row, "norms": norms}
        )
    return recorded


@pytest.mark.parametrize(("dtype", "closeness"), [("float64", 1e-6), ("float32", 5e-6)])
def test_five_steps_are_those_recorded_of_singa(dtype: str, closeness: float) -> None:
    steps = five_steps(dtype)
    np.testing.assert_allclose([step["loss"] for step in steps], LOSSES, rtol=closeness)
    for step, expected in zip(steps, RECORDED, strict=True):
        assert step["loss"] == pytest.approx(expected["loss"], rel=closeness)
        assert step["correct"] == expected["correct"]
        assert list(step["norms"]) == expected["order"]
        assert step["norms"] == pytest.approx(expected["grad_l2"], rel=1e-5)
        np.testing.assert_allclose(step["logits"], expected["logits_row0"], atol=5e-6)


def test_the_network_has_the_parameters_of_the_ticket() -> None:
    network = Network(first_parameters(0, "float32"))
    assert {name: tensor.shape for name, tensor in network.parameters.items()} == PARAMETERS
    assert sum(tensor.size for tensor in network.parameters.values()) == 431_080
    assert network.state == {}


def test_it_is_a_workload_of_cases() -> None:
    assert isinstance(WORKLOAD, Workload)
    assert list(BY_NAME) == ["float32", "float64", "float32-lazy_metrics"]
    assert [case.timed for case in CASES] == [True, False, False]
    assert all(isinstance(case, Case) for case in CASES)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def trained(request: pytest.FixtureRequest) -> tuple[MnistCnnCase, Any, Any]:
    case: MnistCnnCase = request.param
    inputs = dict(case.inputs(1))
    return case, inputs, case.run(inputs, unwatched)


def assert_as_expected(case: MnistCnnCase, outputs: Any, expected: Any) -> None:
    for name in expected:
        tolerance = Tolerance.from_plain(case.tolerances[name], output=name)
        comparison = compare(outputs[name], expected[name], tolerance)
        assert comparison.passed, comparison_text(comparison, output=name)


def test_all_outputs_agree_with_the_oracle(trained: Any) -> None:
    case, inputs, outputs = trained
    expected = case.expected(inputs)
    assert set(outputs) == set(expected) == set(case.tolerances)
    assert_as_expected(case, outputs, expected)


def test_the_run_leaves_its_inputs_as_they_were(trained: Any) -> None:
    case, inputs, _ = trained
    for name, values in case.inputs(1).items():
        assert inputs[name].tobytes() == values.tobytes()


def test_other_seeds_are_other_weights() -> None:
    one, other = (BY_NAME["float32"].inputs(seed) for seed in (0, 1))
    for name in one:
        assert (one[name] != other[name]).any() == name.endswith(".W")


def test_a_wrong_gradient_is_beyond_the_tolerance_of_float32() -> None:
    case = BY_NAME["float32"]
    inputs = case.inputs(0)
    expected = case.expected(inputs)
    wrong = {**expected, "conv1.W": inputs["conv1.W"]}  # a layer that is not trained
    wrong["gradient of conv2.W"] = 1.5 * expected["gradient of conv2.W"]
    for name in ("conv1.W", "gradient of conv2.W"):
        with pytest.raises(AssertionError):
            assert_as_expected(case, {name: wrong[name].astype("f4")}, {name: expected[name]})


def test_the_yardstick_does_the_same_work() -> None:
    case = BY_NAME["float32"]
    inputs = case.inputs(0)
    assert_as_expected(case, case.peer(inputs, unwatched), case.expected(inputs))


def test_every_step_opens_its_regions(trained: Any) -> None:
    case, inputs, _ = trained
    opened: Counter[str] = Counter()

    def region(name: str) -> AbstractContextManager[None]:
        opened[name] += 1
        return nullcontext()

    case.run(inputs, region)
    of_a_step = dict.fromkeys(("data", "forward", "loss", "metrics", "backward"), STEPS)
    epoch = {"epoch": 1} if "lazy" in case.name else {}
    assert opened == {**of_a_step, "update": 8 * STEPS, **epoch}
    assert set(case.budget) == {*opened, "run"}


def recorded(case: Case) -> Trace:
    device = SimulatedDevice()
    arrays = {name: device.to_device(array) for name, array in case.inputs(0).items()}
    assert device.probe is not None
    with device.probe.record() as recording:
        case.run(arrays, recording.region)
    return recording.trace()


def moved(trace: Trace) -> Mapping[str, tuple[int, ...]]:
    """D2H, their bytes, H2D, their bytes, and waits, of each region that has any."""
    found = {}
    for region in trace.entered:
        counts = trace.within(region).counts()
        numbers = counts.d2h, counts.d2h_bytes, counts.h2d, counts.h2d_bytes, counts.syncs
        if any(numbers):
            found[region] = numbers
    return found


def test_a_step_of_the_program_moves_its_batch_its_logits_and_its_loss() -> None:
    # Per step 200,704 B of images and 2,560 B of labels; 2,560 B of logits and 4 B of loss.
    assert moved(recorded(BY_NAME["float32"])) == {
        "data": (0, 0, 2 * STEPS, 203_264 * STEPS, 0),
        "metrics": (2 * STEPS, 2_564 * STEPS, 0, 0, 2 * STEPS),
    }


def test_with_lazy_metrics_no_step_moves_anything() -> None:
    assert moved(recorded(BY_NAME["float32-lazy_metrics"])) == {"epoch": (1, 8, 0, 0, 1)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_program_keeps_its_budget(case: MnistCnnCase) -> None:
    result = check_traffic([recorded(case)], Budget.from_plain(case.budget), control=None)
    assert not result.violations, result.summary


@pytest.mark.parametrize("case", PRE_FIX.cases(), ids=lambda case: case.name)
def test_with_the_pre_fix_op_it_fails_within_the_loss(case: MnistCnnCase) -> None:
    trace = recorded(case)
    assert moved(trace)["loss"] == (STEPS, 4 * STEPS, 0, 0, STEPS)
    result = check_traffic([trace], Budget.from_plain(case.budget), control=None)
    assert result.outcome is Outcome.FAILED
    assert {violation.region for violation in result.violations} == {"loss", "run"}


def test_the_pre_fix_op_is_the_control_and_must_show_a_read_in_every_step() -> None:
    assert WORKLOAD.controls[CONTROL] is PRE_FIX
    assert PRE_FIX.control_expects["loss"] == {
        "d2h": STEPS,
        "d2h_bytes": 4 * STEPS,
        "h2d": 0,
        "syncs": STEPS,
    }


def test_the_data_are_named_for_what_they_are() -> None:
    for case in CASES:
        assert case.parameters["data"].endswith("not MNIST")


def test_one_more_image_is_one_more_row_of_logits() -> None:
    network = Network(first_parameters(0, "float32"))
    assert network(Tensor(np.zeros((3, 1, 28, 28), np.float32))).shape == (3, 10)
