"""The largest value of every window."""

from __future__ import annotations

import math

from reference_impl.autograd import Operation
from reference_impl.backend import Array, namespace
from reference_impl.nn.layout import batch_first, batch_last, checked_images
from reference_impl.nn.module import Module
from reference_impl.nn.windows import Pair, Windows
from reference_impl.ops.selection import select
from reference_impl.tensor import Tensor

__all__ = ["MaxPool2d", "MaxPooling"]


class MaxPooling(Operation):
    """The maximum of each window of x (N, C, H, W); the border counts as -inf.

    The gradient goes to the first pixel, row by row, that holds the maximum. A window with a NaN gives NaN, and
    its gradient goes to its first pixel. Saved for ``backward``: x and the maxima.
    """

    def __init__(self, windows: Windows) -> None:
        self._windows = windows

    def forward(self, x: Array) -> Array:
        """The (N, C, down, across) maxima, batch last in memory."""
        xp, windows = namespace(x), self._windows
        _, _, height, width = checked_images(x, "MaxPooling")
        windows.places(height, width)
        bordered = windows.padded(batch_last(x), -math.inf)
        first, *others = (windows.at(offset, bordered) for offset in windows.offsets())
        largest = xp.ascontiguousarray(first) if not others else xp.maximum(first, others[0])
        for pixels in others[1:]:
            xp.maximum(largest, pixels, out=largest)
        if self.recording:
            self._saved = (bordered, largest)
        return batch_first(largest)

    def backward(self, dy: Array) -> Array:
        """``dy`` at the pixel that was chosen, 0 elsewhere."""
        bordered, largest = self._saved
        xp, windows = namespace(largest), self._windows
        d = batch_last(dy)
        dx = xp.zeros(bordered.shape, dtype=d.dtype)
        free = None
        for offset in windows.offsets():
            # Not "==": where the maximum is NaN nothing equals it, but nothing is below it either.
            chosen = ~(windows.at(offset, bordered) < largest)
            if free is None:
                free = ~chosen
            else:
                chosen &= free
                free ^= chosen
            target = windows.at(offset, dx)
            if windows.overlap:
                target += select(chosen, d)
            else:
                select(chosen, d, out=target)
        return batch_first(windows.unpadded(dx))


class MaxPool2d(Module):
    """Max pooling over windows of ``kernel``, side by side unless ``stride`` says otherwise."""

    def __init__(
        self, kernel: int | Pair, *, stride: int | Pair | None = None, padding: int | Pair = 0
    ) -> None:
        self.windows = Windows.pooling(kernel, stride=stride, padding=padding)

    def __call__(self, x: Tensor) -> Tensor:
        """The (N, C, down, across) maxima."""
        return MaxPooling(self.windows)(x)[0]
