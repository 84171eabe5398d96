"""What a training program did: its curves beside published ones, and where an iteration's time went."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Band", "Curve", "Stage", "StageTimes", "Training"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """What others measured: ``(x, lowest, highest)`` of all their runs, and where that is published."""

    points: tuple[tuple[float, float, float], ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One quantity over the steps or epochs of a program: ``points`` are ``(x, value)``, ``x_unit`` is what x counts."""

    name: str
    x_unit: str
    points: tuple[tuple[float, float], ...]
    unit: str = ""
    band: Band | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Seconds of one iteration spent in one stage; ``published_s`` is the ticket's figure on its own machine."""

    name: str
    seconds: float
    published_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTimes:
    """One way of timing an iteration: its stages, whole iterations as units per second, and host waits per iteration.

    ``reads`` counts copies to the host per iteration. Both counts are ``None`` where nothing watched.
    """

    label: str
    stages: tuple[Stage, ...]
    per_second: float
    unit: str
    syncs: int | None = None
    reads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """One run of a training program on ``data``, which says what it really was.

    ``published`` says where figures of ``published_s`` come from and on which machine they were taken.
    """

    program: str
    data: str
    curves: tuple[Curve, ...] = ()
    timings: tuple[StageTimes, ...] = ()
    published: str = ""
    notes: tuple[str, ...] = ()
