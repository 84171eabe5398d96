"""The ticket's ResNet-50, and its first weights.

Source: examples/autograd/resnet.py of Apache SINGA at commit 7baf2c40 (SINGA-502), itself after torchvision: a stem,
four stages of bottleneck blocks with the stride on the 3x3 convolution, one fully connected layer. Names are
torchvision's, with SINGA's ``W b scale bias`` at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.backend import Array
from reference_impl.nn import (
    AvgPool2d,
    BatchNorm2d,
    Conv2d,
    Flatten,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    Sequential,
    add,
    convolution_weight,
    linear_weight,
)
from reference_impl.tensor import Tensor

__all__ = ["RESNET50", "Architecture", "Network", "first_arrays"]

EXPANSION = 4
"""Channels a block gives, over those it computes with."""


@dataclass(frozen=True, slots=True)
class Block:
    """One bottleneck: ``channels`` in, ``planes`` within, four times as many out."""

    name: str
    channels: int
    planes: int
    stride: int

    @property
    def projects(self) -> bool:
        """Whether the shortcut needs a convolution of its own to fit."""
        return self.stride != 1 or self.channels != self.planes * EXPANSION


@dataclass(frozen=True, slots=True)
class Architecture:
    """How many blocks each stage has, planes of the first, and how many classes there are."""

    stages: tuple[int, ...] = (3, 4, 6, 3)
    planes: int = 64
    classes: int = 1000

    def blocks(self) -> Iterator[Block]:
        """The blocks in their order; all stages but the first begin with a stride of 2."""
        channels = self.planes
        for stage, count in enumerate(self.stages):
            planes = self.planes * 2**stage
            for position in range(count):
                stride = 2 if stage and not position else 1
                yield Block(f"layer{stage + 1}.{position}", channels, planes, stride)
                channels = planes * EXPANSION

    def convolutions(self) -> Iterator[tuple[str, str, tuple[int, int, int, int]]]:
        """Name, name of the normalisation behind it, and shape of each kernel, in forward order."""
        yield "conv1", "bn1", (self.planes, 3, 7, 7)
        for block in self.blocks():
            outputs = block.planes * EXPANSION
            kernels = (
                (block.planes, block.channels, 1, 1),
                (block.planes, block.planes, 3, 3),
                (outputs, block.planes, 1, 1),
            )
            for position, shape in enumerate(kernels, start=1):
                yield f"{block.name}.conv{position}", f"{block.name}.bn{position}", shape
            if block.projects:
                shape = (outputs, block.channels, 1, 1)
                yield f"{block.name}.downsample.conv", f"{block.name}.downsample.bn", shape

    @property
    def shrinkage(self) -> int:
        """Pixels of an image for one of the last map: the stem halves twice, every stage but the first once."""
        return int(4 * 2 ** (len(self.stages) - 1))

    @property
    def features(self) -> int:
        """What the last stage gives to the fully connected layer."""
        return int(self.planes * 2 ** (len(self.stages) - 1) * EXPANSION)


RESNET50 = Architecture()
"""53 convolutions and 161 parameter tensors, 25,557,032 numbers."""


class Network(Module):
    """Logits of square images (N, 3, ``side``, ``side``), ``side`` a multiple of 32 (of what its stages shrink by).

    ``arrays``: parameters and running statistics by name, as ``first_arrays`` gives them; the network keeps copies.
    The average is taken over the whole last map, 7x7 at SINGA's 224.
    """

    def __init__(
        self, arrays: Mapping[str, Array], *, side: int = 224, architecture: Architecture = RESNET50
    ) -> None:
        last_side, rest = divmod(side, architecture.shrinkage)
        if last_side < 1 or rest:
            raise ValueError(
                f"the side of an image must be a multiple of {architecture.shrinkage}, got {side}"
            )
        self.stem = Sequential(
            _convolution(arrays, "conv1", stride=2, padding=3),
            _normalisation(arrays, "bn1"),
            ReLU(),
            MaxPool2d(3, stride=2, padding=1),
        )
        self.blocks = Sequential(*(Bottleneck(arrays, block) for block in architecture.blocks()))
        self.head = Sequential(
            AvgPool2d(last_side, stride=1),
            Flatten(),
            Linear(arrays["fc.W"].copy(), arrays["fc.b"].copy(), name="fc"),
        )

    def __call__(self, x: Tensor) -> Tensor:
        """The (N, classes) logits."""
        return self.head(self.blocks(self.stem(x)))


class Bottleneck(Module):
    """1x1, 3x3 and 1x1 convolution, each normalised, added to what came in."""

    def __init__(self, arrays: Mapping[str, Array], block: Block) -> None:
        self.name = name = block.name
        self.branch = Sequential(
            _convolution(arrays, f"{name}.conv1"),
            _normalisation(arrays, f"{name}.bn1"),
            ReLU(),
            _convolution(arrays, f"{name}.conv2", stride=block.stride, padding=1),
            _normalisation(arrays, f"{name}.bn2"),
            ReLU(),
            _convolution(arrays, f"{name}.conv3"),
            _normalisation(arrays, f"{name}.bn3"),
        )
        self.shortcut = Sequential(
            *(
                _convolution(arrays, f"{name}.downsample.conv", stride=block.stride),
                _normalisation(arrays, f"{name}.downsample.bn"),
            )
            if block.projects
            else ()
        )
        self.rectifier = ReLU()

    def __call__(self, x: Tensor) -> Tensor:
        """The sum of both ways, rectified; the branch comes first, so that its gradients come last."""
        return self.rectifier(add(self.branch(x), self.shortcut(x)))


def first_arrays(
    random: np.random.RandomState, dtype: str, architecture: Architecture = RESNET50
) -> dict[str, NDArray[Any]]:
    """Parameters as SINGA's layers draw them, layer by layer, and running statistics of mean 0 and variance 1."""
    arrays = {}
    for convolution, normalisation, shape in architecture.convolutions():
        outputs, channels, height, width = shape
        drawn = convolution_weight(random, outputs, channels, (height, width))
        arrays[f"{convolution}.W"] = drawn.astype(dtype)
        for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("variance", 1)):
            arrays[f"{normalisation}.{part}"] = np.full(outputs, value, dtype)
    arrays["fc.W"] = linear_weight(random, architecture.features, architecture.classes).astype(
        dtype
    )
    arrays["fc.b"] = np.zeros(architecture.classes, dtype)
    return arrays


def _convolution(
    arrays: Mapping[str, Array], name: str, *, stride: int = 1, padding: int = 0
) -> Conv2d:
    return Conv2d(arrays[f"{name}.W"].copy(), stride=stride, padding=padding, name=name)


def _normalisation(arrays: Mapping[str, Array], name: str) -> BatchNorm2d:
    scale, bias, mean, variance = (
        arrays[f"{name}.{part}"].copy() for part in ("scale", "bias", "mean", "variance")
    )
    return BatchNorm2d(scale, bias, mean=mean, variance=variance, name=name)
