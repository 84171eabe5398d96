"""What every baseline must satisfy beyond its types, checked alike before saving and after loading."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta

from harness.baseline.naming import name_problem
from harness.model.baseline import SCHEMA_VERSION, Baseline, BaselineCase
from harness.model.environment import Environment
from harness.model.measurement import Sample, Throughput
from harness.model.trace import TrafficCounts

__all__ = ["Problem", "inside", "problems", "quoted"]

Problem = tuple[str, str]
"""A JSON path and what is wrong there: ``("$.cases[0].sample", "holds no timing")``."""

LARGEST_COUNT = 2**53
"""Counts stay exact in any reader of JSON up to here, and no trace comes near it."""

SHORTEST_NS = 0.001
"""A picosecond: no processor finishes anything in a hundredth of its cycle."""

LONGEST_NS = 1e18
"""Thirty years; ratios of times within these limits stay far from the ends of float64."""

_LONGEST_QUOTE = 60
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def problems(baseline: Baseline) -> Iterator[Problem]:
    """Everything wrong with the values, in the order of the fields; nothing when it may be stored."""
    if baseline.schema_version != SCHEMA_VERSION:
        yield "$.schema_version", f"is {quoted(baseline.schema_version)}, must be {SCHEMA_VERSION}"
    if problem := name_problem(baseline.name):
        yield "$.name", f"is {quoted(baseline.name)}: {problem}"
    if not _is_utc(baseline.created):
        yield "$.created", f"is {quoted(baseline.created)}, not an ISO 8601 time in UTC"
    yield from _environment(baseline.environment)
    seen: dict[str, int] = {}
    for index, case in enumerate(baseline.cases):
        path = f"$.cases[{index}]"
        if case.key in seen:
            yield f"{path}.key", f"repeats {quoted(case.key)} of $.cases[{seen[case.key]}]"
        seen.setdefault(case.key, index)
        yield from _case(case, path)


def quoted(value: object) -> str:
    """A value for a one-line message, cut when long."""
    text = ascii(value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


def inside(path: str, key: str) -> str:
    """The path of a key the file chose itself, kept to one line."""
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{quoted(key)}]"


def _environment(environment: Environment) -> Iterator[Problem]:
    yield from _mapping(environment.hard, "$.environment.hard")
    yield from _mapping(environment.soft, "$.environment.soft")
    if environment.commit is not None:
        yield from _text(environment.commit, "$.environment.commit")


def _case(case: BaselineCase, path: str) -> Iterator[Problem]:
    yield from _text(case.key, f"{path}.key")
    yield from _line(case.traffic_device, f"{path}.traffic_device")
    yield from _line(case.timing_device, f"{path}.timing_device")
    yield from _mapping(case.parameters, f"{path}.parameters")
    for region, counts in case.traffic.items():
        yield from _text(region, f"{path}.traffic")
        yield from _traffic(counts, inside(f"{path}.traffic", region))
    if case.sample is not None:
        yield from _sample(case.sample, f"{path}.sample")
    if case.throughput is not None:
        yield from _throughput(case.throughput, f"{path}.throughput")


def _traffic(counts: TrafficCounts, path: str) -> Iterator[Problem]:
    for counted in fields(counts):
        value = getattr(counts, counted.name)
        yield from _count(value, f"{path}.{counted.name}")
    for copies, size in ((counts.d2h, "d2h_bytes"), (counts.h2d, "h2d_bytes")):
        if copies == 0 < getattr(counts, size):
            yield f"{path}.{size}", f"is {quoted(getattr(counts, size))}, but no copy moved them"


def _sample(sample: Sample, path: str) -> Iterator[Problem]:
    if not sample.call_ns:
        yield f"{path}.call_ns", "holds no timing"
    if len(sample.peer_ns) not in (0, len(sample.call_ns)):
        yield (
            f"{path}.peer_ns",
            f"holds {len(sample.peer_ns)} timings for {len(sample.call_ns)} of call_ns",
        )
    yield from _timings(sample.call_ns, f"{path}.call_ns")
    yield from _timings(sample.peer_ns, f"{path}.peer_ns")
    yield from _count(sample.calls_per_value, f"{path}.calls_per_value", least=1)
    yield from _count(sample.warmup_calls, f"{path}.warmup_calls")
    yield from _text(sample.timer, f"{path}.timer")
    if abs(sample.seed) >= 2**63:
        yield f"{path}.seed", "does not fit 64 bits"


def _throughput(throughput: Throughput, path: str) -> Iterator[Problem]:
    yield from _text(throughput.unit, f"{path}.unit")
    if not (math.isfinite(throughput.units_per_call) and throughput.units_per_call > 0):
        yield (
            f"{path}.units_per_call",
            f"is {quoted(throughput.units_per_call)}, must be finite and above 0",
        )
    yield from _count(throughput.bytes_per_call, f"{path}.bytes_per_call")


def _timings(values: Sequence[float], path: str) -> Iterator[Problem]:
    if not values or (
        math.isfinite(sum(values)) and min(values) >= SHORTEST_NS and max(values) <= LONGEST_NS
    ):
        return  # the usual case, at the speed of C
    for index, value in enumerate(values):
        if not SHORTEST_NS <= value <= LONGEST_NS:
            limits = f"a time must be from {SHORTEST_NS} to {LONGEST_NS} ns"
            yield f"{path}[{index}]", f"is {value!r}, {limits}"


def _count(value: int, path: str, *, least: int = 0) -> Iterator[Problem]:
    if not least <= value <= LARGEST_COUNT:
        yield path, f"is {quoted(value)}, must be from {least} to {LARGEST_COUNT}"


def _mapping(texts: Mapping[str, str], path: str) -> Iterator[Problem]:
    for name, value in texts.items():
        yield from _text(name, path)
        yield from _line(value, inside(path, name))


def _text(value: str, path: str) -> Iterator[Problem]:
    if not value.strip():
        yield path, f"is {quoted(value)}, must say something"
    yield from _line(value, path)


def _line(value: str, path: str) -> Iterator[Problem]:
    if _UNPRINTABLE.search(value):
        yield path, f"is {quoted(value)}, not one line of text"


def _is_utc(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).utcoffset() == timedelta(0)
    except ValueError:
        return False
