"""Polynomials given by their coefficients (cupy/lib/_routines_poly.py); ``poly1d`` is not modelled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated.array import DeviceArray
from harness.probes.simulated.functions import functions as xp
from harness.probes.simulated.linear_algebra import linalg

__all__ = ["FUNCTIONS"]


def _coefficients(value: Any) -> Any:
    if not (np.isscalar(value) or isinstance(value, DeviceArray)):
        raise TypeError(f"coefficients are a device array or a scalar, not {type(value).__name__}")
    coefficients = xp.atleast_1d(value)
    if coefficients.ndim != 1:
        raise ValueError("coefficients have one axis")
    return coefficients


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum, by kernels only."""
    return _combined(a1, a2, xp.add)


def polysub(a1: Any, a2: Any) -> Any:
    """The difference, by kernels only."""
    return _combined(a1, a2, xp.subtract)


def _combined(a1: Any, a2: Any, operation: Callable[[Any, Any], Any]) -> Any:
    left, right = _coefficients(a1), _coefficients(a2)
    size = max(left.size, right.size)
    padded = [xp.pad(part, (size - part.size, 0)) for part in (left, right)]
    return operation(*padded)


def polymul(a1: Any, a2: Any) -> Any:
    """The product; one read each says how many leading coefficients are zero (:144-145)."""
    factors = [xp.trim_zeros(_coefficients(part), trim="f") for part in (a1, a2)]
    factors = [part if part.size else xp.zeros(1, part.dtype) for part in factors]
    return xp.convolve(*factors)


def polyval(p: Any, x: Any) -> Any:
    """The values at ``x``, by kernels only; a host array is copied over (:310)."""
    if not isinstance(p, DeviceArray) or p.ndim == 0:
        raise TypeError("polyval() takes a device array of coefficients")
    if p.ndim > 1:
        raise ValueError("coefficients have one axis")
    x = x if isinstance(x, DeviceArray) else xp.asarray(x)
    dtype = np.result_type(p.dtype, x.dtype)
    p = p.astype(dtype, copy=False)
    if p.size == 0:
        return xp.zeros(x.shape, dtype)
    if dtype == np.bool_:
        return p.any() * x + p[-1]
    powers = x.astype(dtype, copy=False)[..., None] ** xp.arange(p.size, dtype=dtype)
    return (p[::-1] * powers).sum(axis=-1, dtype=dtype)


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """The least-squares fit: the reads of ``lstsq``, and one whether the rank is full unless ``full`` (:195)."""
    x, y, w = (None if part is None else _in_double(part) for part in (x, y, w))
    order = int(deg) + 1
    if order < 1 or x.ndim != 1 or x.size == 0 or not 1 <= y.ndim <= 2 or x.size != y.shape[0]:
        raise TypeError("polyfit() takes a row x, as many y, and a degree of at least zero")
    lhs = (x[:, None] ** xp.arange(order, dtype=x.dtype))[:, ::-1]
    rhs = y
    if w is not None:
        lhs = lhs * w[:, None]
        rhs = rhs * (w[:, None] if rhs.ndim == 2 else w)
    rcond = x.size * np.finfo(x.dtype).eps if rcond is None else rcond
    scale = xp.sqrt(xp.square(lhs).sum(axis=0))
    lhs = lhs / scale
    fit, residuals, rank, singular = linalg.lstsq(lhs, rhs, rcond)
    fit = fit / (scale[:, None] if y.ndim > 1 else scale)
    if full:
        return fit, residuals, rank, singular, rcond
    if rank != order:
        warnings.warn("polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if not cov:
        return fit
    return fit, _covariance(lhs, scale, residuals, x.size - order, cov, columns=y.ndim > 1)


def _covariance(
    lhs: Any, scale: Any, residuals: Any, freedom: int, cov: Any, *, columns: bool
) -> Any:
    base = linalg.inv(xp.dot(lhs.T, lhs)) / xp.outer(scale, scale)
    if columns:
        base = base[..., None]
    if cov == "unscaled":
        return base
    if freedom <= 0:
        raise ValueError("a covariance needs more points than coefficients")
    return base * (residuals / freedom)


def _in_double(array: Any) -> Any:
    if array.dtype == np.float16:
        raise TypeError("polyfit() takes no float16")
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function for function in (polyadd, polyfit, polymul, polysub, polyval)
}
"""By name; they take and return device arrays."""
