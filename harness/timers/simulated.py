"""A clock that only moves when simulated work is done, with seeded noise and drift: exact truth for tests.

The benchmark and the statistics are tested against it, since on a real machine nobody knows the true ratio.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

__all__ = ["SimulatedClock"]


class SimulatedClock:
    """A timer whose time is spent by the operations it makes.

    ``noise`` is the standard deviation of the log of each call's time, drawn from ``seed``; ``drift`` the
    relative slow-down per second of simulated time, the same for every operation, as of a machine growing
    warm; ``layout_noise`` that of the log of a factor which each operation draws anew whenever
    ``change_layout`` is called, as of buffers placed elsewhere.
    """

    name = "simulated clock"

    def __init__(
        self,
        *,
        seed: int = 0,
        noise: float = 0.0,
        drift: float = 0.0,
        layout_noise: float = 0.0,
        resolution_ns: float = 1.0,
    ) -> None:
        self._random = random.Random(seed)
        self._noise, self._drift, self._layout_noise = noise, drift, layout_noise
        self._resolution_ns = resolution_ns
        self._elapsed_ns = 0.0
        self._layout = 0

    @property
    def resolution_ns(self) -> float:
        """The step the clock is read in."""
        return self._resolution_ns

    def operation(
        self, cost_ns: float, *, warm_up_calls: int = 0, cold_factor: float = 1.0
    ) -> Callable[[], None]:
        """A callable that spends ``cost_ns``, times ``cold_factor`` for its first ``warm_up_calls`` calls."""
        calls = 0
        layout, bias = -1, 1.0

        def call() -> None:
            nonlocal calls, layout, bias
            if layout != self._layout:
                layout, bias = self._layout, self._factor(self._layout_noise)
            cold = cold_factor if calls < warm_up_calls else 1.0
            calls += 1
            warmth = 1.0 + self._drift * self._elapsed_ns / 1e9
            self._elapsed_ns += cost_ns * cold * bias * warmth * self._factor(self._noise)

        return call

    def change_layout(self, _random: random.Random) -> None:
        """Give every operation a new layout factor."""
        self._layout += 1

    def measure(self, call: Callable[[], object], calls: int) -> float:
        """Simulated nanoseconds for ``calls`` calls."""
        start = self.now_ns()
        for _ in range(calls):
            call()
        return self.now_ns() - start

    def now_ns(self) -> float:
        """Simulated nanoseconds since the clock was made, in whole steps of the resolution."""
        return math.floor(self._elapsed_ns / self._resolution_ns) * self._resolution_ns

    def _factor(self, spread: float) -> float:
        return math.exp(self._random.gauss(0.0, spread)) if spread else 1.0
