"""How images lie in memory between the layers: batch last.

To whoever looks at it an image tensor is (N, C, H, W). A layer of this package that makes one lays it out as
(C, H, W, N) and returns the view that has the usual order of axes. Then the values that one weight meets, over
a row of places and all images, are one long run of memory, and so are the values of one channel: taking
windows apart, pooling and statistics are loops over long runs, and the product of a convolution needs no
transposition of its weights. A tensor in any other layout is copied once, by the first layer that meets it.
"""

from __future__ import annotations

from reference_impl.backend import Array, namespace

__all__ = ["batch_first", "batch_last", "checked_images"]


def batch_last(x: Array) -> Array:
    """Images (N, C, H, W) as a C-ordered (C, H, W, N); a view where they lie so already, else one copy."""
    return namespace(x).ascontiguousarray(x.transpose((1, 2, 3, 0)))


def batch_first(x: Array) -> Array:
    """The view (N, C, H, W) of images (C, H, W, N)."""
    return x.transpose((3, 0, 1, 2))


def checked_images(x: Array, wanted_by: str) -> tuple[int, int, int, int]:
    """The shape (N, C, H, W) of ``x``; ``ValueError`` when it has other than four axes."""
    if x.ndim != 4:
        raise ValueError(f"{wanted_by} needs images of shape (N, C, H, W), got {x.shape}")
    images, channels, height, width = x.shape
    return images, channels, height, width
