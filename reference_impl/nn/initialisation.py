"""First weights, drawn on the host as SINGA's layers draw theirs.

``random`` is a NumPy generator, old or new. Arrays are float64, to be rounded to the dtype of the network; its
biases start at 0, scales at 1, running means at 0 and variances at 1.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["convolution_weight", "he_deviation", "linear_weight", "xavier_deviation"]


class Normal(Protocol):
    """What draws from a normal distribution: ``numpy.random.Generator`` or ``RandomState``."""

    def normal(self, loc: float, scale: float, size: Any) -> Any:
        """An array of shape ``size``."""
        ...


def xavier_deviation(fan_in: int, fan_out: int) -> float:
    """``sqrt(2 / (fan_in + fan_out))``, which keeps the variance both ways (Glorot and Bengio, 2010)."""
    return math.sqrt(2.0 / (fan_in + fan_out))


def he_deviation(fan_in: int) -> float:
    """``sqrt(2 / fan_in)``, which keeps the variance through rectifiers (He et al., 2015)."""
    return math.sqrt(2.0 / fan_in)


def linear_weight(random: Normal, inputs: int, outputs: int) -> NDArray[np.float64]:
    """W (inputs, outputs) with Xavier's deviation."""
    return _normal(random, xavier_deviation(inputs, outputs), (inputs, outputs))


def convolution_weight(
    random: Normal, outputs: int, channels: int, kernel: tuple[int, int]
) -> NDArray[np.float64]:
    """W (outputs, channels, height, width) with a deviation of ``sqrt(2 / (channels * kernel + outputs))``.

    It is neither Xavier's, whose fan-out counts the kernel too, nor He's, which has no fan-out: SINGA's own.
    """
    height, width = kernel
    deviation = xavier_deviation(channels * height * width, outputs)
    return _normal(random, deviation, (outputs, channels, height, width))


def _normal(random: Normal, deviation: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
    drawn: NDArray[np.float64] = np.asarray(random.normal(0.0, deviation, shape), dtype=np.float64)
    return drawn
