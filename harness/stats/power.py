"""What would have been found: the smallest slowdown a comparison of this precision calls a regression."""

from __future__ import annotations

import math
from statistics import NormalDist

from harness.stats.change import Change

__all__ = ["smallest_detectable"]


def smallest_detectable(change: Change, *, power: float = 0.9) -> float:
    """The smallest true slowdown, as a fraction, that would have been called regressed with this probability.

    At this margin, confidence and precision: the interval's lower half, and what the estimate itself scatters by,
    must fit between the margin and the slowdown. Infinite where nothing was compared or there were too few values
    for any interval. Raises ``ValueError`` for a power that is no probability.
    """
    if not 0 < power < 1:
        raise ValueError(f"power is {power}; give a number between 0 and 1, such as 0.9")
    ratio = change.ratio
    if ratio is None or ratio.confidence < change.confidence:
        return math.inf
    normal = NormalDist()
    reach = math.log(ratio.value / ratio.low)
    deviation = reach / normal.inv_cdf((1.0 + ratio.confidence) / 2)
    needed = reach + normal.inv_cdf(power) * deviation
    return (1.0 + change.margin) * math.exp(max(0.0, needed)) - 1.0
