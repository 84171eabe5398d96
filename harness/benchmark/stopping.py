"""When to stop measuring: on precision or on time, never on significance.

Looking at a decision after every round and stopping once it is significant multiplies false alarms. The width
of the interval says nothing about which side it lies on, so stopping on it is safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.stats.bootstrap import median_interval
from harness.stats.pairs import pair_ratio_interval

__all__ = ["DECIDABLE_ROUNDS", "StoppingRule"]

DECIDABLE_ROUNDS = 12
"""Eight values can be 99 % sure, as long as none of them was disturbed; of twelve, one on either side may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingRule:
    """Stop once the 95 % interval's half-width is ``half_width`` of the median, or at ``time_cap_ns``.

    The cap covers calibration and warm-up; up to ``patience`` caps are spent on the first twelve rounds, and one
    is always taken. Precision counts from ``least_rounds`` and ``least_time_ns`` on: values of one short moment
    agree with each other better than with those of the next. Defaults: a quarter of a per cent settles a margin
    of 1 %; 0.2 s is several scheduler and frequency-governor periods; 0.8 s keeps a run of eight timed cases
    near ten seconds.
    Raises ``ValueError`` for limits that can never be met.
    """

    half_width: float = 0.0025
    time_cap_ns: float = 0.8e9
    least_time_ns: float = 0.2e9
    least_rounds: int = 10
    patience: float = 5.0

    def __post_init__(self) -> None:
        if not (self.half_width > 0 and self.time_cap_ns > 0 and self.least_rounds >= 1):
            raise ValueError(
                f"half_width {self.half_width:g}, time_cap_ns {self.time_cap_ns:g} and "
                f"least_rounds {self.least_rounds} must all be above 0"
            )

    def cap_after_ns(self, rounds: int) -> float:
        """When to stop after so many rounds: at the cap, or with too few to decide anything, later.

        All of eight values lie on one side of the median with probability ``2**-7``, and eleven of twelve or
        more with ``13 / 2**11``: both under 1 %. Slow programs get up to ``patience`` caps to come by twelve.
        """
        return self.time_cap_ns * (1.0 if rounds >= DECIDABLE_ROUNDS else self.patience)

    def precise(self, call_ns: Sequence[float], peer_ns: Sequence[float]) -> bool:
        """Whether the values so far pin down the median, or with a peer the ratio."""
        if len(call_ns) < self.least_rounds:
            return False
        interval = pair_ratio_interval(call_ns, peer_ns) if peer_ns else median_interval(call_ns)
        return (interval.high - interval.low) / 2 <= self.half_width * interval.value

    def next_look(self, rounds: int) -> int:
        """After how many rounds to ask again: a quarter more each time, so that asking stays cheap."""
        return max(self.least_rounds, rounds + max(1, rounds // 4))
