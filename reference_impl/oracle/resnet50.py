"""The forward pass of the ticket's residual network in float64, one position of one kernel at a time.

How many blocks there are, and which of them has a convolution in its shortcut, is read off the names of the
weights; strides follow the definition: 2 in the stem, and in the first block of every stage but the first. The
gradients of a network are held against slopes of this loss. Source: examples/autograd/resnet.py of Apache SINGA at
commit 7baf2c40, the program quoted in SINGA-502.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ResnetTruth", "forward"]

Float64Array = NDArray[np.float64]
Weights = Mapping[str, Float64Array]


@dataclass(frozen=True, slots=True)
class ResnetTruth:
    """``logits`` (N, classes), and the mean cross-entropy of the labels."""

    logits: Float64Array
    loss: float


def forward(
    images: ArrayLike, labels: ArrayLike, weights: Mapping[str, ArrayLike], *, training: bool = True
) -> ResnetTruth:
    """Logits and loss of ``images`` (N, 3, side, side) with class ids ``labels`` (N,).

    ``weights``: ``conv1.W``, ``layer1.0.conv1.W`` and so on (O, C, height, width), ``.scale .bias .mean .variance``
    of every ``bn``, ``fc.W`` (inputs, classes) and ``fc.b``. While ``training``, means and variances are those of
    the batch. Cost of ResNet-50: about 0.3 s for 2 images of 64x64.
    """
    w = {name: np.asarray(values).astype(np.float64) for name, values in weights.items()}
    x = _convolved(np.asarray(images).astype(np.float64), w["conv1.W"], stride=2, border=3)
    x = np.maximum(_normalised(x, w, "bn1", training=training), 0)
    x = _largest_of_nine(x)
    stage = 1
    while f"layer{stage}.0.conv1.W" in w:
        block = 0
        while f"layer{stage}.{block}.conv1.W" in w:
            stride = 2 if stage > 1 and block == 0 else 1
            x = _block(x, w, f"layer{stage}.{block}", stride=stride, training=training)
            block += 1
        stage += 1
    logits = x.mean(axis=(2, 3)) @ w["fc.W"] + w["fc.b"]
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    chosen = [log_p[i, label] for i, label in enumerate(np.asarray(labels))]
    return ResnetTruth(logits, float(-np.mean(chosen)))


def _block(x: Float64Array, w: Weights, name: str, *, stride: int, training: bool) -> Float64Array:
    y = _convolved(x, w[f"{name}.conv1.W"])
    y = np.maximum(_normalised(y, w, f"{name}.bn1", training=training), 0)
    y = _convolved(y, w[f"{name}.conv2.W"], stride=stride, border=1)
    y = np.maximum(_normalised(y, w, f"{name}.bn2", training=training), 0)
    y = _convolved(y, w[f"{name}.conv3.W"])
    y = _normalised(y, w, f"{name}.bn3", training=training)
    if f"{name}.downsample.conv.W" in w:
        x = _convolved(x, w[f"{name}.downsample.conv.W"], stride=stride)
        x = _normalised(x, w, f"{name}.downsample.bn", training=training)
    return np.maximum(y + x, 0)


def _convolved(
    x: Float64Array, w: Float64Array, *, stride: int = 1, border: int = 0
) -> Float64Array:
    x = np.pad(x, ((0, 0), (0, 0), (border, border), (border, border)))
    size = w.shape[2]
    rows, columns = (x.shape[2] - size) // stride + 1, (x.shape[3] - size) // stride + 1
    y = np.zeros((len(w), len(x), rows, columns))
    for i in range(size):
        for j in range(size):
            seen = x[:, :, i : i + stride * rows : stride, j : j + stride * columns : stride]
            y += np.tensordot(w[:, :, i, j], seen, axes=((1,), (1,)))
    return y.transpose(1, 0, 2, 3)


def _normalised(x: Float64Array, w: Weights, name: str, *, training: bool) -> Float64Array:
    mean, variance = w[f"{name}.mean"], w[f"{name}.variance"]
    if training:
        mean, variance = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
    y = np.empty_like(x)
    for c in range(x.shape[1]):
        deviation = (x[:, c] - mean[c]) / np.sqrt(variance[c] + 1e-5)
        y[:, c] = w[f"{name}.scale"][c] * deviation + w[f"{name}.bias"][c]
    return y


def _largest_of_nine(x: Float64Array) -> Float64Array:
    rows, columns = x.shape[2] // 2, x.shape[3] // 2
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    nine = [
        x[:, :, i : i + 2 * rows : 2, j : j + 2 * columns : 2] for i in range(3) for j in range(3)
    ]
    largest: Float64Array = np.stack(nine).max(axis=0)
    return largest
