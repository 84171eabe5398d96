"""``cupy.lib.stride_tricks``: views by strides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from harness.probes.simulated.array import DeviceArray
from harness.probes.simulated.functions import functions as xp
from harness.probes.simulated.refusal import absent

__all__ = ["StrideTricks", "stride_tricks"]


class StrideTricks:
    """The module's functions; what CuPy has besides is refused."""

    def __getattr__(self, name: str) -> Any:
        raise absent("lib.stride_tricks", name)

    @staticmethod
    def as_strided(x: DeviceArray, shape: Any = None, strides: Any = None) -> DeviceArray:
        """A view with the given shape and strides."""
        return x._view(np.lib.stride_tricks.as_strided(x._memory, shape, strides))

    @staticmethod
    def sliding_window_view(
        x: Any,
        window_shape: Any,
        axis: Any = None,
        *,
        subok: bool = False,
        writeable: bool = False,
    ) -> DeviceArray:
        """Every window as a view; the window's lengths are copied over, and each is read to see that none is negative.

        (cupy/lib/stride_tricks.py:109-112)
        """
        if writeable:
            raise NotImplementedError("windows are views that overlap and cannot be written")
        lengths = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
        x = xp.array(x, copy=None, subok=subok)
        if any(length < 0 for length in xp.array(lengths)):
            raise ValueError("a window has no negative lengths")
        axes = (
            tuple(range(x.ndim))
            if axis is None
            else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
        )
        view = np.lib.stride_tricks.sliding_window_view(x._memory, lengths, axes, writeable=True)
        made: DeviceArray = x._view(view)
        return made


stride_tricks: Any = StrideTricks()
