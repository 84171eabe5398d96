"""Was a GPU held back or shared while it was timed: pure judgement of samples taken before, during and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from harness.model.outcome import Outcome
from harness.model.verdict import TIMING_CONDITIONS, CheckResult
from harness.units import count_text, percent_text

__all__ = [
    "GpuSample",
    "GpuUse",
    "Limiter",
    "Phase",
    "check_conditions",
    "throttled_or_shared",
]

_TOLERATED_TIME = 0.01
"""Share of the measurement a limiter may act for, by the GPU's own counters: at half the clock that costs 1 % of
the mean and nothing of the median, and 1 % is what a comparison settles."""

_TOLERATED_SAMPLES = 0.05
"""Share of samples that may show a limiter where there are no counters: the bits also flicker while the clock
changes, and one of forty is not worth an alarm."""

_LOW_CLOCK = 0.75
"""Below this share of its highest clock a GPU is not doing the same work any more (nvbench's default limit)."""

_RAMPED_UP = 0.95
"""What was sampled before the clock first came this near its highest is the GPU waking up, not throttling."""

_IDLE = 1 << 0
"""``nvmlClocksEventReasonGpuIdle``: low clocks are then nobody's fault."""

_FOREIGN_SM_PERCENT = 1
"""A process above this share of the multiprocessors counts: a display that is redrawn stays at or below it."""

_BUSY_BEFORE_PERCENT = 10
"""Utilisation before the measurement, after a second without work of ours, that somebody else must cause."""


class Limiter(Enum):
    """What may hold the clocks of a GPU down; the value is its bit of ``nvmlClocksEventReasons``.

    Left out are what is chosen or harmless: idle, application clocks, display clocks, and the voltage limit
    at which a GPU that boosts freely always runs (``Reliability``).
    """

    POWER_CAP = 0x4
    HARDWARE_SLOWDOWN = 0x8
    SYNC_BOOST = 0x10
    SOFTWARE_THERMAL = 0x20
    HARDWARE_THERMAL = 0x40
    POWER_BRAKE = 0x80
    BOARD_LIMIT = 0x200

    @property
    def text(self) -> str:
        """In words."""
        return _LIMITER_TEXTS[self]


_LIMITER_TEXTS = {
    Limiter.POWER_CAP: "the power cap",
    Limiter.HARDWARE_SLOWDOWN: "a hardware slowdown",
    Limiter.SYNC_BOOST: "the clocks of its sync-boost group",
    Limiter.SOFTWARE_THERMAL: "the driver's thermal limit",
    Limiter.HARDWARE_THERMAL: "the hardware's thermal limit",
    Limiter.POWER_BRAKE: "the external power brake",
    Limiter.BOARD_LIMIT: "the board's limit",
}


class Phase(Enum):
    """When a sample was taken."""

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class GpuUse:
    """Work of one process on the GPU; ``sm_percent`` is its share of the multiprocessors, ``None`` if unknown."""

    pid: int
    sm_percent: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSample:
    """What a GPU said at one moment; ``None`` is what it did not say, never zero.

    ``reasons`` is the bit mask of clock-event reasons; ``held_ns`` the nanoseconds each limiter has acted for
    since the driver was loaded; ``tenants`` the processes with a compute context; ``uses`` what processes did
    since the first sample. Clock in MHz, power in mW, temperature in degrees Celsius.
    """

    phase: Phase
    at_ns: int
    reasons: int | None = None
    held_ns: Mapping[Limiter, int] = field(default_factory=dict)
    sm_clock: int | None = None
    temperature: int | None = None
    power: int | None = None
    utilization: int | None = None
    tenants: tuple[GpuUse, ...] | None = None
    uses: tuple[GpuUse, ...] | None = None
    lost: bool = False


def throttled_or_shared(samples: Sequence[GpuSample], *, own_pid: int) -> tuple[str, ...]:
    """One sentence per reason why timings taken meanwhile cannot be trusted; empty when there is none.

    Samples in the order they were taken. Where the GPU says nothing, nothing is held against it.
    """
    if any(sample.lost for sample in samples):
        return ("the GPU was lost or stopped answering during the measurement",)
    return (*_throttled(samples), *_shared(samples, own_pid))


def check_conditions(samples: Sequence[GpuSample], *, own_pid: int) -> CheckResult | None:
    """The judgement as a check of the case; ``None`` where the GPU said nothing that could be judged."""
    if not any(_says_something(sample) for sample in samples):
        return None
    reasons = throttled_or_shared(samples, own_pid=own_pid)
    seen = count_text(len(samples), "NVML sample")
    if not reasons:
        return CheckResult(
            check=TIMING_CONDITIONS,
            outcome=Outcome.PASSED,
            summary=f"the GPU was neither throttled nor shared{_ranges(samples)}",
            evidence=seen,
            details=_unseen(samples),
        )
    return CheckResult(
        check=TIMING_CONDITIONS,
        outcome=Outcome.INCONCLUSIVE,
        summary="; ".join(reasons),
        evidence=f"{seen}{_ranges(samples)}",
        details=_unseen(samples),
        next_step="run again on a GPU that is cool and free; where it always meets its power cap, lock the clocks "
        "below it (`nvidia-smi --lock-gpu-clocks=MHZ`)",
    )


def _throttled(samples: Sequence[GpuSample]) -> Iterator[str]:
    awake = _awake([sample for sample in samples if sample.phase is Phase.DURING])
    held = _held(samples)
    for limiter in Limiter:
        if limiter in held:
            if held[limiter] > _TOLERATED_TIME:
                yield f"{limiter.text} held its clocks down for {percent_text(held[limiter])} of the time"
            continue
        known = [sample.reasons for sample in awake if sample.reasons is not None]
        showing = sum(bool(reasons & limiter.value) for reasons in known)
        if known and showing > _TOLERATED_SAMPLES * len(known):
            yield f"{limiter.text} held its clocks down in {showing} of {count_text(len(known), 'sample')}"
    yield from _slowed(awake)


def _held(samples: Sequence[GpuSample]) -> dict[Limiter, float]:
    """The share of the measurement each limiter acted for, where the GPU counts it."""
    counting = [sample for sample in samples if sample.held_ns]
    if len(counting) < 2 or counting[-1].at_ns <= counting[0].at_ns:
        return {}
    first, last = counting[0], counting[-1]
    lasted = last.at_ns - first.at_ns
    return {
        limiter: max(0, last.held_ns[limiter] - first.held_ns[limiter]) / lasted
        for limiter in Limiter
        if limiter in first.held_ns and limiter in last.held_ns
    }


def _awake(during: Sequence[GpuSample]) -> Sequence[GpuSample]:
    """The samples from the first on whose clock is up."""
    clocks = [sample.sm_clock for sample in during if sample.sm_clock is not None]
    if not clocks:
        return during
    least = _RAMPED_UP * max(clocks)
    for position, sample in enumerate(during):
        if sample.sm_clock is not None and sample.sm_clock >= least:
            return during[position:]
    return during


def _slowed(awake: Sequence[GpuSample]) -> Iterator[str]:
    """Clocks that fell while the GPU worked, whatever it gives as the reason."""
    clocks = [
        sample.sm_clock
        for sample in awake
        if sample.sm_clock is not None and not (sample.reasons or 0) & _IDLE
    ]
    if not clocks:
        return
    low = [clock for clock in clocks if clock < _LOW_CLOCK * max(clocks)]
    if len(low) > _TOLERATED_SAMPLES * len(clocks):
        yield (
            f"its SM clock fell from {max(clocks):,} to {min(low):,} MHz in {len(low)} of "
            f"{count_text(len(clocks), 'sample')}"
        )


def _shared(samples: Sequence[GpuSample], own_pid: int) -> Iterator[str]:
    """What others did, if the GPU says so per process; else who else could have done something."""
    used: Counter[int] = Counter()
    for sample in samples:
        for use in sample.uses or ():
            used[use.pid] = max(used[use.pid], use.sm_percent or 0)
    if used:
        for pid, percent in sorted(_others(used, own_pid).items()):
            if percent > _FOREIGN_SM_PERCENT:
                yield f"process {pid} used up to {percent} % of its multiprocessors meanwhile"
        return
    tenants = {use.pid for sample in samples for use in sample.tenants or ()}
    if tenants:
        others = len(tenants) - 1  # one of them is this process, under whatever number
        if others:
            named = sorted(tenants - {own_pid}) if own_pid in tenants else []
            which = f" ({', '.join(map(str, named))})" if named else ""
            yield f"{count_text(others, 'other process', plural='other processes')}{which} had work on it"
        return
    busy = [sample.utilization for sample in samples if sample.phase is Phase.BEFORE]
    if busy and (busy[-1] or 0) > _BUSY_BEFORE_PERCENT:
        yield f"it was {busy[-1]} % busy before the measurement began"


def _others(used: Mapping[int, int], own_pid: int) -> dict[int, int]:
    """All but this process; in a container, where it has another number, all but the busiest."""
    own = own_pid if own_pid in used else max(used, key=lambda pid: used[pid])
    return {pid: percent for pid, percent in used.items() if pid != own}


def _says_something(sample: GpuSample) -> bool:
    known = (sample.reasons, sample.sm_clock, sample.tenants, sample.uses)
    return sample.lost or bool(sample.held_ns) or any(value is not None for value in known)


def _unseen(samples: Sequence[GpuSample]) -> tuple[str, ...]:
    """What this GPU does not say, so that silence about it is no proof."""
    texts = []
    if not any(sample.held_ns for sample in samples):
        if any(sample.reasons is not None for sample in samples):
            texts.append("no throttle counters: throttling between two samples is not seen")
        else:
            texts.append("neither throttle counters nor reasons: only a falling clock is seen")
    if not any(sample.uses for sample in samples) and not any(sample.tenants for sample in samples):
        texts.append("no list of processes: only work before the measurement is seen")
    return tuple(texts)


def _ranges(samples: Sequence[GpuSample]) -> str:
    """``: SM clock 1,950 to 1,980 MHz, 41 to 45 C, 210 to 240 W`` of what was said during the measurement."""
    during = [sample for sample in samples if sample.phase is Phase.DURING] or list(samples)
    columns = (
        ([sample.sm_clock for sample in during], "SM clock ", " MHz", 1),
        ([sample.temperature for sample in during], "", " C", 1),
        ([sample.power for sample in during], "", " W", 1000),
    )
    texts = []
    for column, before, unit, scale in columns:
        known = [round(value / scale) for value in column if value is not None]
        if known:
            low, high = min(known), max(known)
            span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            texts.append(f"{before}{span}{unit}")
    return f": {', '.join(texts)}" if texts else ""
