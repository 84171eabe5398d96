"""A baseline: what we promised to keep. Samples, traffic counts, environment, commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.environment import Environment
from harness.model.measurement import Sample, Throughput
from harness.model.trace import TrafficCounts
from harness.model.verdict import Run, Verdict

__all__ = ["SCHEMA_VERSION", "Baseline", "BaselineCase"]

SCHEMA_VERSION = 1
"""Raised whenever a field changes meaning or disappears; an older file loads or fails by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineCase:
    """What one case did when the baseline was saved.

    ``key`` is ``workload/case``. ``traffic`` has one entry per region. ``sample`` is ``None`` for cases that
    are not timed.
    """

    key: str
    parameters: Mapping[str, str]
    traffic_device: str
    timing_device: str
    traffic: Mapping[str, TrafficCounts]
    sample: Sample | None
    throughput: Throughput | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Everything a later run is compared with. ``created`` is ISO 8601 in UTC."""

    name: str
    created: str
    environment: Environment
    cases: tuple[BaselineCase, ...]
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def of_run(cls, run: Run, name: str) -> Baseline:
        """Promise to keep what ``run`` showed; it is dated as the run was."""
        cases = tuple(_case(verdict) for verdict in run.verdicts)
        return cls(name=name, created=run.created, environment=run.environment, cases=cases)


def _case(verdict: Verdict) -> BaselineCase:
    return BaselineCase(
        key=verdict.key,
        parameters=verdict.parameters,
        traffic_device=verdict.traffic_device,
        timing_device=verdict.timing_device,
        traffic=verdict.traffic.regions if verdict.traffic is not None else {},
        sample=verdict.sample,
        throughput=verdict.throughput,
    )
