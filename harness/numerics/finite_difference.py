"""The slope of a function at 0 in float64, with an error that says how far to trust it.

Central differences at steps that shrink by 4, extrapolated to step 0 (Richardson), keeping the entry of the
tableau that agrees best with its neighbours (Ridders, Accurate computation of F'(x) and F'(x)F''(x),
Advances in Engineering Software 4(2), 1982). The truncation error of a central difference is a series in the
step squared, so each extrapolation removes one power of 16.

A function with kinks (ReLU, max) has no such series. Its plain central differences become exact once the step
is shorter than the distance to the nearest kink, at the price of more rounding error: they are reported too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["LineSlope", "refine_slope"]

_SHRINK = 4.0
_LEVELS = 11
"""Steps from h to h * 2**-20. With h = 2**-6 the last is 2**-26: of 1e6 activations spread over one unit, 0.03
are within reach of it, and float64 rounding (2**-53 / 2**-26) still leaves 8 digits to the slope of a loss near 1."""

_ROUNDING_GROWTH = 1.2
"""The extrapolation weights (16**j + 1) / (16**j - 1) multiply up to less than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSlope:
    """The slope known after some steps.

    ``error`` bounds ``value``, the best of the extrapolations, by truncation and rounding. ``plain`` is the
    central difference at the smallest ``step`` so far; ``plain_error`` is how far it moved since the step before,
    plus rounding. ``kink`` is half the jump between the slopes on either side of 0, where one shows that does
    not shrink with the step, else 0. ``last`` says that no step follows. All NaN where the function is not finite.
    """

    value: float
    error: float
    plain: float
    plain_error: float
    kink: float
    step: float
    last: bool


def refine_slope(
    function: Callable[[float], float], *, at_zero: float, first_step: float, rounding: float
) -> Iterator[LineSlope]:
    """Yield ever better slopes of ``function`` at 0; stop iterating when one is good enough.

    ``at_zero`` is its value there, ``rounding`` bounds the absolute rounding error of one value. Cost: two
    evaluations for each step; the first slope needs two steps, and there are at most eleven.
    """
    row: list[float] = []
    best, best_error, jump = math.nan, math.inf, math.inf
    for level in range(_LEVELS):
        step = first_step / _SHRINK**level
        ahead, behind = function(step), function(-step)
        if not math.isfinite(ahead - behind):
            yield _not_finite(step)
            return
        floor = _ROUNDING_GROWTH * rounding / step
        previous, row = row, [(ahead - behind) / (2 * step)]
        previous_jump, jump = jump, abs((ahead - at_zero) - (at_zero - behind)) / step
        for order, coarser in enumerate(previous):
            weight = _SHRINK ** (2 * (order + 1))
            row.append((weight * row[order] - coarser) / (weight - 1))
            error = max(abs(row[-1] - row[order]), abs(row[-1] - coarser)) + floor
            if error < best_error:
                best, best_error = row[-1], error
        if previous:
            shrinks = jump <= previous_jump / 2 or jump <= 4 * floor
            yield LineSlope(
                value=best,
                error=best_error,
                plain=row[0],
                plain_error=abs(row[0] - previous[0]) + floor,
                kink=0.0 if shrinks else jump / 2,
                step=step,
                last=level == _LEVELS - 1,
            )


def _not_finite(step: float) -> LineSlope:
    return LineSlope(
        value=math.nan,
        error=math.nan,
        plain=math.nan,
        plain_error=math.nan,
        kink=0.0,
        step=step,
        last=True,
    )
