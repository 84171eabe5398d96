"""Timings: raw samples of one case and estimates with their intervals."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Estimate", "Sample", "Throughput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Raw repeated timings of one case: nanoseconds per call, in the order they were taken.

    Each value is the mean over ``calls_per_value`` calls. ``peer_ns`` are the timings of the case's frozen
    peer taken in the same rounds (same length as ``call_ns``), empty when the case has no peer; they let
    two samples taken at different times be compared by ratio. ``timer`` names the clock.
    """

    call_ns: tuple[float, ...]
    peer_ns: tuple[float, ...] = ()
    calls_per_value: int
    warmup_calls: int
    timer: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A point with its interval: ``low <= value <= high`` at the given confidence."""

    value: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Work per second in the op's own unit, and bytes per second against the least that must move."""

    unit: str
    units_per_call: float
    bytes_per_call: int
