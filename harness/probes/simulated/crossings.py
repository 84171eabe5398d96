"""What each reading operation copies to the host, argument by argument, as CuPy 14.2 does it.

A function here runs before the values are computed and announces reads only; the kernel that follows is
announced by the operation. A read that CuPy makes to refuse bad input is announced before NumPy raises.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from harness.probes.simulated import boundary
from harness.probes.simulated.indexing import count_true
from harness.probes.simulated.operation import Call
from harness.probes.simulated.refusal import not_modelled
from harness.probes.simulated.storage import DeviceMemory

__all__ = [
    "array_equal",
    "average",
    "bincount",
    "choose",
    "compress",
    "covariance",
    "every_set_unique",
    "first_set_unique",
    "histogram",
    "intersection",
    "nonzero",
    "place",
    "putmask",
    "quantile",
    "ravel_multi_index",
    "real_if_close",
    "trim_zeros",
    "truth",
    "unique",
    "unravel_index",
    "where",
]


def truth(call: Call) -> None:
    """``if condition:`` on one 0-d boolean of the device."""
    boundary.read_back(1)


def nonzero(call: Call) -> None:
    """How many elements are not zero, to know the shape of the result."""
    count_true(next(iter(call.memory.values())))


def where(call: Call) -> None:
    """``where(condition)`` alone is ``nonzero``; with both choices nothing is read."""
    _, *choices = call.as_given[0]
    if all(choice is None for choice in choices):
        nonzero(call)


def compress(call: Call) -> None:
    """How many conditions hold."""
    count_true(call.memory["condition"])


def place(call: Call) -> None:
    """How many elements of the mask are true."""
    count_true(call.memory["mask"])


def putmask(call: Call) -> None:
    """``a[mask] = value`` reads once, ``a[mask] = values[mask]`` twice, the repeating kernel never."""
    a, mask, values = (call.memory[name] for name in ("a", "mask", "values"))
    if not isinstance(values, np.ndarray):
        count_true(mask)
    elif values.shape == a.shape:
        count_true(mask)
        count_true(mask)


def array_equal(call: Call) -> None:
    """Only ``equal_nan`` reads: whether the NaNs match, then the sizes of two masked copies."""
    a, b = call.memory["a1"], call.memory["a2"]
    if not call.given.get("equal_nan") or a.shape != b.shape:
        return
    boundary.read_back(1)
    if np.array_equal(np.isnan(a), np.isnan(b)):
        count_true(a)
        count_true(b)


def real_if_close(call: Call) -> None:
    """Complex input only: whether every imaginary part is small."""
    if call.memory["a"].dtype.kind == "c":
        boundary.read_back(1)


def average(call: Call) -> None:
    """With weights only: whether any sum of weights is zero."""
    if call.given.get("weights") is not None:
        boundary.read_back(1)


def quantile(call: Call) -> None:
    """A ``q`` on the device is checked by two counts, each read as a truth value."""
    if isinstance(call.given["q"], DeviceMemory):
        boundary.read_back(8)
        boundary.read_back(8)


def choose(call: Call) -> None:
    """``mode="raise"`` checks the upper bound, then the lower."""
    if call.given.get("mode", "raise") == "raise":
        boundary.read_back(1)
        if (call.memory["a"] < len(call.memory["choices"])).all():
            boundary.read_back(1)


def ravel_multi_index(call: Call) -> None:
    """``mode="raise"``, which is not CuPy's default, checks every axis until one is out of bounds."""
    dims = call.given["dims"]
    modes = call.given.get("mode", "wrap")
    modes = (modes,) * len(dims) if isinstance(modes, str) else modes
    for index, length, mode in zip(call.memory["multi_index"], dims, modes, strict=True):
        if mode == "raise":
            boundary.read_back(1)
            if np.any((index < 0) | (index >= length)):
                return


def unravel_index(call: Call) -> None:
    """Below zero, then beyond the product of the lengths."""
    boundary.read_back(1)
    if not np.any(call.memory["indices"] < 0):
        boundary.read_back(1)


def unique(call: Call) -> None:
    """The size of the result, once more for the indices and once more for the counts."""
    if call.given.get("axis") is not None:
        raise not_modelled("xp.unique(axis=...)", "CuPy sorts rows with one read per comparison")
    values = call.memory["ar"]
    count_true(values)
    for extra in ("return_index", "return_counts"):
        if call.given.get(extra):
            count_true(values)


def first_set_unique(call: Call) -> None:
    """``unique`` of the two arrays joined."""
    boundary.read_back(4)


def every_set_unique(call: Call) -> None:
    """``unique`` of both unless they are said to be, then the size of the result."""
    arrays = list(call.memory.values())[:2]
    if not call.given.get("assume_unique"):
        for array in arrays:
            count_true(array)
    if arrays[0].size:
        boundary.read_back(4)


def intersection(call: Call) -> None:
    """``unique`` of both, of indices too if they are wanted; then one mask, or three with the indices."""
    wanted = bool(call.given.get("return_indices"))
    arrays = list(call.memory.values())[:2]
    if not call.given.get("assume_unique"):
        for array in arrays:
            for _ in range(1 + wanted):
                count_true(array)
    if arrays[0].size:
        for _ in range(1 + 2 * wanted):
            boundary.read_back(4)


def covariance(call: Call) -> None:
    """With weights only: whether they sum to zero, and whether degrees of freedom are left."""
    if call.given.get("fweights") is not None or call.given.get("aweights") is not None:
        boundary.read_back(1)
        boundary.read_back(1)


def trim_zeros(call: Call) -> None:
    """One position per end that is trimmed."""
    trim = str(call.given.get("trim", "fb")).upper()
    for end in "FB":
        if end in trim and call.memory["filt"].ndim:
            boundary.read_back(8)


def bincount(call: Call) -> None:
    """Whether any value is negative, then the largest one; ``minlength`` does not help."""
    x = call.memory["x"]
    boundary.read_back(1)
    if x.size and not np.any(x < 0):
        boundary.read_back(x.itemsize)


def histogram(call: Call) -> None:
    """Edges on the device are checked once; a range found on the device costs four reads.

    The four: is the minimum finite, is the maximum finite, are they equal, is the step zero (``linspace``).
    """
    x, bins = call.memory["x"], call.given.get("bins", 10)
    if isinstance(bins, DeviceMemory):
        boundary.read_back(1)
    elif np.ndim(bins) == 0 and call.given.get("range") is None and x.size:
        boundary.read_back(1)
        if not math.isfinite(_as_float(x.min())):
            return
        boundary.read_back(1)
        if not math.isfinite(_as_float(x.max())):
            return
        boundary.read_back(1)
        boundary.read_back(1)


def _as_float(value: Any) -> float:
    return float(np.float64(value))
