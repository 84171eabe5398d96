"""A yardstick: the ticket's convolutional network in plain NumPy, never to be made faster.

It is timed in the same rounds as the workload ``mnist_cnn``, for the reason given in
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
    images: Array,
    targets: Array,
    parameters: Mapping[str, Array],
    *,
    learning_rate: float,
    momentum: float,
    weight_decay: float,
) -> tuple[Array, Array, dict[str, Array], dict[str, Array]]:
    """The losses (S,) and logits (S, N, C) before each update, the last parameters and gradients."""
    p = {name: values.copy() for name, values in parameters.items()}
    velocity: dict[str, Array] = {}
    losses, logits = [], []
    gradients: dict[str, Array] = {}
    for x, t in zip(images, targets, strict=True):
        loss, y, gradients = _step(x, t.astype(x.dtype), p)
        losses.append(loss)
        logits.append(y)
        for name, gradient in gradients.items():
            gradient = gradient + weight_decay * p[name]
            known = velocity.get(name)
            velocity[name] = gradient if known is None else momentum * known + gradient
            p[name] -= learning_rate * velocity[name]
    return np.array(losses), np.array(logits), p, gradients


def _step(x: Array, t: Array, p: dict[str, Array]) -> tuple[Array, Array, dict[str, Array]]:
    columns1 = _columns(x)
    a1 = np.maximum(_convolved(columns1, p["conv1.W"], p["conv1.b"]), 0)
    m1 = _fours(a1).max(axis=(3, 5))
    columns2 = _columns(m1)
    a2 = np.maximum(_convolved(columns2, p["conv2.W"], p["conv2.b"]), 0)
    m2 = _fours(a2).max(axis=(3, 5))
    flat = m2.reshape(len(x), -1)
    hidden = np.maximum(flat @ p["linear1.W"] + p["linear1.b"], 0)
    logits = hidden @ p["linear2.W"] + p["linear2.b"]
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    totals = exponentials.sum(axis=1, keepdims=True)
    loss = (t * (np.log(totals) - shifted)).sum() / len(x)
    g = {}
    d = (exponentials / totals - t) / len(x)
    g["linear2.b"], g["linear2.W"] = d.sum(axis=0), hidden.T @ d
    d = np.where(hidden > 0, d @ p["linear2.W"].T, 0)
    g["linear1.b"], g["linear1.W"] = d.sum(axis=0), flat.T @ d
    d = _unpooled((d @ p["linear1.W"].T).reshape(m2.shape), m2, a2)
    g["conv2.W"], g["conv2.b"] = _kernel_gradients(columns2, d, p["conv2.W"])
    d = _unpooled(_image_gradient(d, p["conv2.W"], m1), m1, a1)
    g["conv1.W"], g["conv1.b"] = _kernel_gradients(columns1, d, p["conv1.W"])
    return loss, logits, g


def _columns(x: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, (5, 5), axis=(2, 3))
    return np.ascontiguousarray(windows.transpose(0, 2, 3, 1, 4, 5))


def _convolved(columns: Array, w: Array, b: Array) -> Array:
    y = columns.reshape(-1, w[0].size) @ w.reshape(len(w), -1).T + b
    return y.reshape(*columns.shape[:3], len(w)).transpose(0, 3, 1, 2)


def _fours(x: Array) -> Array:
    images, channels, rows, columns = x.shape
    return np.ascontiguousarray(x).reshape(images, channels, rows // 2, 2, columns // 2, 2)


def _unpooled(d: Array, largest: Array, a: Array) -> Array:
    dx = np.zeros(a.shape, a.dtype)
    free = np.ones(largest.shape, bool)
    for i in (0, 1):
        for j in (0, 1):
            chosen = free & (a[:, :, i::2, j::2] == largest)
            free &= ~chosen
            dx[:, :, i::2, j::2] = np.where(chosen, d, 0)
    return np.where(a > 0, dx, 0)


def _kernel_gradients(columns: Array, d: Array, w: Array) -> tuple[Array, Array]:
    d_rows = d.transpose(0, 2, 3, 1).reshape(-1, len(w))
    return (d_rows.T @ columns.reshape(len(d_rows), -1)).reshape(w.shape), d_rows.sum(axis=0)


def _image_gradient(d: Array, w: Array, x: Array) -> Array:
    images, outputs, rows, columns = d.shape
    d_columns = d.transpose(0, 2, 3, 1).reshape(-1, outputs) @ w.reshape(outputs, -1)
    by_pixel = d_columns.reshape(images, rows, columns, *w.shape[1:])
    dx = np.zeros_like(x)
    for i in range(5):
        for j in range(5):
            pixels = by_pixel[:, :, :, :, i, j].transpose(0, 3, 1, 2)
            dx[:, :, i : i + rows, j : j + columns] += pixels
    return dx
