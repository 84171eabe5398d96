"""A yardstick: the ticket's training loop in plain NumPy, never to be made faster.

It is timed in the same rounds as the workload ``mlp``, for the reason given in
``frozen_softmax_cross_entropy``; a test compares its text too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["train"]

Array = NDArray[Any]


def train(
    data: Array,
    target: Array,
    parameters: Mapping[str, Array],
    *,
    steps: int,
    every: int,
    learning_rate: float,
) -> tuple[Array, dict[str, Array]]:
    """The loss before every ``every``-th update, and the last parameters; in the dtype of ``data``."""
    w0, b0, w1, b1 = (parameters[name].copy() for name in ("w0", "b0", "w1", "b1"))
    shares = target.astype(data.dtype)
    shares /= len(data)
    losses = []
    for step in range(steps):
        hidden = np.maximum(data @ w0 + b0, 0)
        logits = hidden @ w1 + b1
        shifted = logits - logits.max(axis=1, keepdims=True)
        exponentials = np.exp(shifted)
        totals = exponentials.sum(axis=1, keepdims=True)
        loss = (shares * (np.log(totals) - shifted)).sum()
        if step % every == 0:
            losses.append(loss)
        d_logits = exponentials / (totals * len(data)) - shares
        d_hidden = np.where(hidden > 0, d_logits @ w1.T, 0)
        w1 -= learning_rate * (hidden.T @ d_logits)
        b1 -= learning_rate * d_logits.sum(axis=0, keepdims=True)
        w0 -= learning_rate * (data.T @ d_hidden)
        b0 -= learning_rate * d_hidden.sum(axis=0, keepdims=True)
    return np.array(losses), {"w0": w0, "b0": b0, "w1": w1, "b1": b1}
