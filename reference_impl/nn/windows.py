"""The places a window takes on an image: how many, which values it sees there, and the way back.

Images are (C, H, W, N) here, see ``layout``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reference_impl.backend import Array, namespace

__all__ = ["Pair", "Windows"]

Pair = tuple[int, int]
"""One number for the height and one for the width."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of ``kernel`` (height, width), ``stride`` apart, on images with a border of ``padding``."""

    kernel: Pair
    stride: Pair
    padding: Pair

    @classmethod
    def of(
        cls, kernel: int | Pair, *, stride: int | Pair | None = None, padding: int | Pair = 0
    ) -> Windows:
        """From one number for both directions, or two; without a ``stride`` the windows lie side by side.

        Raises ``ValueError`` for a kernel or stride below 1 or a padding below 0.
        """
        return cls(
            _pair("kernel", kernel, at_least=1),
            _pair("stride", kernel if stride is None else stride, at_least=1),
            _pair("padding", padding, at_least=0),
        )

    @classmethod
    def pooling(
        cls, kernel: int | Pair, *, stride: int | Pair | None = None, padding: int | Pair = 0
    ) -> Windows:
        """As ``of``, and every window has a pixel of the image in it: ``padding`` is at most half the kernel."""
        windows = cls.of(kernel, stride=stride, padding=padding)
        for border, size in zip(windows.padding, windows.kernel, strict=True):
            if 2 * border > size:
                raise ValueError(
                    f"padding {padding!r} is more than half the kernel {kernel!r}, so that windows "
                    "could lie outside the image"
                )
        return windows

    @property
    def is_identity(self) -> bool:
        """Whether the windows are the pixels themselves."""
        return self.kernel == self.stride == (1, 1) and self.padding == (0, 0)

    @property
    def overlap(self) -> bool:
        """Whether a pixel may lie in two windows."""
        return self.kernel[0] > self.stride[0] or self.kernel[1] > self.stride[1]

    def places(self, height: int, width: int) -> Pair:
        """How many windows there are down and across; ``ValueError`` when not even one fits."""
        above, left = self.padding
        down, across = self._steps(height + 2 * above, width + 2 * left)
        if down < 1 or across < 1:
            raise ValueError(
                f"windows of {self.kernel} do not fit on images of {(height, width)} with a border of {self.padding}"
            )
        return down, across

    def _steps(self, height: int, width: int) -> Pair:
        (window_height, window_width), (step_down, step_across) = self.kernel, self.stride
        down = (height - window_height) // step_down + 1
        across = (width - window_width) // step_across + 1
        return down, across

    def padded(self, images: Array, value: float = 0.0) -> Array:
        """``images`` with a border of ``value``; themselves where there is no border."""
        above, left = self.padding
        if not above and not left:
            return images
        channels, height, width, count = images.shape
        shape = (channels, height + 2 * above, width + 2 * left, count)
        bordered = namespace(images).full(shape, value, dtype=images.dtype)
        self.unpadded(bordered)[...] = images
        return bordered

    def unpadded(self, bordered: Array) -> Array:
        """The view of the images within their border."""
        above, left = self.padding
        _, height, width, _ = bordered.shape
        return bordered[:, above : height - above, left : width - left]

    def offsets(self) -> Iterator[Pair]:
        """The positions within a window, row by row."""
        return ((i, j) for i in range(self.kernel[0]) for j in range(self.kernel[1]))

    def at(self, offset: Pair, bordered: Array) -> Array:
        """The view (C, down, across, N) of the pixels that every window has at ``offset``."""
        (i, j), (step_down, step_across) = offset, self.stride
        _, height, width, _ = bordered.shape
        last_row, last_column = height - self.kernel[0] + i, width - self.kernel[1] + j
        return bordered[:, i : last_row + 1 : step_down, j : last_column + 1 : step_across]

    def columns(self, bordered: Array) -> Array:
        """Every window as a column, (C * kernel, down * across * N): one copy, or a view of the pixels.

        Not by ``sliding_window_view``: CuPy's copies the lengths of the window to the device and reads them back.
        """
        channels, height, width, count = bordered.shape
        down, across = self._steps(height, width)
        of_channel, of_row, of_column, of_image = bordered.strides
        step_down, step_across = self.stride
        view = namespace(bordered).lib.stride_tricks.as_strided(
            bordered,
            (channels, *self.kernel, down, across, count),
            (of_channel, of_row, of_column, of_row * step_down, of_column * step_across, of_image),
        )
        return view.reshape((channels * self.kernel[0] * self.kernel[1], down * across * count))


def _pair(name: str, given: int | Pair, *, at_least: int) -> Pair:
    height, width = (given, given) if isinstance(given, int) else given
    if height < at_least or width < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {given!r}")
    return height, width
