"""A baseline: what we promised to keep. Speeds, traffic counts, environment, commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.environment import Environment
from harness.model.measurement import Speed, Throughput
from harness.model.outcome import Evidence
from harness.model.trace import TrafficCounts

__all__ = ["LATEST_KEPT", "SCHEMA_VERSION", "Baseline", "BaselineCase"]

SCHEMA_VERSION = 2
"""Raised whenever a field changes meaning or disappears; an older file loads or fails by name."""

LATEST_KEPT = 10
"""Speeds kept behind the anchor: enough to see at which save a creep began, and a bound on the file's size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineCase:
    """What one case did when the baseline was saved, and how fast it was at the saves before.

    ``key`` is ``workload/case``. ``traffic`` has one entry per region, as ``probe`` saw it with ``evidence``; without
    a probe there is none. ``speeds`` are the anchor (the first promise) and at most ``LATEST_KEPT`` later ones, the
    newest last; empty for a case that is not timed. ``margin`` is the slowdown the case itself declared to be too
    much, as a fraction.
    """

    key: str
    parameters: Mapping[str, str]
    traffic_device: str
    timing_device: str
    traffic: Mapping[str, TrafficCounts]
    probe: str = ""
    evidence: Evidence | None = None
    speeds: tuple[Speed, ...] = ()
    throughput: Throughput | None = None
    margin: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Everything a later run is compared with. ``created`` is ISO 8601 in UTC."""

    name: str
    created: str
    environment: Environment
    cases: tuple[BaselineCase, ...]
    schema_version: int = SCHEMA_VERSION
