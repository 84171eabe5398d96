"""Convolution as one matrix product: every window a column. For every array namespace."""

from __future__ import annotations

from reference_impl.backend import Array, namespace
from reference_impl.nn.layout import batch_first, batch_last
from reference_impl.nn.windows import Windows

__all__ = ["ByColumns"]


class ByColumns:
    """One convolution of images ``x`` (N, C, H, W) with kernels ``w`` (O, C, height, width), and its two gradients.

    One product of ``weights``, (O, C * kernel), with the windows as ``columns``, (C * kernel, places * N). Keeps both: the
    columns take kernel / stride times the memory of x, or are x itself where a 1x1 kernel has stride 1.
    """

    def __init__(self, windows: Windows, x: Array, w: Array) -> None:
        self._windows = windows
        count, channels, height, width = x.shape
        self._images = (channels, height, width, count)
        self._places = windows.places(height, width)
        self.columns = windows.columns(windows.padded(batch_last(x)))
        self._kernels = w.shape
        self.weights = w.reshape((w.shape[0], self.columns.shape[0]))

    def output(self) -> Array:
        """(N, O, down, across), batch last in memory."""
        y = self.weights @ self.columns
        return batch_first(y.reshape((self._kernels[0], *self._places, self._images[-1])))

    def image_gradient(self, dy: Array) -> Array:
        """(N, C, H, W), batch last in memory."""
        return self._spread(self.weights.T @ self._rows(dy))

    def kernel_gradient(self, dy: Array) -> Array:
        """(O, C, height, width)."""
        return (self._rows(dy) @ self.columns.T).reshape(self._kernels)

    def _rows(self, dy: Array) -> Array:
        return batch_last(dy).reshape((self._kernels[0], self.columns.shape[1]))

    def _spread(self, columns: Array) -> Array:
        # The way back of Windows.columns: each pixel gathers the gradients of the windows it lies in.
        windows = self._windows
        if windows.is_identity:
            return batch_first(columns.reshape(self._images))
        channels, height, width, count = self._images
        above, left = windows.padding
        shape = (channels, height + 2 * above, width + 2 * left, count)
        bordered = namespace(columns).zeros(shape, dtype=columns.dtype)
        by_offset = columns.reshape((channels, *windows.kernel, *self._places, count))
        for i, j in windows.offsets():
            pixels = windows.at((i, j), bordered)
            pixels += by_offset[:, i, j]
        return batch_first(windows.unpadded(bordered))
