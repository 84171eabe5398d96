"""Keep some values and put exactly 0 in place of the others."""

from __future__ import annotations

import numpy as np

from reference_impl.backend import Array, namespace

__all__ = ["select"]

_INTEGERS = {2: np.int16, 4: np.int32, 8: np.int64}


def select(chosen: Array, values: Array, out: Array | None = None) -> Array:
    """``values`` where the bools ``chosen`` are true, else 0, in ``out`` if given: an array of the same dtype.

    By the bits: -1 has all of them, and 0 none. NumPy's ``where`` takes ten times as long, and a product would
    make NaN of 0 * inf.
    """
    integer = _INTEGERS[values.dtype.itemsize]
    mask = -chosen.view(np.int8)
    target = None if out is None else out.view(integer)
    kept = namespace(values).bitwise_and(values.view(integer), mask, out=target)
    return kept.view(values.dtype) if out is None else out
