"""Do the gradients belong to the loss: directional derivatives against finite differences of the oracle.

For a random direction v the observed gradient g claims the slope ``<g, v>``; the oracle's float64 loss has the
slope that finite differences find. The two must agree within

* the storage and rounding of g: its entries may be off by their tolerances t. Since v's signs are drawn
  independently of those errors, ``|<error, v>| <= z ||t v||`` with probability ``1 - 2 exp(-z*z/2)``
  (Hoeffding 1963). z = 6: one false alarm in 3e7 directions, and a bound smaller by sqrt(entries) than the
  worst case, so that one wrong entry among thousands still shows;
* twice the error of the finite difference: truncation as Ridders' tableau estimates it, and the float64
  rounding of the loss over the step.

Independent of the oracle's own gradient: an oracle with the same mistake as the op is caught here.

An agreement counts as soon as it is sharp. A disagreement counts only at the smallest steps, where the last two
differences must agree with each other and both contradict the claim: kinks near the inputs (ReLU) fool large steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.model.outcome import Outcome, worst
from harness.numerics.direction import Claim, Loss, Moves
from harness.numerics.finite_difference import LineSlope, refine_slope
from harness.numerics.tolerance import Tolerance

__all__ = ["GradientCheck", "Loss", "Slope", "check_gradients", "gradient_text"]

_CONFIDENCE_Z = 6.0
"""Standard deviations allowed to the gradient's own rounding; derived above."""

_RESOLUTION = 1 / 16
"""A slope known no better than to this part of the gradient's norm decides nothing. The coarsest storage,
bfloat16, allows 6 * 2**-8 = 1/43 of it, so every supported dtype can be decided."""

_SHARP_ENOUGH = 2.0**-20
"""No further steps once the slope is known to this part of the gradient's norm, a float32 gradient's own error."""

_FIRST_STEP = 2.0**-6
"""First step per entry, over the input's spread: large against rounding, small against curvature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """One direction, of unit length: the slope by the ``observed`` gradient and by finite differences (``numeric``)."""

    observed: float
    numeric: float
    allowed: float
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientCheck:
    """What all directions said about the gradient of one input; ``moved`` of its ``entries`` took part."""

    input: str
    entries: int
    moved: int
    slopes: tuple[Slope, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst of the directions."""
        return worst(slope.outcome for slope in self.slopes)


def check_gradients(
    loss: Loss,
    inputs: Mapping[str, Any],
    gradients: Mapping[str, Any],
    *,
    tolerances: Mapping[str, Tolerance],
    seed: int,
    directions: int = 2,
) -> tuple[GradientCheck, ...]:
    """Check each observed gradient (host arrays by input name) along random directions drawn from ``seed``.

    ``tolerances`` has one entry per input name: that of the output which holds its gradient. Inputs without
    a gradient are passed on unchanged. Inconclusive when the loss is not finite, does not settle, has a kink
    just there, or is too coarse to tell; skipped when the input has no entries. Cost: 4 to 6 evaluations of
    ``loss`` per direction where it is smooth and the gradient right, at most 22, and five float64 copies of
    the input; what ``loss`` raises passes through.
    """
    checks = []
    for stream, (name, gradient) in enumerate(gradients.items()):
        rng = np.random.default_rng((seed, stream))
        checks.append(
            _check(loss, inputs, name, np.asarray(gradient), tolerances[name], rng, directions)
        )
    return tuple(checks)


def gradient_text(check: GradientCheck) -> str:
    """One sentence: the direction that decided, and why."""
    decisive = max(check.slopes, key=lambda slope: slope.outcome.severity, default=None)
    if decisive is None:
        return f"gradient of {check.input}: no direction was tried"
    left_out = check.entries - check.moved if check.moved else 0
    beside = f" ({left_out:,} of {check.entries:,} entries too large to move)" if left_out else ""
    return f"gradient of {check.input}: {decisive.reason}{beside}"


