"""A benchmarked callable and its frozen peer, timed in the same rounds of this session."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.devices.base import Device
from harness.environment.gpu_monitor import GpuMonitor
from harness.model.measurement import Sample
from harness.model.verdict import CheckResult
from harness.pytest_plugin.spying import Subject
from harness.timers.base import Timer

__all__ = ["Paired", "peer_doubt", "seed_of", "time_pair"]

_QUARTER = 4
"""The interval is to be half as wide as a quarter of the margin either way: then a ratio of 1 is seen to be within it,
and one of twice the margin to be beyond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Raw timings of both, and what the GPU's sensors say about the conditions meanwhile, where there is one."""

    sample: Sample
    conditions: CheckResult | None


def time_pair(
    candidate: Subject,
    peer: Subject,
    device: Device,
    *,
    margin: float,
    seconds: float,
    seed: int,
) -> Paired:
    """Interleave both with the device's clock until the ratio is precise to a quarter of the margin, or time is up.

    What either raises passes through.
    """
    timer: Timer = device.timer()
    if candidate.setup is not None or candidate.teardown is not None:
        timer = _PreparingTimer(timer)
    half_width = max(margin, _LEAST_MARGIN) / _QUARTER
    watched = nullcontext() if device.identity is None else GpuMonitor(device.identity)
    with watched as monitor:
        sample = measure(
            _call(candidate),
            _call(peer),
            timer=timer,
            seed=seed,
            rule=StoppingRule(half_width=half_width, time_cap_ns=seconds * 1e9),
            change_layout=device.change_layout,
        )
    return Paired(sample=sample, conditions=monitor.check() if monitor is not None else None)


_LEAST_MARGIN = 0.002
"""A margin of nothing asks for a precision that no machine has; a fifth of a per cent is what a quiet one reaches."""


def seed_of(nodeid: str) -> int:
    """The seed of a test's rounds: another for each test, the same in every session."""
    return zlib.crc32(nodeid.encode())


def peer_doubt(mine: Any, its: Any) -> str:
    """Why a peer does not do the work of the test, as far as what the two return shows it; empty where it may."""
    if (mine is None) != (its is None):
        return f"it returns {type(its).__name__} where the test's own returns {type(mine).__name__}"
    shapes = [value.shape for value in (mine, its) if hasattr(value, "shape")]
    if len(shapes) == 2 and shapes[0] != shapes[1]:
        return f"it returns shape {shapes[1]} where the test's own returns {shapes[0]}"
    return ""


def _call(subject: Subject) -> Callable[[], object]:
    if subject.setup is not None or subject.teardown is not None:
        return _Prepared(subject)
    function, args, kwargs = subject.function, subject.args, subject.kwargs
    if not args and not kwargs:
        return function
    return lambda: function(*args, **kwargs)


class _Prepared:
    """A call whose arguments are made anew each time, outside what is timed."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._arguments: tuple[Any, Any] = (subject.args, subject.kwargs)

    def prepare(self) -> None:
        """What comes before a call."""
        made = self._subject.setup() if self._subject.setup is not None else None
        self._arguments = made or (self._subject.args, self._subject.kwargs)

    def __call__(self) -> object:
        args, kwargs = self._arguments
        return self._subject.function(*args, **kwargs)

    def clear(self) -> None:
        """What comes after it."""
        if self._subject.teardown is not None:
            args, kwargs = self._arguments
            self._subject.teardown(*args, **kwargs)


class _PreparingTimer:
    """A clock that times each call by itself, between its preparation and what cleans up after it."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self.name = f"{timer.name}, call by call"
        self.resolution_ns = timer.resolution_ns
        self.now_ns = timer.now_ns

    def measure(self, call: Callable[[], object], calls: int) -> float:
        """Nanoseconds of the calls alone."""
        if not isinstance(call, _Prepared):
            return self._timer.measure(call, calls)
        total = 0.0
        for _ in range(calls):
            call.prepare()
            total += self._timer.measure(call, 1)
            call.clear()
        return total
