"""Two workers as the benchmark sees them: subjects to time, one clock, one memory layout to change."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from harness.session.against import protocol
from harness.session.against.process import Worker

__all__ = ["Pair", "RemoteCall", "RemoteTimer"]


class RemoteCall:
    """One call of the case a worker has open."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def __call__(self) -> None:
        """Call it once, untimed."""
        self.worker.ask(protocol.Time(1), protocol.Timed)


class Pair:
    """The two sides, of which one works at a time; ``shared`` where they live in one process."""

    def __init__(self, candidate: Worker, baseline: Worker) -> None:
        self.candidate, self.baseline = candidate, baseline
        self.shared = candidate.pid == baseline.pid

    @property
    def workers(self) -> tuple[Worker, Worker]:
        """Both, the candidate first."""
        return self.candidate, self.baseline

    def change_layout(self, chance: random.Random) -> object:
        """Have each process move its next buffers, each its own way; they keep what has to be kept alive."""
        for worker in self.workers[:1] if self.shared else self.workers:
            worker.ask(protocol.Move(chance.getrandbits(32)), protocol.Done)
        return None


class RemoteTimer:
    """The clock of the workers' device, read by the worker whose call is timed.

    Sending the question and waiting for the answer, some 0.1 ms, is outside what is measured.
    """

    def __init__(self, pair: Pair) -> None:
        entered = [worker.entered for worker in pair.workers]
        self.name = entered[0].timer
        self.resolution_ns = max(each.resolution_ns for each in entered)

    def measure(self, call: Callable[[], object], calls: int) -> float:
        """Nanoseconds for ``calls`` calls, taken by their worker; ``TypeError`` for any other callable."""
        if not isinstance(call, RemoteCall):
            raise TypeError(f"{call!r} is not a call of a worker")
        return call.worker.ask(protocol.Time(calls), protocol.Timed).elapsed_ns

    def now_ns(self) -> float:
        """Nanoseconds of this process's monotonic clock, which budgets are kept in."""
        return float(time.perf_counter_ns())
