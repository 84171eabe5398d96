"""A copy within the host's memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["host_copier"]


def host_copier(size_bytes: int) -> Callable[[], object]:
    """What copies so many bytes by NumPy when called.

    The source is written first: pages never written are all one page of zeros, which is read from the cache.
    """
    source, target = np.ones(size_bytes, dtype=np.uint8), np.ones(size_bytes, dtype=np.uint8)
    return lambda: np.copyto(target, source)
