"""Two-dimensional convolution (as everywhere in this field, correlation: the kernel is not turned round)."""

from __future__ import annotations

from reference_impl.autograd import Operation
from reference_impl.backend import Array, accumulation_dtype, namespace
from reference_impl.kernels.cudnn_convolution import ByCudnn, takes
from reference_impl.nn.by_columns import ByColumns
from reference_impl.nn.layout import batch_last, checked_images
from reference_impl.nn.module import Module, parameter
from reference_impl.nn.windows import Pair, Windows
from reference_impl.tensor import Tensor

__all__ = ["Conv2d", "Convolution"]


class Convolution(Operation):
    """x (N, C, H, W) with W (O, C, height, width), and b (O,) if given: every window times every kernel.

    By columns and a matrix product (``by_columns``); by cuDNN for float32 on a GPU that has it. What the one or the
    other keeps is kept for ``backward``. The gradient of an input that needs none is not computed.
    """

    def __init__(self, windows: Windows) -> None:
        self._windows = windows

    def forward(self, x: Array, w: Array, b: Array | None = None) -> Array:
        """The (N, O, down, across) output."""
        namespace(x, w)
        _, channels, height, width = checked_images(x, "Convolution")
        if w.ndim != 4 or w.shape[1:] != (channels, *self._windows.kernel):
            raise ValueError(
                f"weights of shape {w.shape} do not fit images of shape {x.shape}: "
                f"need (O, {channels}, {self._windows.kernel[0]}, {self._windows.kernel[1]})"
            )
        self._windows.places(height, width)  # raises where not even one fits
        product = self._product(x, w)
        y = product.output()
        if b is not None:
            y += b.reshape((1, b.shape[0], 1, 1))
        if self.recording:
            self._saved = product
        return y

    def backward(self, dy: Array) -> tuple[Array | None, ...]:
        """The gradients of x, of W, and of b where there is one."""
        product = self._saved
        x_source, w_source, *b_source = self.sources
        dx = product.image_gradient(dy) if x_source.requires_grad else None
        dw = product.kernel_gradient(dy) if w_source.requires_grad else None
        if not b_source:
            return dx, dw
        d = batch_last(dy).reshape((dy.shape[1], dy.size // dy.shape[1]))
        db = d.sum(axis=1, dtype=accumulation_dtype(d.dtype)).astype(d.dtype, copy=False)
        return dx, dw, db

    def _product(self, x: Array, w: Array) -> ByColumns | ByCudnn:
        windows = self._windows
        if takes(x, w):
            return ByCudnn(x, w, stride=windows.stride, padding=windows.padding)
        return ByColumns(windows, x, w)


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
