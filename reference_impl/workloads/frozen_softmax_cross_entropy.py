"""A yardstick: softmax cross-entropy in plain NumPy, never to be made faster.

It is timed in the same rounds as the op. The ratio of the two can be compared between samples taken on
different days, because a slow or busy machine slows both; that holds only as long as this code stays as it is.
Whoever changes a line of it ends every series of ratios measured against it, so a test compares its text.

Mean over rows of integer ids (N,); the same passes over memory, temporaries and accumulation as the op.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["backward", "forward"]

Array = NDArray[Any]
Saved = tuple[Array, Array, Array, np.dtype[Any]]


def forward(logits: Array, labels: Array) -> tuple[Array, Saved]:
    """The mean loss of ``logits`` (N, C), 0-d, and what ``backward`` needs; 16-bit logits in float32."""
    wide = np.dtype(np.float64) if logits.dtype == np.float64 else np.dtype(np.float32)
    rows = np.arange(logits.shape[0])
    shifted = logits.astype(wide, copy=False)
    shifted = shifted - shifted.max(axis=1, keepdims=True)
    at_label = shifted[rows, labels]
    exponentials = np.exp(shifted, out=shifted)
    totals = exponentials.sum(axis=1)
    losses = np.log(totals) - at_label
    loss = np.asarray(losses.mean(dtype=np.float64), dtype=wide)
    return loss, (exponentials, totals, labels, logits.dtype)


def backward(saved: Saved, dy: Array | float) -> Array:
    """The gradient of ``dy`` times the mean loss, in the dtype of the logits; ``dy`` is 0-d or a number."""
    exponentials, totals, labels, dtype = saved
    scale = dy / exponentials.shape[0]
    gradient = exponentials * (scale / totals)[:, None]
    gradient[np.arange(gradient.shape[0]), labels] -= scale
    return np.asarray(gradient, dtype=dtype)
