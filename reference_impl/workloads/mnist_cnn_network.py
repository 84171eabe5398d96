"""The ticket's convolutional network, and its first weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.backend import Array
from reference_impl.nn import (
    Conv2d,
    Flatten,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    Sequential,
    convolution_weight,
    linear_weight,
)
from reference_impl.tensor import Tensor

__all__ = ["CLASSES", "PARAMETERS", "SIDE", "Network", "first_parameters"]

SIDE = 28
"""Rows and columns of an image."""

CLASSES = 10

PARAMETERS: Mapping[str, tuple[int, ...]] = {
    "conv1.W": (20, 1, 5, 5),
    "conv1.b": (20,),
    "conv2.W": (50, 20, 5, 5),
    "conv2.b": (50,),
    "linear1.W": (800, 500),
    "linear1.b": (500,),
    "linear2.W": (500, CLASSES),
    "linear2.b": (CLASSES,),
}
"""Shapes by name, 431,080 numbers: 28x28 becomes 20 of 24x24, 12x12, 50 of 8x8, 4x4 (800), 500, 10."""


class Network(Module):
    """Two convolutions with pooling, two fully connected layers; its parameters are copies of those given."""

    def __init__(self, parameters: Mapping[str, Array]) -> None:
        own = {name: parameters[name].copy() for name in PARAMETERS}
        self.layers = Sequential(
            Conv2d(own["conv1.W"], own["conv1.b"], name="conv1"),
            ReLU(),
            MaxPool2d(2),
            Conv2d(own["conv2.W"], own["conv2.b"], name="conv2"),
            ReLU(),
            MaxPool2d(2),
            Flatten(),
            Linear(own["linear1.W"], own["linear1.b"], name="linear1"),
            ReLU(),
            Linear(own["linear2.W"], own["linear2.b"], name="linear2"),
        )

    def __call__(self, x: Tensor) -> Tensor:
        """Logits (N, 10) of images (N, 1, 28, 28)."""
        return self.layers(x)


def first_parameters(seed: int, dtype: str) -> dict[str, NDArray[Any]]:
    """Weights drawn as SINGA's layers draw them, biases 0, on the host.

    Each weight has a generator of its own, 100 and up for seed 0, and is rounded to float32 first: so were the
    weights of the recorded run of SINGA.
    """
    drawn: dict[str, NDArray[Any]] = {
        name: np.zeros(shape, dtype) for name, shape in PARAMETERS.items()
    }
    weights = [name for name in PARAMETERS if name.endswith(".W")]
    for position, name in enumerate(weights):
        random = np.random.RandomState(100 + len(weights) * seed + position)
        shape = PARAMETERS[name]
        if len(shape) == 2:
            weight = linear_weight(random, *shape)
        else:
            outputs, channels, height, width = shape
            weight = convolution_weight(random, outputs, channels, (height, width))
        drawn[name] = weight.astype(np.float32).astype(dtype)
    return drawn