def _check(
    loss: Loss,
    inputs: Mapping[str, Any],
    name: str,
    gradient: Any,
    tolerance: Tolerance,
    rng: np.random.Generator,
    directions: int,
) -> GradientCheck:
    shape = np.shape(inputs[name])
    if gradient.shape != shape:
        entries = math.prod(shape)
        reason = f"it has shape {gradient.shape} where the input has {shape}"
        undecided = _undecided(Outcome.FAILED, reason)
        return GradientCheck(input=name, entries=entries, moved=0, slopes=(undecided,))
    moves = Moves(loss, inputs, name, gradient)
    obstacle = _obstacle(moves)
    if obstacle is not None:
        return GradientCheck(
            input=name, entries=moves.entries, moved=moves.moved, slopes=(obstacle,)
        )
    slopes = tuple(_slope(moves, tolerance, rng) for _ in range(directions))
    return GradientCheck(input=name, entries=moves.entries, moved=moves.moved, slopes=slopes)


def _obstacle(moves: Moves) -> Slope | None:
    """Why no direction can be judged."""
    if not moves.entries:
        return _undecided(Outcome.SKIPPED, "the input has no entries")
    if not moves.moved:
        return _undecided(Outcome.INCONCLUSIVE, "no entry of the input can be moved")
    if not math.isfinite(moves.loss_here):
        return _undecided(Outcome.INCONCLUSIVE, f"the loss is {moves.loss_here} at the inputs")
    if not moves.gradient_is_finite:
        return _undecided(Outcome.FAILED, "it is not finite where the loss is")
    return None


def _slope(moves: Moves, tolerance: Tolerance, rng: np.random.Generator) -> Slope:
    """Judge one random direction."""
    direction = moves.draw(rng)
    claim = moves.claim(direction, tolerance)
    # the handful of roundings and the pairwise sums of a float64 loss, as in tolerance.py
    rounding = 2.0**-53 * (4 + math.log2(moves.entries)) * max(1.0, abs(moves.loss_here))
    found = refine_slope(
        lambda step: moves.loss(direction, step),
        at_zero=moves.loss_here,
        first_step=_FIRST_STEP * moves.spread,
        rounding=rounding,
    )
    target = max(_CONFIDENCE_Z * claim.error / 8, _SHARP_ENOUGH * claim.size)
    for known in found:
        slope = _judge(claim, known)
        sharp = 2 * known.error / claim.norm <= target
        if slope.outcome is Outcome.PASSED and sharp:
            break
    return slope


def _judge(claim: Claim, known: LineSlope) -> Slope:
    """Hold the claim against the finite differences known so far."""
    # extrapolation may be fooled by a kink, the smallest step is not: where steps ran out, it decides
    value, error = (known.plain, known.plain_error) if known.last else (known.value, known.error)
    numeric, uncertain = value / claim.norm, 2 * error / claim.norm
    allowed = _CONFIDENCE_Z * claim.error + uncertain
    difference = abs(numeric - claim.slope)
    if math.isnan(numeric):
        outcome, why = Outcome.INCONCLUSIVE, f"the loss is not finite {known.step:.2g} away"
    elif difference > allowed + known.kink / claim.norm:
        outcome, why = Outcome.FAILED, "disagrees with the loss"
    elif difference > allowed:
        outcome, why = Outcome.INCONCLUSIVE, "the loss has a kink here"
    elif allowed <= _RESOLUTION * max(claim.size, abs(numeric)):
        outcome, why = Outcome.PASSED, "agrees with the loss"
    elif claim.size == 0 and uncertain <= max(allowed - uncertain, _SHARP_ENOUGH):
        outcome, why = Outcome.PASSED, "is zero, and the loss does not move"
    else:
        outcome, why = Outcome.INCONCLUSIVE, "the loss is too flat or too rough here to tell"
    figures = f"slope {claim.slope:.6g}, finite differences {numeric:.6g} +- {allowed:.2g}"
    return Slope(
        observed=claim.slope,
        numeric=numeric,
        allowed=allowed,
        outcome=outcome,
        reason=f"{why} ({figures})",
    )


def _undecided(outcome: Outcome, reason: str) -> Slope:
    return Slope(
        observed=math.nan, numeric=math.nan, allowed=math.nan, outcome=outcome, reason=reason
    )
