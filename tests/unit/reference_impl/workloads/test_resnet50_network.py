"""The residual network: its parameters, the order of their gradients, its output, and that nothing crosses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.devices.simulated import SimulatedDevice
from reference_impl.autograd import backward, training
from reference_impl.ops import softmax_cross_entropy
from reference_impl.oracle.resnet50 import forward
from reference_impl.tensor import Tensor
from reference_impl.workloads.resnet50_network import (
    RESNET50,
    Architecture,
    Network,
    first_arrays,
)

SMALL = Architecture(stages=(2, 1), planes=4, classes=6)


def arrays_of(architecture: Architecture, dtype: str, seed: int = 0) -> dict[str, Any]:
    """First weights, with scales, biases and running statistics that are not all alike."""
    arrays = first_arrays(np.random.RandomState(seed), dtype, architecture)
    random = np.random.RandomState(seed + 1)
    for name, values in arrays.items():
        if name.rpartition(".")[2] in ("scale", "bias", "mean", "variance"):
            values += random.uniform(0.0, 0.2, values.shape).astype(dtype)
    return arrays


def batch(dtype: str, count: int = 2, side: int = 64, classes: int = 1000) -> tuple[Any, Any]:
    random = np.random.RandomState(2)
    images = random.normal(size=(count, 3, side, side)).astype(dtype)
    return images, random.randint(0, classes, count).astype(np.int32)


def trained(network: Network, images: Any, labels: Any) -> tuple[Any, Any, dict[str, Any]]:
    with training():
        logits = network(Tensor(images, requires_grad=False))
        loss = softmax_cross_entropy(logits, labels)
    found = {str(parameter.name): gradient.data for parameter, gradient in backward(loss)}
    return logits.data, loss.data, found


def singa_order() -> list[str]:
    """The last layer first; of two branches the one that was added last, which is the shortcut."""
    order = ["fc.b", "fc.W"]
    for stage, count in reversed(list(enumerate((3, 4, 6, 3), start=1))):
        for block in reversed(range(count)):
            name = f"layer{stage}.{block}"
            layers = [("bn3", "conv3"), ("bn2", "conv2"), ("bn1", "conv1")]
            if block == 0:
                layers.insert(0, ("downsample.bn", "downsample.conv"))
            for norm, convolution in layers:
                order += [f"{name}.{norm}.scale", f"{name}.{norm}.bias", f"{name}.{convolution}.W"]
    return [*order, "bn1.scale", "bn1.bias", "conv1.W"]


@pytest.fixture(scope="module")
def resnet50() -> tuple[dict[str, Any], Network]:
    arrays = arrays_of(RESNET50, "float32")
    return arrays, Network(arrays, side=64)


def test_it_has_161_parameter_tensors(resnet50: Any) -> None:
    _, network = resnet50
    assert len(network.parameters) == 161
    assert sum(tensor.size for tensor in network.parameters.values()) == 25_557_032
    assert len(list(RESNET50.convolutions())) == 53
    assert len(network.state) == 2 * 53


def test_gradients_come_in_singa_s_order_and_the_output_is_the_oracle_s(resnet50: Any) -> None:
    arrays, network = resnet50
    images, labels = batch("float32")
    logits, loss, gradients = trained(network, images, labels)
    assert list(gradients) == singa_order()
    truth = forward(images, labels, arrays)
    assert np.abs(logits - truth.logits).max() <= 1e-4 * np.abs(truth.logits).max()
    assert float(loss) == pytest.approx(truth.loss, rel=1e-4)


def test_in_float64_it_is_the_oracle_s_in_training_and_out_of_it() -> None:
    arrays, (images, labels) = arrays_of(SMALL, "float64"), batch("float64", 3, 32, 6)
    logits, loss, _ = trained(Network(arrays, side=32, architecture=SMALL), images, labels)
    truth = forward(images, labels, arrays)
    np.testing.assert_allclose(logits, truth.logits, rtol=1e-11)
    assert float(loss) == pytest.approx(truth.loss, rel=1e-13)
    tested = Network(arrays, side=32, architecture=SMALL)(Tensor(images)).data
    truth = forward(images, labels, arrays, training=False)
    np.testing.assert_allclose(tested, truth.logits, rtol=1e-11)


def test_every_gradient_is_the_slope_of_the_oracle_s_loss() -> None:
    arrays, (images, labels) = arrays_of(SMALL, "float64"), batch("float64", 3, 32, 6)
    network = Network(arrays, side=32, architecture=SMALL)
    _, _, gradients = trained(network, images, labels)
    assert set(gradients) == set(network.parameters)
    random = np.random.RandomState(3)
    for name, gradient in gradients.items():
        along, step = random.normal(size=gradient.shape), 1e-6
        above, below = (
            forward(images, labels, {**arrays, name: arrays[name] + sign * step * along}).loss
            for sign in (1, -1)
        )
        slope = (above - below) / (2 * step)
        assert (gradient * along).sum() == pytest.approx(slope, rel=1e-5, abs=1e-8), name


def test_on_a_device_a_step_copies_nothing_and_nobody_waits() -> None:
    device = SimulatedDevice()
    images, labels = batch("float32", 2, 32, 6)
    arrays = {**arrays_of(SMALL, "float32"), "images": images, "labels": labels}
    there = {name: device.to_device(array) for name, array in arrays.items()}
    network = Network(there, side=32, architecture=SMALL)
    assert device.probe is not None
    with device.probe.record() as recording:
        trained(network, there["images"], there["labels"])
    counts = recording.trace().counts()
    assert (counts.d2h, counts.h2d, counts.syncs) == (0, 0, 0)
    assert not recording.trace().doubts


def test_a_network_keeps_copies_of_what_it_is_given() -> None:
    arrays, (images, labels) = arrays_of(SMALL, "float64"), batch("float64", 2, 32, 6)
    before = {name: values.copy() for name, values in arrays.items()}
    trained(Network(arrays, side=32, architecture=SMALL), images, labels)
    for name, values in arrays.items():
        np.testing.assert_array_equal(values, before[name])


@pytest.mark.parametrize("side", [0, 4, 20])
def test_a_side_that_does_not_halve_often_enough_is_refused(side: int) -> None:
    with pytest.raises(ValueError, match=f"must be a multiple of 8, got {side}"):
        Network(arrays_of(SMALL, "float32"), side=side, architecture=SMALL)
