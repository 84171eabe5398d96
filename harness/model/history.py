"""The history of a project: measured cases as stores keep them, and as a report shows them."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.measurement import Sample, Speed

__all__ = ["CaseHistory", "HistoryChange", "HistoryPoint", "HistoryRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRecord:
    """One case of one run.

    ``key`` is ``workload/case``. ``comparable`` is the digest of everything that must agree before two records are
    compared: hard facts of the environment, parameters, device, timer, work per call. ``run_id`` and ``key``
    together name a record: adding it twice keeps one. ``created`` is ISO 8601 in UTC. ``sample`` holds the raw
    values; a store gives it back only where asked to.
    """

    key: str
    comparable: str
    run_id: str
    created: str
    commit: str | None
    dirty: bool | None
    speed: Speed
    sample: Sample | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """One run in the history of a case: the median nanoseconds per call and the quartiles of its values."""

    created: str
    commit: str | None
    dirty: bool | None
    call_ns: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryChange:
    """Speed changed for good at the point of this index: ``ratio`` is the time after over that before."""

    index: int
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseHistory:
    """The latest comparable records of one case (``key``), oldest first, and where its speed changed.

    ``earlier`` counts comparable records before the first of the points.
    """

    key: str
    points: tuple[HistoryPoint, ...]
    changes: tuple[HistoryChange, ...] = ()
    earlier: int = 0
