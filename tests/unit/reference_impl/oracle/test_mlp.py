"""The training oracle against its own slopes, the other oracle, and what was published and recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_impl.oracle.mlp import loss_and_gradients, train
from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy

GOLDEN = Path(__file__).parents[3] / "golden"
TRAJECTORY = json.loads((GOLDEN / "singa_mlp_trajectory.json").read_text())[0]
PUBLISHED = json.loads((GOLDEN / "singa_published_runs.json").read_text())["mlp"][
    "PR779_fp32_seed0_native.py"
]


def a_network() -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    shapes = {"w0": (2, 3), "b0": (1, 3), "w1": (3, 2), "b1": (1, 2)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def recorded_training() -> Any:
    zeros = {"b0": np.zeros((1, 3)), "b1": np.zeros((1, 2))}
    weights = {name: np.array(TRAJECTORY[name]) for name in ("w0", "w1")}
    return train(
        np.array(TRAJECTORY["data"]),
        np.eye(2)[TRAJECTORY["label"]],
        {**weights, **zeros},
        steps=TRAJECTORY["steps"],
        every=100,
        learning_rate=TRAJECTORY["lr"],
    )


def test_every_gradient_is_the_slope_of_the_loss() -> None:
    rng = np.random.default_rng(4)
    x, t = rng.normal(size=(5, 2)), np.eye(2)[[0, 1, 1, 0, 1]]
    parameters = a_network()
    _, gradients = loss_and_gradients(x, t, parameters)
    h = 1e-6  # rounding 1e-16 / h = 1e-10 outweighs the h^2 of central differences
    for name, values in parameters.items():
        for place in np.ndindex(values.shape):
            step = np.zeros_like(values)
            step[place] = h
            above, _ = loss_and_gradients(x, t, {**parameters, name: values + step})
            below, _ = loss_and_gradients(x, t, {**parameters, name: values - step})
            assert gradients[name][place] == pytest.approx((above - below) / (2 * h), abs=2e-9)


def test_its_loss_is_that_of_the_cross_entropy_oracle() -> None:
    rng = np.random.default_rng(5)
    x, ids = rng.normal(size=(6, 2)), np.array([0, 1, 1, 0, 1, 0])
    parameters = a_network()
    hidden = np.maximum(x @ parameters["w0"] + parameters["b0"], 0)
    loss, gradients = loss_and_gradients(x, np.eye(2)[ids], parameters)
    truth = softmax_cross_entropy(hidden @ parameters["w1"] + parameters["b1"], ids)
    assert loss == pytest.approx(float(truth.loss), rel=1e-14)
    np.testing.assert_allclose(gradients["b1"], truth.gradient.sum(axis=0, keepdims=True))


def test_training_reproduces_the_published_losses() -> None:
    # The published run was float32 and its last loss is 5.25e-7 from the float64 one.
    np.testing.assert_allclose(recorded_training().losses, PUBLISHED, rtol=5.3e-7)


def test_training_reproduces_the_recorded_run_of_singa() -> None:
    truth = recorded_training()
    # Float32 against float64: 1e-7 in one step's gradients, up to 1e-6 after a thousand steps.
    np.testing.assert_allclose(truth.losses, TRAJECTORY["losses_every_100"], rtol=1e-6)
    for name, recorded in TRAJECTORY["first_grads"].items():
        np.testing.assert_allclose(
            truth.first_gradients[name].ravel(), np.ravel(recorded), atol=1e-7
        )
    for name, recorded in TRAJECTORY["final"].items():
        np.testing.assert_allclose(
            truth.parameters[name].ravel(), np.ravel(recorded), rtol=2e-6, atol=2e-7
        )


def test_losses_are_taken_before_the_update() -> None:
    x, t, parameters = np.ones((4, 2)), np.eye(2)[[0, 1, 0, 0]], a_network()
    first, _ = loss_and_gradients(x, t, parameters)
    truth = train(x, t, parameters, steps=3, every=2, learning_rate=0.1)
    assert truth.losses[0] == first
    assert len(truth.losses) == 2
    assert truth.losses[1] < first
