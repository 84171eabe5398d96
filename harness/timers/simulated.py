"""A clock that only moves when simulated work is done, with every disturbance a real machine has: exact truth for tests.

The benchmark and the statistics are tested against it, since on a real machine nobody knows the true ratio. Here it
is the ratio of the costs that two operations were made with.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Interrupts", "SimulatedClock", "Throttle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupts:
    """Other work that holds up whatever runs: how often per second between them, and for how long on average.

    Starts are a Poisson process, lengths exponential.
    """

    per_second: float
    mean_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """Episodes in which everything takes ``factor`` times as long: how often per second between them, and for how long.

    Starts are a Poisson process, lengths exponential.
    """

    per_second: float
    mean_ns: float
    factor: float


class SimulatedClock:
    """A timer whose time is spent by the operations it makes.

    ``noise`` is the standard deviation of the log of each call's time, ``interrupts`` come on top. ``drift`` is the
    relative slow-down per second of simulated time, the same for every operation, as of a machine growing
    warm. ``layout_noise`` is the standard deviation of the log of a factor that each operation draws anew whenever
    ``change_layout`` is called, as of buffers placed elsewhere; ``layout_bias`` another, between ``1 - layout_bias`` and
    ``1 + layout_bias``, evenly drawn; ``process_bias`` the same, drawn whenever ``new_process`` is called. All is drawn from ``seed``, so the same calls take the same time again.
    """

    name = "simulated clock"

    def __init__(
        self,
        *,
        seed: int = 0,
        noise: float = 0.0,
        interrupts: Interrupts | None = None,
        drift: float = 0.0,
        layout_noise: float = 0.0,
        layout_bias: float = 0.0,
        process_bias: float = 0.0,
        throttle: Throttle | None = None,
        resolution_ns: float = 1.0,
    ) -> None:
        self._random = random.Random(seed)
        self._noise, self._drift = noise, drift
        self._layout_noise, self._layout_bias = layout_noise, layout_bias
        self._process_bias = process_bias
        self._resolution_ns = resolution_ns
        self._spent_ns = self._shift_ns = 0.0
        self._stopped_at_ns: float | None = None
        self._layout = self._process = 0
        self._interrupts = interrupts
        self._interrupt_ns = self._after(interrupts.per_second if interrupts else 0.0)
        self._throttle = throttle
        self._throttled_from_ns = self._throttled_to_ns = 0.0
        self._next_episode()

    @property
    def resolution_ns(self) -> float:
        """The step the clock is read in."""
        return self._resolution_ns

    def operation(
        self, cost_ns: float, *, warm_up_calls: int = 0, cold_factor: float = 1.0
    ) -> Callable[[], None]:
        """A callable that spends ``cost_ns``, times ``cold_factor`` for its first ``warm_up_calls`` calls."""
        calls = 0
        layout, process, in_layout, in_process = -1, -1, 1.0, 1.0

        def call() -> None:
            nonlocal calls, layout, process, in_layout, in_process
            if process != self._process:
                process, in_process = self._process, self._bias(self._process_bias)
            if layout != self._layout:
                layout = self._layout
                in_layout = self._bias(self._layout_bias) * self._factor(self._layout_noise)
            cold = cold_factor if calls < warm_up_calls else 1.0
            calls += 1
            self._spend(cost_ns * cold * in_layout * in_process)

        return call

    def change_layout(self, _random: random.Random) -> None:
        """Give every operation a new layout factor."""
        self._layout += 1

    def new_process(self) -> None:
        """Give every operation a new process factor, and a new layout."""
        self._process += 1
        self._layout += 1

    def jump(self, by_ns: float) -> None:
        """Set the clock forward, or with a negative number back, without time passing."""
        self._shift_ns += by_ns

    def stop(self) -> None:
        """Let the clock stand still while time passes."""
        self._stopped_at_ns = self.now_ns()

    def measure(self, call: Callable[[], object], calls: int) -> float:
        """Simulated nanoseconds for ``calls`` calls."""
        start = self.now_ns()
        for _ in range(calls):
            call()
        return self.now_ns() - start

    def now_ns(self) -> float:
        """Simulated nanoseconds since the clock was made, in whole steps of the resolution."""
        if self._stopped_at_ns is not None:
            return self._stopped_at_ns
        read_ns = self._spent_ns + self._shift_ns
        return math.floor(read_ns / self._resolution_ns) * self._resolution_ns

    def _spend(self, undisturbed_ns: float) -> None:
        warmth = 1.0 + self._drift * self._spent_ns / 1e9
        took_ns = undisturbed_ns * warmth * self._factor(self._noise)
        if self._throttle is not None:
            took_ns = self._throttled(took_ns, self._throttle.factor)
        end_ns = self._spent_ns + took_ns
        while self._interrupt_ns < end_ns and self._interrupts is not None:
            end_ns += self._random.expovariate(1.0 / self._interrupts.mean_ns)
            self._interrupt_ns = end_ns + self._after(self._interrupts.per_second)
        self._spent_ns = end_ns

    def _throttled(self, took_ns: float, factor: float) -> float:
        """How long work takes that would take so long undisturbed, slower for the part within an episode."""
        now_ns, left_ns = self._spent_ns, took_ns
        while True:
            while now_ns >= self._throttled_to_ns:
                self._next_episode()
            slow = now_ns >= self._throttled_from_ns
            edge_ns = self._throttled_to_ns if slow else self._throttled_from_ns
            pace = factor if slow else 1.0
            if now_ns + left_ns * pace <= edge_ns:
                return now_ns + left_ns * pace - self._spent_ns
            left_ns -= (edge_ns - now_ns) / pace
            now_ns = edge_ns

    def _next_episode(self) -> None:
        if self._throttle is not None:
            self._throttled_from_ns = self._throttled_to_ns + self._after(self._throttle.per_second)
            length_ns = self._random.expovariate(1.0 / self._throttle.mean_ns)
            self._throttled_to_ns = self._throttled_from_ns + length_ns

    def _after(self, per_second: float) -> float:
        """Nanoseconds to the next of events that come so often; none ever comes at a rate of 0."""
        return self._random.expovariate(per_second) * 1e9 if per_second else math.inf

    def _bias(self, reach: float) -> float:
        return 1.0 + self._random.uniform(-reach, reach) if reach else 1.0

    def _factor(self, deviation: float) -> float:
        return math.exp(self._random.gauss(0.0, deviation)) if deviation else 1.0
