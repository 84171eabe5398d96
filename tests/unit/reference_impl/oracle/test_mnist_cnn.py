"""The oracle of the convolutional network against its own slopes, the other oracle, and SINGA's recorded run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_impl.oracle.mnist_cnn import loss_and_gradients, train
from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy

GOLDEN = Path(__file__).parents[3] / "golden"
RECORDED = json.loads((GOLDEN / "singa_cnn_trajectory.json").read_text())


def a_network(seed: int = 3) -> dict[str, Any]:
    """The smallest that has every layer: 16x16 becomes 12, 6, 2 and 1."""
    rng = np.random.default_rng(seed)
    shapes = {
        "conv1.W": (2, 1, 5, 5),
        "conv1.b": (2,),
        "conv2.W": (3, 2, 5, 5),
        "conv2.b": (3,),
        "linear1.W": (3, 4),
        "linear1.b": (4,),
        "linear2.W": (4, 3),
        "linear2.b": (3,),
    }
    return {name: 0.4 * rng.normal(size=shape) for name, shape in shapes.items()}


def a_batch() -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    return rng.normal(size=(5, 1, 16, 16)), np.eye(3)[[0, 1, 2, 1, 0]]


def test_every_gradient_is_the_slope_of_the_loss(numeric_gradient: Any) -> None:
    (x, t), parameters = a_batch(), a_network()
    _, _, gradients = loss_and_gradients(x, t, parameters)
    assert set(gradients) == set(parameters)
    for name, values in parameters.items():

        def loss(moved: Any, name: str = name) -> float:
            return loss_and_gradients(x, t, {**parameters, name: moved})[0]

        slopes = numeric_gradient(loss, values, step=1e-6)
        np.testing.assert_allclose(gradients[name], slopes, rtol=1e-6, atol=1e-9, err_msg=name)
        assert gradients[name].any(), name


def test_its_loss_is_that_of_the_cross_entropy_oracle() -> None:
    (x, t), parameters = a_batch(), a_network()
    loss, logits, gradients = loss_and_gradients(x, t, parameters)
    truth = softmax_cross_entropy(logits, t)
    assert loss == pytest.approx(float(truth.loss), rel=1e-14)
    np.testing.assert_allclose(gradients["linear2.b"], truth.gradient.sum(axis=0))


def test_the_velocity_starts_as_the_first_decayed_gradient_and_then_keeps_its_momentum() -> None:
    (x, t), first = a_batch(), a_network()
    options = {"learning_rate": 0.1, "momentum": 0.5, "weight_decay": 0.2}
    one = train(x[None], t[None], first, **options)
    two = train(np.stack([x, x]), np.stack([t, t]), first, **options)
    for name, values in first.items():
        velocity = one.gradients[0][name] + 0.2 * values
        after_one = values - 0.1 * velocity
        np.testing.assert_allclose(one.parameters[name], after_one, rtol=1e-14)
        velocity = 0.5 * velocity + two.gradients[1][name] + 0.2 * after_one
        np.testing.assert_allclose(two.parameters[name], after_one - 0.1 * velocity, rtol=1e-14)


def recorded_batches() -> tuple[Any, Any]:
    """Images and one-hot labels of the recorded run, by its recipe."""
    random = np.random.RandomState(0)
    images = random.rand(320, 1, 28, 28).astype(np.float32)
    labels = random.randint(0, 10, 320)
    for image, label in zip(images, labels, strict=True):
        image[0, 2 * label : 2 * label + 4, 2 * label : 2 * label + 4] += 1.0
    return images.reshape(5, 64, 1, 28, 28), np.eye(10)[labels].reshape(5, 64, 10)


def recorded_weights() -> dict[str, Any]:
    drawn = {
        "conv1": ((20, 1, 5, 5), 2 / 45),
        "conv2": ((50, 20, 5, 5), 2 / 550),
        "linear1": ((800, 500), 2 / 1300),
        "linear2": ((500, 10), 2 / 510),
    }
    parameters = {}
    for k, (name, (shape, variance)) in enumerate(drawn.items()):
        weight = np.random.RandomState(100 + k).normal(0, np.sqrt(variance), shape)
        parameters[f"{name}.W"] = weight.astype(np.float32)
        parameters[f"{name}.b"] = np.zeros(shape[0] if len(shape) == 4 else shape[1])
    return parameters


def test_it_reproduces_the_recorded_run_of_singa() -> None:
    images, targets = recorded_batches()
    truth = train(
        images,
        targets,
        recorded_weights(),
        learning_rate=RECORDED["lr"],
        momentum=RECORDED["momentum"],
        weight_decay=RECORDED["weight_decay"],
    )
    steps = RECORDED["steps_out"]
    # SINGA computed in float32: 1.2e-7 in the losses, 1.6e-6 in the norms.
    np.testing.assert_allclose(truth.losses, [step["loss"] for step in steps], rtol=1.3e-7)
    right = (truth.logits.argmax(axis=2) == targets.argmax(axis=2)).sum(axis=1)
    assert right.tolist() == [step["correct"] for step in steps]
    for step, gradients in zip(steps, truth.gradients, strict=True):
        for name, norm in step["grad_l2"].items():
            assert np.linalg.norm(gradients[name]) == pytest.approx(norm, rel=2e-6)
