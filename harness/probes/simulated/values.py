"""Values on host memory where NumPy's function of the same name differs from the device's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.probes.simulated.refusal import not_modelled
from harness.probes.simulated.storage import Memory

__all__ = [
    "argument_reduction",
    "bincount",
    "choose",
    "clip",
    "corrcoef",
    "cov",
    "diagonal",
    "digitize",
    "ignoring_nan",
    "in1d",
    "into",
    "pad",
    "place",
    "quietly",
    "ravel_multi_index",
    "reshape",
    "searchsorted",
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

    def reduce(
        a: Memory,
        *,
        axis: Any = None,
        dtype: Any = None,
        out: Memory | None = None,
        keepdims: bool = False,
    ) -> Any:
        if isinstance(axis, tuple):
            raise not_modelled(f"xp.{name}(axis=<tuple>)", "reshape the axes into one first")
        if dtype is None:
            return function(a, axis=axis, out=out, keepdims=keepdims)
        found = np.asarray(function(a, axis=axis, keepdims=keepdims)).astype(dtype)
        if out is not None:
            out[...] = found
        return found

    return reduce


def ignoring_nan(name: str, worst: float) -> Callable[..., Any]:
    """``argmax`` or ``argmin`` with NaN as the ``worst`` value, and -1 where there is nothing else, as in CuPy."""
    reduce = argument_reduction(name)

    def reduce_known(
        a: Memory, *, axis: Any = None, out: Memory | None = None, **options: Any
    ) -> Any:
        unknown = np.isnan(a)
        if not unknown.any():
            return reduce(a, axis=axis, out=out, **options)
        found = np.asarray(reduce(np.where(unknown, worst, a), axis=axis, **options))
        found = np.where(unknown.all(axis=axis, keepdims=options.get("keepdims", False)), -1, found)
        if out is not None:
            out[...] = found
        return found

    return reduce_known


def into(name: str) -> Callable[..., Any]:
    """NumPy's ``name``, a function there and a ufunc in CuPy, with ``out``."""
    function = getattr(np, name)

    def compute(x: Any, *, out: Memory | None = None) -> Any:
        found = function(x)
        if out is not None:
            out[...] = found
        return found

    return compute


def stable(name: str) -> Callable[..., Any]:
    """NumPy's ``name`` with the only order CuPy sorts in."""
    function = getattr(np, name)

    def ordered(a: Memory, *, axis: int | None = -1, kind: str | None = None) -> Any:
        if kind not in (None, "stable"):
            raise ValueError(f"{name}(kind={kind!r}): the device sorts stably only")
        return function(a, axis=axis, kind="stable")

    return ordered


def take(a: Memory, indices: Any, axis: int | None = None, out: Memory | None = None) -> Any:
    """``numpy.take``, with indices out of bounds wrapping around as in a CuPy kernel.

    NumPy's own wrapping adds the length again and again, for ages when an index is far out.
    """
    try:
        return np.take(a, indices, axis=axis, out=out)
    except IndexError:
        length = a.size if axis is None else a.shape[axis]
        return np.take(a, np.asarray(indices) % length, axis=axis, out=out)


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


def cov(a: Memory, y: Memory | None = None, **options: Any) -> Any:
    """``numpy.cov`` under CuPy's names."""
    with warnings.catch_warnings():
        # Without weights the shape decides whether there are degrees of freedom, so this tells nothing.
        warnings.simplefilter("default", RuntimeWarning)
        return np.cov(a, y, **options)


def corrcoef(
    a: Memory, y: Memory | None = None, *, bias: Any = None, ddof: Any = None, **options: Any
) -> Any:
    """``numpy.corrcoef`` with the parameters that NumPy has dropped."""
    if bias is not None or ddof is not None:
        warnings.warn("bias and ddof have no effect", DeprecationWarning, stacklevel=2)
    return np.corrcoef(a, y, **options)


def digitize(x: Memory, bins: Memory, *, right: bool = False) -> Any:
    """``numpy.digitize`` that takes the direction of ``bins`` from its ends and never looks at the rest."""
    if bins.ndim != 1:
        raise ValueError("bins must have one axis")
    side: Any = "left" if right else "right"
    if bins.size < 2 or bins[0] <= bins[-1]:
        return np.searchsorted(bins, x, side)
    return bins.size - np.searchsorted(bins[::-1], x, side)


def searchsorted(a: Memory, v: Any, *, side: Any = "left", sorter: Memory | None = None) -> Any:
    """``numpy.searchsorted``, with indices of ``sorter`` out of bounds wrapping around."""
    return np.searchsorted(a if sorter is None else take(a, sorter), v, side)


def ravel_multi_index(
    multi_index: Sequence[Memory], dims: Any, mode: Any = "wrap", order: Any = "C"
) -> Any:
    """``numpy.ravel_multi_index`` with CuPy's default mode."""
    modes = (mode,) * len(dims) if isinstance(mode, str) else mode
    wrapped = [
        index % length if how == "wrap" else index
        for index, length, how in zip(multi_index, dims, modes, strict=True)
    ]
    return np.ravel_multi_index(wrapped, dims, mode=mode, order=order)


def choose(a: Memory, choices: Any, out: Memory | None = None, mode: Any = "raise") -> Any:
    """``numpy.choose``, wrapping around at once."""
    selected = a % len(choices) if mode == "wrap" else a
    return np.choose(selected, choices, out=out, mode=mode)


def unique(ar: Memory, *, axis: None = None, **options: Any) -> Any:
    """``numpy.unique`` of the flattened array."""
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
        if callable(mode) or mode == "linear_ramp":
            raise not_modelled(f"xp.pad(mode={mode!r})")
        raise ValueError(f"pad(mode={mode!r}) is not a mode")
    padded: Memory = np.pad(array, pad_width, mode=mode, **options)  # type: ignore[call-overload]
    return padded
