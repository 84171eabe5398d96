"""What every baseline must satisfy beyond its types, checked alike before saving and after loading."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from itertools import pairwise

from harness.baseline.naming import name_problem
from harness.model.baseline import LATEST_KEPT, SCHEMA_VERSION, Baseline, BaselineCase
from harness.model.environment import Environment
from harness.model.measurement import SPEED_PROBABILITIES, Speed, Throughput
from harness.model.trace import TrafficCounts

__all__ = [
    "Problem",
    "case_texts",
    "count",
    "header",
    "inside",
    "problems",
    "quoted",
    "repeated_keys",
    "text",
    "throughput",
    "timings",
    "traffic",
]

Problem = tuple[str, str]
"""A JSON path and what is wrong there: ``("$.cases[0].key", "is ' ', must say something")``."""

LARGEST_COUNT = 2**53
"""Counts stay exact in any reader of JSON up to here, and no trace comes near it."""

SHORTEST_NS = 0.001
"""A picosecond: no processor finishes anything in a hundredth of its cycle."""

LONGEST_NS = 1e18
"""Thirty years; ratios of times within these limits stay far from the ends of float64."""

_TIMES = (SHORTEST_NS, LONGEST_NS)
_RATIOS = (SHORTEST_NS / LONGEST_NS, LONGEST_NS / SHORTEST_NS)
_LONGEST_QUOTE = 60
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def problems(baseline: Baseline) -> Iterator[Problem]:
    """Everything wrong with the values, in the order of the fields; nothing when it may be stored."""
    if baseline.schema_version != SCHEMA_VERSION:
        yield "$.schema_version", f"is {quoted(baseline.schema_version)}, must be {SCHEMA_VERSION}"
    yield from header(baseline.name, baseline.created, baseline.environment)
    yield from repeated_keys([case.key for case in baseline.cases])
    for index, case in enumerate(baseline.cases):
        yield from _case(case, f"$.cases[{index}]")


def quoted(value: object) -> str:
    """A value for a one-line message, cut when long."""
    shown = ascii(value)
    return shown if len(shown) <= _LONGEST_QUOTE else f"{shown[:_LONGEST_QUOTE]}..."


def inside(path: str, key: str) -> str:
    """The path of a key the file chose itself, kept to one line."""
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{quoted(key)}]"


def header(name: str, created: str, environment: Environment) -> Iterator[Problem]:
    """What is wrong with the name, the time and the facts of a baseline."""
    if problem := name_problem(name):
        yield "$.name", f"is {quoted(name)}: {problem}"
    yield from _time(created, "$.created")
    yield from _mapping(environment.hard, "$.environment.hard")
    yield from _mapping(environment.soft, "$.environment.soft")
    if environment.commit is not None:
        yield from text(environment.commit, "$.environment.commit")


def repeated_keys(keys: Sequence[str]) -> Iterator[Problem]:
    """Keys that stand for more than one case."""
    seen: dict[str, int] = {}
    for index, key in enumerate(keys):
        if seen.setdefault(key, index) != index:
            yield f"$.cases[{index}].key", f"repeats {quoted(key)} of $.cases[{seen[key]}]"


def case_texts(key: str, parameters: Mapping[str, str], path: str) -> Iterator[Problem]:
    """What is wrong with the name and the parameters of a case."""
    yield from text(key, f"{path}.key")
    yield from _mapping(parameters, f"{path}.parameters")


def traffic(regions: Mapping[str, TrafficCounts], path: str) -> Iterator[Problem]:
    """What is wrong with the counts of the regions of a case."""
    for region, counts in regions.items():
        yield from text(region, path)
        where = inside(path, region)
        for counted in fields(counts):
            yield from count(getattr(counts, counted.name), f"{where}.{counted.name}")
        for copies, size in ((counts.d2h, "d2h_bytes"), (counts.h2d, "h2d_bytes")):
            if copies == 0 < getattr(counts, size):
                moved = quoted(getattr(counts, size))
                yield f"{where}.{size}", f"is {moved}, but no copy moved them"


def throughput(work: Throughput, path: str) -> Iterator[Problem]:
    """What is wrong with the work of one call."""
    yield from text(work.unit, f"{path}.unit")
    if not (math.isfinite(work.units_per_call) and work.units_per_call > 0):
        yield (
            f"{path}.units_per_call",
            f"is {quoted(work.units_per_call)}, must be finite and above 0",
        )
    yield from count(work.bytes_per_call, f"{path}.bytes_per_call")


def timings(values: Sequence[float], path: str) -> Iterator[Problem]:
    """Values that are no time of a call in nanoseconds."""
    yield from _within(values, _TIMES, path, "a time must be from {} to {} ns")


def count(value: int, path: str, *, least: int = 0) -> Iterator[Problem]:
    """A count that is below the least possible or not exact in every reader of JSON."""
    if not least <= value <= LARGEST_COUNT:
        yield path, f"is {quoted(value)}, must be from {least} to {LARGEST_COUNT}"


def text(value: str, path: str) -> Iterator[Problem]:
    """A text that is not one line or says nothing."""
    if not value.strip():
        yield path, f"is {quoted(value)}, must say something"
    yield from _line(value, path)


def _case(case: BaselineCase, path: str) -> Iterator[Problem]:
    yield from case_texts(case.key, case.parameters, path)
    yield from _line(case.traffic_device, f"{path}.traffic_device")
    yield from _line(case.timing_device, f"{path}.timing_device")
    yield from _line(case.probe, f"{path}.probe")
    yield from traffic(case.traffic, f"{path}.traffic")
    if len(case.speeds) > 1 + LATEST_KEPT:
        limit = f"at most an anchor and {LATEST_KEPT} later ones are kept"
        yield f"{path}.speeds", f"holds {len(case.speeds)}, {limit}"
    for index, speed in enumerate(case.speeds):
        yield from _speed(speed, f"{path}.speeds[{index}]")
    if case.throughput is not None:
        yield from throughput(case.throughput, f"{path}.throughput")
    if case.margin is not None and not 0 < case.margin < 1:
        yield f"{path}.margin", f"is {quoted(case.margin)}, must be a fraction between 0 and 1"


def _speed(speed: Speed, path: str) -> Iterator[Problem]:
    yield from count(speed.rounds, f"{path}.rounds", least=1)
    yield from timings(speed.call_ns, f"{path}.call_ns")
    yield from _quantiles(speed.call_ns, f"{path}.call_ns")
    yield from _worth(speed.worth, speed.rounds, f"{path}.worth")
    if speed.relative:
        limits = "a ratio must be from {} to {}"
        yield from _within(speed.relative, _RATIOS, f"{path}.relative", limits)
        yield from _quantiles(speed.relative, f"{path}.relative")
        yield from _worth(speed.relative_worth, speed.rounds, f"{path}.relative_worth")
    elif speed.relative_worth != 0:
        problem = f"is {quoted(speed.relative_worth)}, but no ratio to a peer was kept"
        yield f"{path}.relative_worth", problem
    yield from count(speed.calls_per_value, f"{path}.calls_per_value", least=1)
    yield from text(speed.timer, f"{path}.timer")
    if abs(speed.seed) >= 2**63:
        yield f"{path}.seed", "does not fit 64 bits"
    if speed.commit is not None:
        yield from text(speed.commit, f"{path}.commit")
    if speed.created:
        yield from _time(speed.created, f"{path}.created")


def _quantiles(values: Sequence[float], path: str) -> Iterator[Problem]:
    expected = len(SPEED_PROBABILITIES)
    if len(values) != expected:
        yield path, f"holds {len(values)} quantiles, must hold {expected}"
    for index, (before, after) in enumerate(pairwise(values), start=1):
        if after < before:
            yield f"{path}[{index}]", f"is {after!r} after {before!r}, quantiles never fall"


def _worth(value: float, rounds: int, path: str) -> Iterator[Problem]:
    if not 1 <= value <= rounds:
        yield path, f"is {quoted(value)}, must be from 1 to the {rounds} of rounds"


def _within(
    values: Sequence[float], limits: tuple[float, float], path: str, rule: str
) -> Iterator[Problem]:
    least, most = limits
    if not values or (math.isfinite(sum(values)) and min(values) >= least and max(values) <= most):
        return  # the usual case, at the speed of C
    for index, value in enumerate(values):
        if not least <= value <= most:
            yield f"{path}[{index}]", f"is {value!r}, {rule.format(least, most)}"


def _mapping(texts: Mapping[str, str], path: str) -> Iterator[Problem]:
    for name, value in texts.items():
        yield from text(name, path)
        yield from _line(value, inside(path, name))


def _line(value: str, path: str) -> Iterator[Problem]:
    if _UNPRINTABLE.search(value):
        yield path, f"is {quoted(value)}, not one line of text"


def _time(value: str, path: str) -> Iterator[Problem]:
    try:
        utc = datetime.fromisoformat(value).utcoffset() == timedelta(0)
    except ValueError:
        utc = False
    if not utc:
        yield path, f"is {quoted(value)}, not an ISO 8601 time in UTC"
