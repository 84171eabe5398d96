"""Training of the ticket's convolutional network in float64, one place of one kernel at a time.

Convolutions and poolings are loops over the places of a window, as one would draw them on paper; gradients are
written out by hand, layer by layer. Source: examples/autograd/mnist_cnn.py and python/singa/opt.py of Apache SINGA
at commit 7baf2c40, the program quoted in SINGA-502.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CnnTruth", "loss_and_gradients", "train"]

Float64Array = NDArray[np.float64]
Parameters = Mapping[str, Float64Array]


@dataclass(frozen=True, slots=True)
class CnnTruth:
    """Of each step, before its update: ``losses`` (S,), ``logits`` (S, N, classes), and its gradients by name.

    ``parameters``: after the last update.
    """

    losses: Float64Array
    logits: Float64Array
    gradients: Sequence[Parameters]
    parameters: Parameters


def train(
    images: ArrayLike,
    targets: ArrayLike,
    parameters: Mapping[str, ArrayLike],
    *,
    learning_rate: float,
    momentum: float,
    weight_decay: float,
) -> CnnTruth:
    """One step for each batch of ``images`` (S, N, 1, height, width), ``targets`` (S, N, classes) one-hot.

    ``parameters``: ``conv1 conv2`` with ``.W`` (O, C, height, width) and ``linear1 linear2`` with ``.W`` (inputs,
    outputs), each with a ``.b``. The velocity starts as the first decayed gradient. Cost: about 0.1 s for a
    step of 64 images of 28x28.
    """
    current = {name: np.asarray(values).astype(np.float64) for name, values in parameters.items()}
    velocity = {name: np.zeros_like(values) for name, values in current.items()}
    losses: list[float] = []
    logits: list[Float64Array] = []
    gradients: list[Parameters] = []
    for x, t in zip(np.asarray(images), np.asarray(targets), strict=True):
        loss, of_step, slopes = loss_and_gradients(
            x.astype(np.float64), t.astype(np.float64), current
        )
        losses.append(loss)
        logits.append(of_step)
        gradients.append(slopes)
        for name, slope in slopes.items():
            velocity[name] = momentum * velocity[name] + slope + weight_decay * current[name]
            current[name] = current[name] - learning_rate * velocity[name]
    return CnnTruth(np.array(losses), np.array(logits), gradients, current)


def loss_and_gradients(
    x: Float64Array, t: Float64Array, p: Parameters
) -> tuple[float, Float64Array, dict[str, Float64Array]]:
    """The mean cross-entropy of ``x`` (N, 1, height, width), its logits, and its derivative by each parameter."""
    c1 = _convolved(x, p["conv1.W"], p["conv1.b"])
    m1, from1 = _largest_of_four(np.where(c1 > 0, c1, 0.0))
    c2 = _convolved(m1, p["conv2.W"], p["conv2.b"])
    m2, from2 = _largest_of_four(np.where(c2 > 0, c2, 0.0))
    flat = m2.reshape(len(x), -1)
    h = flat @ p["linear1.W"] + p["linear1.b"]
    hidden = np.where(h > 0, h, 0.0)
    logits = hidden @ p["linear2.W"] + p["linear2.b"]
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    loss = float(-(t * log_p).sum() / len(x))

    d_logits = (np.exp(log_p) - t) / len(x)
    d_h = np.where(h > 0, d_logits @ p["linear2.W"].T, 0.0)
    d_m2 = (d_h @ p["linear1.W"].T).reshape(m2.shape)
    d_c2 = np.where(c2 > 0, _back_to_largest(d_m2, from2), 0.0)
    d_m1, d_w2 = _convolution_gradients(d_c2, m1, p["conv2.W"])
    d_c1 = np.where(c1 > 0, _back_to_largest(d_m1, from1), 0.0)
    _, d_w1 = _convolution_gradients(d_c1, x, p["conv1.W"])
    return (
        loss,
        logits,
        {
            "conv1.W": d_w1,
            "conv1.b": d_c1.sum(axis=(0, 2, 3)),
            "conv2.W": d_w2,
            "conv2.b": d_c2.sum(axis=(0, 2, 3)),
            "linear1.W": flat.T @ d_h,
            "linear1.b": d_h.sum(axis=0),
            "linear2.W": hidden.T @ d_logits,
            "linear2.b": d_logits.sum(axis=0),
        },
    )


def _convolved(x: Float64Array, w: Float64Array, b: Float64Array) -> Float64Array:
    size = w.shape[2]
    rows, columns = x.shape[2] - size + 1, x.shape[3] - size + 1
    y = np.empty((len(x), len(w), rows, columns))
    for i in range(rows):
        for j in range(columns):
            window = x[:, :, i : i + size, j : j + size]
            y[:, :, i, j] = np.tensordot(window, w, axes=((1, 2, 3), (1, 2, 3))) + b
    return y


def _convolution_gradients(
    dy: Float64Array, x: Float64Array, w: Float64Array
) -> tuple[Float64Array, Float64Array]:
    size = w.shape[2]
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for i in range(dy.shape[2]):
        for j in range(dy.shape[3]):
            place = (slice(None), slice(None), slice(i, i + size), slice(j, j + size))
            dx[place] += np.tensordot(dy[:, :, i, j], w, axes=1)
            dw += np.tensordot(dy[:, :, i, j], x[place], axes=((0,), (0,)))
    return dx, dw


def _largest_of_four(x: Float64Array) -> tuple[Float64Array, NDArray[np.intp]]:
    # Which of the four it was: 0 and 1 above, 2 and 3 below; the first of equals.
    four = np.stack([x[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)])
    return four.max(axis=0), four.argmax(axis=0)


def _back_to_largest(dy: Float64Array, chosen: NDArray[np.intp]) -> Float64Array:
    images, channels, rows, columns = dy.shape
    dx = np.zeros((images, channels, 2 * rows, 2 * columns))
    for which, (i, j) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
        dx[:, :, i::2, j::2] = np.where(chosen == which, dy, 0.0)
    return dx
