"""Timings: raw samples of one case and estimates with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = [
    "SPEED_PROBABILITIES",
    "CopyBandwidth",
    "CopyRate",
    "Estimate",
    "Rates",
    "Sample",
    "Speed",
    "SpeedChange",
    "Throughput",
    "rates_of",
]


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
class SpeedChange:
    """A time per call held against another: ``ratio`` is now over then, so above 1 is slower.

    ``margin`` is the slowdown that is too much, as a fraction, ``decision`` what was decided in a word, ``against``
    whose time it is held against, in words. ``baseline_ns`` is the median of that, nanoseconds per call; of a stored
    baseline it was taken on another day, and the ratio is of quotients to a frozen peer unless it is ``raw``.
    """

    ratio: Estimate
    margin: float
    decision: str
    against: str
    baseline_ns: float
    raw: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Work per second in the op's own unit, and bytes per second against the least that must move."""

    unit: str
    units_per_call: float
    bytes_per_call: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRate:
    """How fast a device copied memory of its own: bytes per second, those read and those written together.

    The ``best`` and the ``median`` of so many ``copies``.
    """

    best: float
    median: float
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyBandwidth:
    """How fast ``device`` copied at the beginning and at the end of a timed run.

    Each copy read ``size_bytes`` and wrote as many. ``after`` is ``None`` where the run was cut short.
    """

    device: str
    size_bytes: int
    before: CopyRate
    after: CopyRate | None = None

    @property
    def best(self) -> float:
        """The roof: bytes per second of the fastest copy, which no disturbance can have made too fast."""
        return max(rate.best for rate in (self.before, self.after or self.before))

    @property
    def usual(self) -> float:
        """The canary: the lower of the two medians, since a machine that slows down while it times is slow."""
        return min(rate.median for rate in (self.before, self.after or self.before))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a timed case did in a second.

    ``bytes_per_second`` counts the least that must move, ``of_copy`` is that as a fraction of the copy bandwidth
    of the same run, above 1 where caches served it; ``None`` where not known.
    """

    units_per_second: float
    bytes_per_second: float | None = None
    of_copy: float | None = None


def rates_of(
    throughput: Throughput | None,
    call_time: Estimate | None,
    copy: CopyBandwidth | None = None,
    *,
    device: str = "",
) -> Rates | None:
    """The rates of a case timed on ``device``; ``None`` where it was not timed or its time means nothing."""
    if throughput is None or call_time is None or not 0 < call_time.value < math.inf:
        return None
    per_second = 1e9 / call_time.value
    bandwidth = throughput.bytes_per_call * per_second if throughput.bytes_per_call else None
    known = copy is not None and copy.device == device and 0 < copy.best < math.inf
    return Rates(
        units_per_second=throughput.units_per_call * per_second,
        bytes_per_second=bandwidth,
        of_copy=bandwidth / copy.best if bandwidth and copy is not None and known else None,
    )
