"""Values on host memory where NumPy's function of the same name differs from the device's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.probes.simulated.refusal import NotModelledError
from harness.probes.simulated.storage import Memory

__all__ = [
    "argument_reduction",
    "bincount",
    "clip",
    "diag",
    "diagonal",
    "in1d",
    "pad",
    "place",
    "quietly",
    "ravel_multi_index",
    "reshape",
    "stable",
    "take",
    "take_along_axis",
    "unique",
    "where",
]


def quietly(name: str) -> Callable[..., Any]:
    """NumPy's ``name`` without the ``RuntimeWarning`` it gives for empty or all-NaN input: a kernel is silent.

    Filters are process-wide, so they are touched only when NumPy could warn.
    """
    function = getattr(np, name)
    skips_nan = name.startswith("nan")

    def silent(a: Memory, *args: Any, **options: Any) -> Any:
        if a.size and not skips_nan and not options.get("ddof"):
            return function(a, *args, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return function(a, *args, **options)

    return silent


def argument_reduction(name: str) -> Callable[..., Any]:
    """NumPy's ``argmax`` family behind CuPy's parameters."""
    function = getattr(np, name)

    def reduce(a: Memory, *, dtype: Any = None, **options: Any) -> Any:
        if dtype is not None:
            raise NotModelledError(f"{name}(dtype=...)", "convert the result with astype()")
        return function(a, **options)

    return reduce


def stable(name: str) -> Callable[..., Any]:
    """NumPy's ``name`` with the only order CuPy sorts in."""
    function = getattr(np, name)

    def ordered(a: Memory, *, axis: int | None = -1, kind: str | None = None) -> Any:
        if kind not in (None, "stable"):
            raise ValueError(f"{name}(kind={kind!r}): the device sorts stably only")
        return function(a, axis=axis, kind="stable")

    return ordered


def take(a: Memory, indices: Any, axis: int | None = None, out: Memory | None = None) -> Any:
    """``numpy.take``, with indices out of bounds wrapping around as in a CuPy kernel."""
    return np.take(a, indices, axis=axis, out=out, mode="wrap")


def take_along_axis(a: Memory, indices: Memory, axis: int | None = -1) -> Memory:
    """``numpy.take_along_axis``, with indices out of bounds wrapping around."""
    length = a.size if axis is None else a.shape[axis]
    if indices.size and length:
        indices = indices % length
    return np.take_along_axis(a, indices, axis=axis)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``numpy.where``; without choices the indices where the condition holds."""
    return np.nonzero(condition) if x is None and y is None else np.where(condition, x, y)


def place(arr: Memory, mask: Memory, vals: Memory) -> None:
    """``numpy.place``, converting the values as a kernel does."""
    np.place(arr, mask, np.asarray(vals).astype(arr.dtype))


def clip(a: Memory, a_min: Any = None, a_max: Any = None, out: Memory | None = None) -> Any:
    """``numpy.clip``; with neither bound a copy."""
    if a_min is None and a_max is None:
        return np.positive(a, out=out) if a.dtype.kind != "b" else a.copy()
    return np.clip(a, a_min, a_max, out=out)


def diag(v: Memory, k: int = 0) -> Memory:
    """``numpy.diag``, always new memory."""
    return np.diag(v, k).copy()


def ravel_multi_index(
    multi_index: Sequence[Memory], dims: Any, mode: Any = "wrap", order: Any = "C"
) -> Any:
    """``numpy.ravel_multi_index`` with CuPy's default mode."""
    return np.ravel_multi_index(tuple(multi_index), dims, mode=mode, order=order)


def unique(ar: Memory, *, axis: int | None = None, **options: Any) -> Any:
    """``numpy.unique`` of the flattened array."""
    if axis is not None:
        raise NotModelledError("unique(axis=...)", "CuPy sorts rows with one read per comparison")
    return np.unique(ar, **options)


def diagonal(a: Memory, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Memory:
    """A view of the diagonal, writable as in CuPy."""
    view = np.diagonal(a, offset, axis1, axis2)
    view.flags.writeable = a.flags.writeable
    return view


def in1d(ar1: Memory, ar2: Memory, assume_unique: bool = False, invert: bool = False) -> Memory:
    """``isin`` of flattened arrays."""
    return np.isin(ar1.ravel(), ar2.ravel(), assume_unique=False, invert=invert)


def bincount(x: Memory, weights: Memory | None = None, minlength: int | None = None) -> Memory:
    """``numpy.bincount`` with CuPy's way of saying that there is no least length."""
    return np.bincount(x, weights, minlength or 0)


def reshape(a: Memory, shape: Any, order: str = "C", copy: bool | None = None) -> Memory:
    """``numpy.reshape``; ``copy=False`` raises where a copy would be made."""
    reshaped: Memory = a.reshape(shape, order=order)  # type: ignore[call-overload]
    if np.may_share_memory(reshaped, a):
        return reshaped.copy(order="K") if copy else reshaped
    if copy is False:
        raise ValueError(f"shape {a.shape} cannot become {shape} without a copy")
    return reshaped


_PAD_MODES = frozenset(
    {"constant", "edge", "empty", "maximum", "mean", "minimum", "reflect", "symmetric", "wrap"}
)


def pad(array: Memory, *, pad_width: Any, mode: str = "constant", **options: Any) -> Memory:
    """``numpy.pad`` in the modes that stay on the device."""
    if mode not in _PAD_MODES:
        raise NotModelledError(f"pad(mode={mode!r})")
    padded: Memory = np.pad(array, pad_width, mode=mode, **options)  # type: ignore[call-overload]
    return padded
