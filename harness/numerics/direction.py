"""Random directions through the entries of one input, and the loss along them.

Arrays may have tens of millions of entries: sums run over chunks that stay in cache, and directions are
float32, which holds their sixteenths exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.numerics.tolerance import Tolerance

__all__ = ["Claim", "Loss", "Moves"]

Loss = Callable[[Mapping[str, Any]], float]
"""The oracle's loss in float64 from host inputs by name; it must not round float64 inputs back."""

_CHUNK_ENTRIES = 1 << 14
"""128 kB of float64 per temporary."""

_MOVABLE = 2.0**22
"""Entries larger than this many spreads stay put: the smallest step, 2**-26 spreads times the direction's four
fractional bits, would fall below the last of float64's 53 bits."""

_Floats = npt.NDArray[np.float64]
_Direction = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a gradient says about a direction of length ``norm``; the other figures are per unit length.

    ``slope`` is ``<g, v>``, ``error`` the root of the summed squares of the entries' tolerances along v, and
    ``size`` that of the entries themselves: what ``slope`` is expected to be of the order of.
    """

    slope: float
    error: float
    size: float
    norm: float


class Moves:
    """The points reached from the inputs by moving the entries of one of them, in float64."""

    def __init__(
        self, loss: Loss, inputs: Mapping[str, Any], name: str, gradient: npt.NDArray[Any]
    ) -> None:
        self._loss, self._inputs, self._name = loss, inputs, name
        self._point = np.asarray(inputs[name]).astype(np.float64)
        self.spread = _spread(self._point)
        self._movable = np.abs(self._point) <= _MOVABLE * self.spread  # False for NaN
        self.entries = self._point.size
        self.moved = int(np.count_nonzero(self._movable))
        self._gradient = gradient.astype(np.float64)
        if self.moved < self.entries:
            self._gradient[~self._movable] = 0.0

    @property
    def gradient_is_finite(self) -> bool:
        """Whether every entry that can move has a finite gradient."""
        return bool(np.isfinite(self._gradient).all())

    def draw(self, rng: np.random.Generator) -> _Direction:
        """Random signs, and sizes in sixteenths from 1/2 to 3/2: no entry hides, equal errors do not cancel."""
        drawn = rng.integers(0, 34, size=self._point.shape, dtype=np.int8)
        sixteenths = np.where(drawn < 17, drawn + 8, 9 - drawn)
        sixteenths[~self._movable] = 0
        return sixteenths.astype(np.float32) / np.float32(16)

    def claim(self, direction: _Direction, tolerance: Tolerance) -> Claim:
        """What the gradient says about the direction."""
        slope = error = size = norm = 0.0
        for gradient, along in _chunks(self._gradient, direction):
            off = (tolerance.absolute + tolerance.relative * np.abs(gradient)) * along
            part = gradient * along
            slope += float(part.sum())
            size += float(part @ part)
            error += float(off @ off)
            norm += float(along @ along)
        length = math.sqrt(norm)
        return Claim(
            slope=slope / length,
            error=math.sqrt(error) / length,
            size=math.sqrt(size) / length,
            norm=length,
        )

    def loss(self, direction: _Direction, step: float) -> float:
        """The loss a step along the direction; what rounding did to the point is taken out to first order."""
        moved = direction * np.float64(step)
        moved += self._point
        strayed = 0.0
        for gradient, along, start, end in _chunks(self._gradient, direction, self._point, moved):
            with np.errstate(invalid="ignore"):  # infinite entries, set to 0 below
                off = end - start
            off -= step * along.astype(np.float64)
            if self.moved < self.entries:
                off[along == 0] = 0.0
            strayed += float(gradient @ off)
        return self._loss_at(moved) - strayed

    @cached_property
    def loss_here(self) -> float:
        """The loss at the inputs themselves."""
        return self._loss_at(self._point)

    def _loss_at(self, point: _Floats) -> float:
        return float(self._loss({**self._inputs, self._name: point}))


def _chunks(*arrays: npt.NDArray[Any]) -> list[tuple[npt.NDArray[Any], ...]]:
    flat = [array.reshape(-1) for array in arrays]
    return [
        tuple(array[start : start + _CHUNK_ENTRIES] for array in flat)
        for start in range(0, flat[0].size, _CHUNK_ENTRIES)
    ]


def _spread(point: _Floats) -> float:
    """A power of two near the input's spread, at most 1, so that steps add to float32 inputs without rounding."""
    finite = point[np.isfinite(point)]
    if not finite.any():
        return 1.0
    largest = float(np.abs(finite).max())
    with np.errstate(over="ignore"):
        spread = float(finite.std())
    if not spread > largest * 2.0**-20:  # constant, up to rounding
        spread = largest
    return 2.0 ** math.floor(math.log2(min(1.0, spread)))
