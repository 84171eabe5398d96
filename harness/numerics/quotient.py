"""The error of every entry over what is allowed for it: what a comparison counts and an error map draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.numerics.float_format import FLOAT_FORMATS
from harness.numerics.tolerance import Tolerance

__all__ = ["CHUNK_ENTRIES", "Floats", "Judged", "Quotients", "problem"]

CHUNK_ENTRIES = 1 << 14
"""Entries per pass: five float64 scratch rows (128 kB each), reused, stay in a core's L2 cache."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judged:
    """One chunk. An entry is right exactly where its ``quotient`` is at most 1.

    Of two finite numbers it is the error over the allowed one, infinite where nothing is allowed. Of others it is 0
    where they agree, else NaN where either is NaN and infinity where either is infinite. ``finite`` says where both
    are finite, ``None`` everywhere. All arrays are valid until the next chunk.
    """

    observed: Floats
    expected: Floats
    allowed: Floats
    quotient: Floats
    finite: npt.NDArray[np.bool_] | None


class Quotients:
    """Judges flat chunks of up to ``CHUNK_ENTRIES`` entries of two arrays of the same shape.

    NaN agrees with NaN, infinity with infinity of the same sign, and infinity with a number the output's dtype
    cannot hold. Cost: about 3 ns per entry.
    """

    def __init__(
        self, seen: npt.NDArray[Any], truth: npt.NDArray[Any], tolerance: Tolerance
    ) -> None:
        self._tolerance = tolerance
        self._exact = _is_exact(seen) and _is_exact(truth)
        self._scratch = np.empty((5, min(seen.size, CHUNK_ENTRIES)))

    def of(self, seen: npt.NDArray[Any], truth: npt.NDArray[Any]) -> Judged:
        """The quotients of one chunk."""
        observed, expected, error, allowed, quotient = self._scratch[:, : seen.size]
        np.copyto(observed, seen, casting="unsafe")
        np.copyto(expected, truth, casting="unsafe")
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            np.abs(np.subtract(observed, expected, out=error), out=error)
            np.multiply(np.abs(expected, out=allowed), self._tolerance.relative, out=allowed)
            allowed += self._tolerance.absolute
            if self._exact:  # integers beyond 2**53 may differ and still be the same float64
                np.maximum(error, seen != truth, out=error)
            np.divide(error, allowed, out=quotient)
        finite = None
        if not math.isfinite(quotient.max()):
            finite = self._settle(observed, expected, error, allowed, quotient)
        return Judged(observed, expected, allowed, quotient, finite)

    def _settle(
        self, observed: Floats, expected: Floats, error: Floats, allowed: Floats, quotient: Floats
    ) -> npt.NDArray[np.bool_]:
        """Sort out a chunk with non-finite entries or exact tolerances, and say where both sides are finite."""
        finite: npt.NDArray[np.bool_] = np.isfinite(observed) & np.isfinite(expected)
        quotient.fill(0.0)
        with np.errstate(divide="ignore", over="ignore"):
            np.divide(error, allowed, out=quotient, where=finite & (error > 0) & (allowed < np.inf))
        either = np.isnan(observed) | np.isnan(expected)
        quotient[either & ~(np.isnan(observed) & np.isnan(expected))] = np.nan
        differs = ~finite & ~either & (observed != expected)
        quotient[differs & ~self._overflows(observed, expected, allowed)] = np.inf
        return finite

    def _overflows(
        self, observed: Floats, expected: Floats, allowed: Floats
    ) -> npt.NDArray[np.bool_]:
        """Where infinity is the right rounding of a value too large for the output's dtype."""
        stored = FLOAT_FORMATS.get(self._tolerance.dtype or "")
        threshold = math.nan if stored is None else stored.overflow_threshold  # nan: never reached
        with np.errstate(over="ignore"):
            too_large = np.abs(expected) + allowed >= threshold
        same_sign = np.signbit(observed) == np.signbit(expected)
        overflows: npt.NDArray[np.bool_] = (
            np.isinf(observed) & np.isfinite(expected) & same_sign & too_large
        )
        return overflows


def problem(seen: npt.NDArray[Any], truth: npt.NDArray[Any], tolerance: Tolerance) -> str | None:
    """Why the two cannot be compared at all."""
    for side, array in (("output", seen), ("oracle", truth)):
        if not (_is_exact(array) or array.dtype.name in FLOAT_FORMATS):
            return f"the {side} has dtype {array.dtype}, which is not compared; give real numbers"
    if seen.shape != truth.shape:
        return f"shape {seen.shape} where {truth.shape} was expected"
    if tolerance.dtype is not None:
        if seen.dtype.name != tolerance.dtype:
            return f"dtype {seen.dtype} where {tolerance.dtype} was declared"
    elif _is_exact(seen) and not _is_exact(truth):
        return f"dtype {seen.dtype} where a floating-point dtype was expected"
    return None


def _is_exact(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind in "biu"
