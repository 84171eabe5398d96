"""Baselines of schema version 1, which held raw timings: how they are read, and what they are today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.baseline.promise import commit_of, kept_speed
from harness.baseline.validation import (
    Problem,
    case_texts,
    count,
    header,
    repeated_keys,
    text,
    throughput,
    timings,
    traffic,
)
from harness.model.baseline import Baseline, BaselineCase
from harness.model.environment import Environment
from harness.model.measurement import Sample, Speed, Throughput
from harness.model.outcome import Evidence
from harness.model.trace import TrafficCounts

__all__ = ["BaselineOf1", "CaseOf1", "SampleOf1", "problems_of_1", "upgraded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleOf1:
    """Raw timings as version 1 kept them."""

    call_ns: tuple[float, ...]
    peer_ns: tuple[float, ...]
    calls_per_value: int
    warmup_calls: int
    timer: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOf1:
    """A case of version 1, which did not say what saw its traffic."""

    key: str
    parameters: Mapping[str, str]
    traffic_device: str
    timing_device: str
    traffic: Mapping[str, TrafficCounts]
    sample: SampleOf1 | None
    throughput: Throughput | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineOf1:
    """A baseline of version 1."""

    name: str
    created: str
    environment: Environment
    cases: tuple[CaseOf1, ...]
    schema_version: int


def problems_of_1(baseline: BaselineOf1) -> Iterator[Problem]:
    """Everything wrong with the values of a file of version 1."""
    yield from header(baseline.name, baseline.created, baseline.environment)
    yield from repeated_keys([case.key for case in baseline.cases])
    for index, case in enumerate(baseline.cases):
        path = f"$.cases[{index}]"
        yield from case_texts(case.key, case.parameters, path)
        yield from traffic(case.traffic, f"{path}.traffic")
        if case.sample is not None:
            yield from _sample(case.sample, f"{path}.sample")
        if case.throughput is not None:
            yield from throughput(case.throughput, f"{path}.throughput")


def upgraded(old: BaselineOf1) -> Baseline:
    """The baseline that saving the same run would give today; its only speeds are the anchors.

    The simulated device has one probe; what saw the traffic of any other device is not known any more, so those
    counts are compared with nothing.
    """
    return Baseline(
        name=old.name,
        created=old.created,
        environment=old.environment,
        cases=tuple(_case(case, old) for case in old.cases),
    )


def _case(case: CaseOf1, old: BaselineOf1) -> BaselineCase:
    simulated = bool(case.traffic) and case.traffic_device == "simulated"
    return BaselineCase(
        key=case.key,
        parameters=case.parameters,
        traffic_device=case.traffic_device,
        timing_device=case.timing_device,
        traffic=case.traffic,
        probe="simulated" if simulated else "",
        evidence=Evidence.SIMULATED if simulated else None,
        speeds=(_speed(case.sample, old),) if case.sample is not None else (),
        throughput=case.throughput,
    )


def _speed(old: SampleOf1, baseline: BaselineOf1) -> Speed:
    sample = Sample(
        call_ns=old.call_ns,
        peer_ns=old.peer_ns,
        calls_per_value=old.calls_per_value,
        warmup_calls=old.warmup_calls,
        timer=old.timer,
        seed=old.seed,
    )
    return kept_speed(sample, commit=commit_of(baseline.environment), created=baseline.created)


def _sample(sample: SampleOf1, path: str) -> Iterator[Problem]:
    if not sample.call_ns:
        yield f"{path}.call_ns", "holds no timing"
    if len(sample.peer_ns) not in (0, len(sample.call_ns)):
        yield (
            f"{path}.peer_ns",
            f"holds {len(sample.peer_ns)} timings for {len(sample.call_ns)} of call_ns",
        )
    yield from timings(sample.call_ns, f"{path}.call_ns")
    yield from timings(sample.peer_ns, f"{path}.peer_ns")
    yield from count(sample.calls_per_value, f"{path}.calls_per_value", least=1)
    yield from count(sample.warmup_calls, f"{path}.warmup_calls")
    yield from text(sample.timer, f"{path}.timer")
    if abs(sample.seed) >= 2**63:
        yield f"{path}.seed", "does not fit 64 bits"
