"""Two-dimensional convolution (as everywhere in this field, correlation: the kernel is not turned round)."""

from __future__ import annotations

from reference_impl.autograd import Operation
from reference_impl.backend import Array, accumulation_dtype, namespace
from reference_impl.nn.layout import batch_first, batch_last, checked_images
from reference_impl.nn.module import Module, parameter
from reference_impl.nn.windows import Pair, Windows
from reference_impl.tensor import Tensor

__all__ = ["Conv2d", "Convolution"]


class Convolution(Operation):
    """x (N, C, H, W) with W (O, C, height, width), and b (O,) if given: every window times every kernel.

    One product of W, (O, C * kernel), with the windows as columns, (C * kernel, places * N). Cost: the windows
    take kernel / stride times the memory of x, and are kept for ``backward``; a 1x1 kernel of stride 1 uses x
    itself. The gradient of an input that needs none is not computed.
    """

    def __init__(self, windows: Windows) -> None:
        self._windows = windows

    def forward(self, x: Array, w: Array, b: Array | None = None) -> Array:
        """The (N, O, down, across) output, batch last in memory."""
        namespace(x, w)
        count, channels, height, width = checked_images(x, "Convolution")
        if w.ndim != 4 or w.shape[1:] != (channels, *self._windows.kernel):
            raise ValueError(
                f"weights of shape {w.shape} do not fit images of shape {x.shape}: "
                f"need (O, {channels}, {self._windows.kernel[0]}, {self._windows.kernel[1]})"
            )
        outputs = w.shape[0]
        down, across = self._windows.places(height, width)
        columns = self._windows.columns(self._windows.padded(batch_last(x)))
        y = w.reshape((outputs, columns.shape[0])) @ columns
        if b is not None:
            y += b.reshape((outputs, 1))
        if self.recording:
            self._saved = (columns, w)
            self._images = (channels, height, width, count)
        return batch_first(y.reshape((outputs, down, across, count)))

    def backward(self, dy: Array) -> tuple[Array | None, ...]:
        """The gradients of x, of W, and of b where there is one."""
        columns, w = self._saved
        outputs, depth = w.shape[0], columns.shape[0]
        d = batch_last(dy).reshape((outputs, columns.shape[1]))
        x_source, w_source, *b_source = self.sources
        dx = self._spread(w.reshape((outputs, depth)).T @ d) if x_source.requires_grad else None
        dw = (d @ columns.T).reshape(w.shape) if w_source.requires_grad else None
        if not b_source:
            return dx, dw
        db = d.sum(axis=1, dtype=accumulation_dtype(d.dtype)).astype(d.dtype, copy=False)
        return dx, dw, db

    def _spread(self, columns: Array) -> Array:
        # The way back of Windows.columns: each pixel gathers the gradients of the windows it lies in.
        windows = self._windows
        channels, height, width, count = self._images
        if windows.is_identity:
            return batch_first(columns.reshape(self._images))
        above, left = windows.padding
        shape = (channels, height + 2 * above, width + 2 * left, count)
        bordered = namespace(columns).zeros(shape, dtype=columns.dtype)
        down, across = windows.places(height, width)
        by_offset = columns.reshape((channels, *windows.kernel, down, across, count))
        for i, j in windows.offsets():
            pixels = windows.at((i, j), bordered)
            pixels += by_offset[:, i, j]
        return batch_first(windows.unpadded(bordered))


class Conv2d(Module):
    """The convolution with a trained kernel ``W`` (O, C, height, width) and, if given, a ``b`` (O,).

    ``stride`` and ``padding``: one number, or (down, across). ``backward`` yields W before b, as SINGA's does.
    """

    def __init__(
        self,
        weight: Array,
        bias: Array | None = None,
        *,
        stride: int | Pair = 1,
        padding: int | Pair = 0,
        name: str = "",
    ) -> None:
        if weight.ndim != 4:
            raise ValueError(f"a kernel has shape (O, C, height, width), got {weight.shape}")
        if bias is not None and bias.shape != weight.shape[:1]:
            raise ValueError(f"a bias of shape {bias.shape} for {weight.shape[0]} kernels")
        _, _, height, width = weight.shape
        self.windows = Windows.of((height, width), stride=stride, padding=padding)
        self.W = parameter(weight, name, "W")
        self.b = None if bias is None else parameter(bias, name, "b")

    def __call__(self, x: Tensor) -> Tensor:
        """The (N, O, down, across) output."""
        inputs = (x, self.W) if self.b is None else (x, self.W, self.b)
        return Convolution(self.windows)(*inputs)[0]
