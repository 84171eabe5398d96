"""The convolutions of the ticket's two networks, and what each of them is, in float64 and by its definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.workloads.mnist_cnn_network import PARAMETERS, SIDE
from reference_impl.workloads.resnet50_network import EXPANSION, RESNET50, Architecture

__all__ = ["DIRECTIONS", "Case", "arrays_of", "cases", "errors_of", "noise"]

Shape = tuple[int, int, int, int]
Float64Array = NDArray[np.float64]

DIRECTIONS = ("output", "image gradient", "kernel gradient")

_UNIT = 2.0**-24
"""Half a step of float32 near 1: what rounding may change of a number."""

_BATCH_OF_MNIST_CNN = 64


@dataclass(frozen=True, slots=True)
class Case:
    """One convolution: images (N, C, H, W), kernels (O, C, height, width), and how the windows lie."""

    images: Shape
    kernels: Shape
    stride: int = 1
    padding: int = 0

    @property
    def name(self) -> str:
        """``4x64x16x16 under 64x64x3x3, padding 1``."""
        images, kernels = ("x".join(map(str, shape)) for shape in (self.images, self.kernels))
        stride = f", stride {self.stride}" if self.stride > 1 else ""
        padding = f", padding {self.padding}" if self.padding else ""
        return f"{images} under {kernels}{stride}{padding}"

    @property
    def output(self) -> Shape:
        """(N, O, down, across)."""
        down, across = (
            len(range(0, size + 2 * self.padding - window + 1, self.stride))
            for size, window in zip(self.images[2:], self.kernels[2:], strict=True)
        )
        return (self.images[0], self.kernels[0], down, across)


def cases(*, batch: int, side: int) -> tuple[Case, ...]:
    """All distinct convolutions of mnist_cnn, then of resnet50 on ``batch`` images of ``side`` by ``side``."""
    found = (*_of_mnist_cnn(), *_of_resnet50(RESNET50, batch=batch, side=side))
    return tuple(dict.fromkeys(found))


def _of_mnist_cnn() -> Iterator[Case]:
    side, channels = SIDE, 1
    for name in ("conv1.W", "conv2.W"):
        outputs, _, size, _ = kernels = PARAMETERS[name]
        assert len(kernels) == 4
        yield Case((_BATCH_OF_MNIST_CNN, channels, side, side), kernels)
        side, channels = (side - size + 1) // 2, outputs


def _of_resnet50(architecture: Architecture, *, batch: int, side: int) -> Iterator[Case]:
    yield Case((batch, 3, side, side), (architecture.planes, 3, 7, 7), stride=2, padding=3)
    side //= 4
    for block in architecture.blocks():
        planes, outputs = block.planes, block.planes * EXPANSION
        entering = (batch, block.channels, side, side)
        yield Case(entering, (planes, block.channels, 1, 1))
        yield Case((batch, planes, side, side), (planes, planes, 3, 3), block.stride, 1)
        if block.projects:
            yield Case(entering, (outputs, block.channels, 1, 1), block.stride)
        side //= block.stride
        yield Case((batch, planes, side, side), (outputs, planes, 1, 1))


def arrays_of(case: Case) -> tuple[Any, Any, Any]:
    """Images, kernels and a gradient of the output."""
    return noise(case.images), noise(case.kernels), noise(case.output)


def noise(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Normal noise, of other values for each shape."""
    return np.random.default_rng(shape).standard_normal(shape, np.float32)


def errors_of(case: Case, arrays: tuple[Any, Any, Any], got: tuple[Any, Any, Any]) -> list[float]:
    """Of each direction the largest error, in 2**-24 of the sum of the magnitudes that were added up there.

    NaN where something is NaN; infinity where anything is made of nothing, as beyond the reach of all windows.
    """
    x, w, dy = (array.astype(np.float64) for array in arrays)
    truths = _by_definition(case, x, w, dy)
    magnitudes = _by_definition(case, abs(x), abs(w), abs(dy))
    return [
        float(np.max(abs(found - truth) / np.maximum(_UNIT * magnitude, np.finfo(np.float64).tiny)))
        for found, truth, magnitude in zip(got, truths, magnitudes, strict=True)
    ]


def _by_definition(
    case: Case, x: Float64Array, w: Float64Array, dy: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Output and both gradients, one position within the window at a time."""
    border, step = case.padding, case.stride
    x = np.pad(x, ((0, 0), (0, 0), (border, border), (border, border)))
    y, dx, dw = np.zeros_like(dy), np.zeros_like(x), np.zeros_like(w)
    down, across = dy.shape[2:]
    for i, j in np.ndindex(w.shape[2:]):
        rows = slice(i, i + step * (down - 1) + 1, step)
        columns = slice(j, j + step * (across - 1) + 1, step)
        seen, kernel = x[:, :, rows, columns], w[:, :, i, j]
        y += np.tensordot(kernel, seen, axes=((1,), (1,))).swapaxes(0, 1)
        dx[:, :, rows, columns] += np.tensordot(kernel, dy, axes=((0,), (1,))).swapaxes(0, 1)
        dw[:, :, i, j] = np.tensordot(dy, seen, axes=((0, 2, 3), (0, 2, 3)))
    _, _, height, width = case.images
    return y, dx[:, :, border : border + height, border : border + width], dw
