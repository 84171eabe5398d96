"""Timings: raw samples of one case and estimates with their intervals."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SPEED_PROBABILITIES", "Estimate", "Sample", "Speed", "Throughput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Raw repeated timings of one case: nanoseconds per call, in the order they were taken.

    Each value is the mean over ``calls_per_value`` calls. ``peer_ns`` are the timings of the case's frozen
    peer taken in the same rounds (same length as ``call_ns``), empty when the case has no peer; they let
    two samples taken at different times be compared by ratio. ``timer`` names the clock. ``process_starts``
    are the indices at which values of another process begin: the buffers of one process share a placement.
    """

    call_ns: tuple[float, ...]
    peer_ns: tuple[float, ...] = ()
    calls_per_value: int
    warmup_calls: int
    timer: str
    seed: int
    process_starts: tuple[int, ...] = (0,)


SPEED_PROBABILITIES: tuple[float, ...] = tuple(step / 32 for step in range(33))
"""Where a ``Speed`` keeps the quantiles of its sample: minimum, 31 steps, maximum. A median of 30 values or more is
uncertain over three steps at least, and between two steps of so smooth a function a line will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What is kept of a sample in a baseline: its quantiles, and how many independent values it is worth.

    ``call_ns`` are the quantiles of the nanoseconds per call at ``SPEED_PROBABILITIES``, ``relative`` those of call
    over peer, round by round (empty without a peer). ``rounds`` were taken and are worth as many independent ones
    as ``worth`` (call) and ``relative_worth`` say. ``commit`` and ``created`` (ISO 8601, UTC) say of which code, when.
    """

    timer: str
    rounds: int
    calls_per_value: int
    seed: int
    call_ns: tuple[float, ...]
    worth: float
    relative: tuple[float, ...] = ()
    relative_worth: float = 0.0
    commit: str | None = None
    created: str = ""


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
