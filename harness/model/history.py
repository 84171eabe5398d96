"""One measured case in the history of a project: what trends and change points are found in."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.measurement import Sample, Speed

__all__ = ["HistoryRecord"]


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
