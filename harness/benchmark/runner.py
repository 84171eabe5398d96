"""The measurement of one case: calibrate, warm up, then rounds beside its peer until precise or out of time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from harness.benchmark.calibration import Calibration, calibrate
from harness.benchmark.interleave import time_round
from harness.benchmark.placement import ChangeLayout, Placement
from harness.benchmark.stopping import StoppingRule
from harness.devices.host_layout import change_host_layout
from harness.errors import UnavailableError
from harness.model.measurement import Sample
from harness.timers.base import Timer

__all__ = ["Progress", "measure"]

Progress = Callable[[int, float], None]
"""Told after each round, outside any timing: rounds done, and the fraction of the time cap used."""

_WARM_UP_SHARES = (0.05, 0.2)
"""Least and most of the time cap, calibration included: what compiles after some calls must come to it, what
never settles must leave most of the time for values."""

_WINDOW = 3
_STILL_FASTER = 0.98
"""Warm once the best of three values is no more than 2 % below the best of the three before: caches, allocator
and clock frequency speed things up at first, and the minimum is what disturbances do not move."""


def measure(
    case: Callable[[], object],
    peer: Callable[[], object] | None = None,
    *,
    timer: Timer,
    seed: int,
    rule: StoppingRule | None = None,
    change_layout: ChangeLayout = change_host_layout,
    progress: Progress | None = None,
) -> Sample:
    """Time ``case``, and its frozen ``peer`` in the same rounds, with ``timer``.

    Each value is the mean of as many calls as fill a millisecond; an operation so slow that the least rounds
    do not fit under the cap gets as many as the rule's patience allows, at least one. ``seed`` decides order and
    layout. Besides the values, each subject is called after every change of the layout, untimed. What the
    callables raise passes through; raises ``UnavailableError`` for a clock that stands still or jumps back.
    """
    rule = rule or StoppingRule()
    started_ns = timer.now_ns()
    subjects = [case] if peer is None else [case, peer]
    chance = random.Random(seed)
    placement = Placement(change_layout, timer=timer, chance=chance)
    calibrations = [calibrate(subject, timer) for subject in subjects]
    calls = _calls_per_value(calibrations, rule)
    rounds = _Rounds(subjects, calls, timer, chance, placement)
    least_ns, most_ns = (started_ns + share * rule.time_cap_ns for share in _WARM_UP_SHARES)
    spent, warm = _warm_up(rounds, least_ns, most_ns)
    values = _take(rounds, rule, started_ns, progress, begun=warm)
    return Sample(
        call_ns=tuple(row[0] for row in values),
        peer_ns=tuple(row[1] for row in values) if peer is not None else (),
        calls_per_value=calls,
        warmup_calls=calibrations[0].spent_calls + spent * calls,
        timer=timer.name,
        seed=seed,
    )


class _Rounds:
    """Takes rounds and remembers how long one lasts."""

    def __init__(
        self,
        subjects: Sequence[Callable[[], object]],
        calls: int,
        timer: Timer,
        chance: random.Random,
        placement: Placement,
    ) -> None:
        self._subjects, self._calls, self._timer = subjects, calls, timer
        self._chance, self._placement = chance, placement
        self.now_ns = timer.now_ns
        self.last_ns = 0.0
        self._ended_ns = timer.now_ns()

    def take(self) -> list[float]:
        """Nanoseconds per call of each subject; ``UnavailableError`` where the clock has gone back meanwhile."""
        start = self.now_ns()
        times = time_round(
            self._subjects,
            calls=self._calls,
            timer=self._timer,
            chance=self._chance,
            placement=self._placement,
        )
        now = self.now_ns()
        if not self._ended_ns <= start <= now:
            raise UnavailableError(
                f"timer {self._timer.name!r} went back from {max(self._ended_ns, start):.0f} ns during a round, so "
                f"neither values nor the time cap can be trusted; the machine's clock jumped, run again"
            )
        self.last_ns, self._ended_ns = now - start, now
        return times


def _calls_per_value(calibrations: Sequence[Calibration], rule: StoppingRule) -> int:
    """Enough for the fastest subject's clock, but no more than lets the least rounds fit under the cap."""
    wanted = max(calibration.calls for calibration in calibrations)
    one_call_each_ns = sum(calibration.call_ns for calibration in calibrations)
    affordable = int(rule.time_cap_ns / rule.least_rounds / one_call_each_ns)
    return max(1, min(wanted, affordable))


def _warm_up(rounds: _Rounds, least_ns: float, most_ns: float) -> tuple[int, list[list[float]]]:
    """Take rounds until none of the subjects gets faster, or time is up.

    Returns how many were spent, and beyond them those that showed it: they are as warm as any that follow.
    """
    taken: list[list[float]] = []
    while rounds.now_ns() + rounds.last_ns < most_ns:
        taken.append(rounds.take())
        lasted = len(taken) >= 2 * _WINDOW and rounds.now_ns() >= least_ns
        if lasted and all(map(_settled, zip(*taken, strict=True))):
            return len(taken) - _WINDOW, taken[-_WINDOW:]
    return len(taken), []


def _settled(times: Sequence[float]) -> bool:
    newest, before = times[-_WINDOW:], times[-2 * _WINDOW : -_WINDOW]
    return min(newest) >= _STILL_FASTER * min(before)


def _take(
    rounds: _Rounds,
    rule: StoppingRule,
    started_ns: float,
    progress: Progress | None,
    *,
    begun: list[list[float]],
) -> list[list[float]]:
    """Take rounds, at least one beside those ``begun`` with, until the rule is met."""
    values = list(begun)
    next_look = rule.least_rounds
    while True:
        values.append(rounds.take())
        used_ns = rounds.now_ns() - started_ns
        if progress is not None:
            progress(len(values), min(1.0, used_ns / rule.time_cap_ns))
        if used_ns + rounds.last_ns > rule.cap_after_ns(len(values)):
            return values
        if len(values) >= next_look and used_ns >= rule.least_time_ns:
            columns = list(zip(*values, strict=True))
            if rule.precise(columns[0], columns[1] if len(columns) > 1 else ()):
                return values
            next_look = rule.next_look(len(values))
