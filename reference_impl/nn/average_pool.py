"""The mean of every window."""

from __future__ import annotations

from reference_impl.autograd import Operation
from reference_impl.backend import Array, accumulation_dtype, namespace
from reference_impl.nn.layout import batch_first, batch_last, checked_images
from reference_impl.nn.module import Module
from reference_impl.nn.windows import Pair, Windows
from reference_impl.tensor import Tensor

__all__ = ["AveragePooling", "AvgPool2d"]


class AveragePooling(Operation):
    """The mean of each window of x (N, C, H, W), over its pixels within the image: the border does not count."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows

    def forward(self, x: Array) -> Array:
        """The (N, C, down, across) means, batch last in memory, summed in float32 or wider."""
        count, channels, height, width = checked_images(x, "AveragePooling")
        self._windows.places(height, width)
        means = self._sums(batch_last(x)) * self._shares(x, (height, width))
        if self.recording:
            self._images = (channels, height, width, count)
        return batch_first(means.astype(x.dtype, copy=False))

    def backward(self, dy: Array) -> Array:
        """Each pixel's share of the gradients of the windows it lies in."""
        windows = self._windows
        channels, height, width, count = self._images
        above, left = windows.padding
        d = (batch_last(dy) * self._shares(dy, (height, width))).astype(dy.dtype, copy=False)
        shape = (channels, height + 2 * above, width + 2 * left, count)
        dx = namespace(dy).zeros(shape, dtype=dy.dtype)
        for offset in windows.offsets():
            target = windows.at(offset, dx)
            target += d
        return batch_first(windows.unpadded(dx))

    def _sums(self, images: Array) -> Array:
        windows, wide = self._windows, accumulation_dtype(images.dtype)
        bordered = windows.padded(images)
        first, *others = (windows.at(offset, bordered) for offset in windows.offsets())
        sums = first.astype(wide)
        for pixels in others:
            sums += pixels
        return sums

    def _shares(self, like: Array, size: Pair) -> Array | float:
        windows = self._windows
        if windows.padding == (0, 0):
            return 1.0 / (windows.kernel[0] * windows.kernel[1])
        # One over the number of pixels each window has within the image, counted on the device: a table made
        # on the host would have to be copied there.
        height, width = size
        ones = namespace(like).full(
            (1, height, width, 1), 1.0, dtype=accumulation_dtype(like.dtype)
        )
        return 1.0 / self._sums(ones)


class AvgPool2d(Module):
    """Average pooling over windows of ``kernel``, side by side unless ``stride`` says otherwise."""

    def __init__(
        self, kernel: int | Pair, *, stride: int | Pair | None = None, padding: int | Pair = 0
    ) -> None:
        self.windows = Windows.pooling(kernel, stride=stride, padding=padding)

    def __call__(self, x: Tensor) -> Tensor:
        """The (N, C, down, across) means."""
        return AveragePooling(self.windows)(x)[0]
