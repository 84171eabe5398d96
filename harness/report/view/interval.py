"""The time of a call and how sure it is, as text: an interval only where several values made one."""

from __future__ import annotations

import math

from harness.model.measurement import Estimate
from harness.units import duration_text

__all__ = ["apart", "call_time_text", "has_interval", "interval_text"]

_UNKNOWN = "unknown"


def has_interval(estimate: Estimate) -> bool:
    """Whether there is one: a single value, or a clock that told all values alike, leaves both ends on the point."""
    return estimate.low != estimate.high


def apart(one: Estimate, other: Estimate) -> bool:
    """Whether the intervals show that the two differ; what has none shows nothing."""
    known = has_interval(one) and has_interval(other)
    return known and (one.high < other.low or other.high < one.low)


def call_time_text(estimate: Estimate | None) -> str:
    """``1.25 ms``; empty where nothing was timed."""
    if estimate is None:
        return ""
    return duration_text(estimate.value) if math.isfinite(estimate.value) else _UNKNOWN


def interval_text(estimate: Estimate | None) -> str:
    """``1.20 to 1.30 ms``; empty where there is none."""
    if estimate is None or not has_interval(estimate):
        return ""
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return "interval unknown"
    low, high = duration_text(estimate.low), duration_text(estimate.high)
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"
