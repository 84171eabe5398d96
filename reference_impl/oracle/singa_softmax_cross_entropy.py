"""Apache SINGA's softmax cross-entropy in float64, with the five things in which it departs from the mathematics.

1. A probability below ``FLT_MIN`` counts as ``FLT_MIN`` in the loss, so that a row's loss stops at 87.33655. The
   gradient knows nothing of it.
2. A logit that is NaN or +inf makes its own probability NaN and every other one of its row 0, so that a row
   with a NaN can have a loss of 87.33655.
3. The bits of a label are read as int32, whatever its type.
4. Labels are ids exactly when there are as many of them as rows.
5. ``dy`` is not used.

Source: ``SoftMaxCrossEntropy`` in python/singa/autograd.py and ``ComputeCrossEntropy`` in tensor_math_cpp.h of
Apache SINGA at commit 7baf2c40 (SINGA-502); point 2 is how the softmax of its CPU build answers when it is run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["FLT_MIN", "SingaTruth", "singa_softmax_cross_entropy"]

FLT_MIN = float(np.finfo(np.float32).tiny)
"""The smallest normal float32, 1.17549435e-38: SINGA's lower limit of a probability under the logarithm."""


@dataclass(frozen=True, slots=True)
class SingaTruth:
    """``loss``: a scalar. ``probabilities`` and ``gradient``: (N, C)."""

    loss: float
    probabilities: NDArray[np.float64]
    gradient: NDArray[np.float64]


def singa_softmax_cross_entropy(logits: ArrayLike, labels: ArrayLike) -> SingaTruth:
    """What SINGA computes for ``logits`` (N, C) and four-byte ``labels`` of any type.

    Ids must lie in [0, C): SINGA itself reads other memory or ends the process there, and this raises
    ``ValueError``. Cost: N passes over C numbers.
    """
    x = np.asarray(logits).astype(np.float64)
    rows, classes = x.shape
    bits = np.ascontiguousarray(labels).view(np.int32)
    probabilities = np.zeros((rows, classes))
    gradient = np.zeros((rows, classes))
    loss = 0.0
    with np.errstate(invalid="ignore"):
        for i in range(rows):
            shifted = x[i] - np.fmax.reduce(x[i])  # fmax passes over NaN
            exponentials = np.where(np.isnan(shifted), np.inf, np.exp(shifted))
            p = exponentials / exponentials.sum()
            target = _target(bits, i, rows, classes)
            clamped = np.where(p < FLT_MIN, FLT_MIN, p)
            asked = target != 0
            loss += -(target[asked] * np.log(clamped[asked])).sum()
            probabilities[i] = p
            gradient[i] = (p - target) / rows
        return SingaTruth(float(loss / rows), probabilities, gradient)


def _target(bits: NDArray[np.int32], i: int, rows: int, classes: int) -> NDArray[np.float64]:
    if bits.size == rows:
        label = int(bits.reshape(rows)[i])
        if not 0 <= label < classes:
            raise ValueError(f"label {label} in row {i} is outside [0, {classes})")
        one_hot = np.zeros(classes)
        one_hot[label] = 1.0
        return one_hot
    row = bits.reshape(rows, classes)[i].astype(np.float64)
    return np.asarray(row / row.sum())
