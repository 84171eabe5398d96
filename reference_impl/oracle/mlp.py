"""Full-batch training of the ticket's 2 -> 3 -> 2 network in float64, its gradients written out by hand.

Source: examples/autograd/mlp.py of Apache SINGA at commit 7baf2c40, the program quoted in SINGA-502.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["MlpTruth", "loss_and_gradients", "train"]

Float64Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MlpTruth:
    """``losses``: before the update of every ``every``-th step. Gradients and parameters by name."""

    losses: Float64Array
    first_gradients: Mapping[str, Float64Array]
    parameters: Mapping[str, Float64Array]


def train(
    data: ArrayLike,
    target: ArrayLike,
    parameters: Mapping[str, ArrayLike],
    *,
    steps: int,
    every: int,
    learning_rate: float,
) -> MlpTruth:
    """Gradient descent without momentum from ``parameters`` ``w0 b0 w1 b1`` on the whole batch.

    ``data`` (N, inputs), ``target`` (N, classes) with rows that sum to 1. Cost: about 90 us a step.
    """
    x = np.asarray(data).astype(np.float64)
    t = np.asarray(target).astype(np.float64)
    current = {name: np.asarray(values).astype(np.float64) for name, values in parameters.items()}
    _, first_gradients = loss_and_gradients(x, t, current)
    losses = []
    for step in range(steps):
        loss, gradients = loss_and_gradients(x, t, current)
        if step % every == 0:
            losses.append(loss)
        current = {name: current[name] - learning_rate * gradients[name] for name in current}
    return MlpTruth(np.array(losses), first_gradients, current)


def loss_and_gradients(
    x: Float64Array, t: Float64Array, parameters: Mapping[str, Float64Array]
) -> tuple[float, dict[str, Float64Array]]:
    """The mean cross-entropy of one forward pass, and its derivative by each parameter."""
    w0, b0, w1, b1 = (parameters[name] for name in ("w0", "b0", "w1", "b1"))
    before = x @ w0 + b0
    hidden = np.where(before > 0, before, 0.0)
    logits = hidden @ w1 + b1
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    loss = -(t * log_p).sum() / len(x)
    d_logits = (np.exp(log_p) - t) / len(x)
    d_before = np.where(before > 0, d_logits @ w1.T, 0.0)
    return float(loss), {
        "w0": x.T @ d_before,
        "b0": d_before.sum(axis=0, keepdims=True),
        "w1": hidden.T @ d_logits,
        "b1": d_logits.sum(axis=0, keepdims=True),
    }
