"""A run as pytest-benchmark's JSON, for the tools that read that format."""

from __future__ import annotations

import json
import math
import platform
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from harness.errors import OutputError
from harness.interchange.pytest_benchmark import EXTRA_KEY, SCHEMA_VERSION, timer_label
from harness.interchange.seal import DIGEST_KEY, digest_of_fields, seal
from harness.model.environment import Environment
from harness.model.measurement import Sample
from harness.model.verdict import Run, Verdict
from harness.stats.speed import speed_of

__all__ = ["encode_benchmarks", "environment_fields", "node_id"]

_FORMAT_VERSION = "5.3.1"
"""The version of pytest-benchmark whose fields these are."""


def encode_benchmarks(
    run: Run,
    *,
    machine_info: Mapping[str, Any] | None = None,
    commit_info: Mapping[str, Any] | None = None,
) -> bytes:
    """Every timed case of a run as the bytes of a JSON file that pytest-benchmark's own commands read.

    ``machine_info`` and ``commit_info`` are what pytest-benchmark would write, so that it finds the machine the same;
    without them they are made from the run. Raises ``OutputError`` for a timing that JSON cannot hold.
    """
    timed = [(verdict, verdict.sample) for verdict in run.verdicts if verdict.sample is not None]
    for verdict, sample in timed:
        if not sample.call_ns or not all(0 < value < math.inf for value in sample.call_ns):
            raise OutputError(
                f"run {run.run_id} was not written as benchmarks: {verdict.key} holds a timing that is none"
            )
    document = {
        "machine_info": dict(machine_info or _machine_info(run)),
        "commit_info": dict(commit_info or _commit_info(run.environment)),
        "benchmarks": [_benchmark(verdict, sample, run) for verdict, sample in timed],
        "datetime": run.created,
        "version": _FORMAT_VERSION,
    }
    return f"{json.dumps(document, indent=1, default=str)}\n".encode()


def environment_fields(environment: Environment, *, harness_version: str) -> dict[str, Any]:
    """Our part of ``machine_info``: what must agree before two files are compared, and nothing that changes hourly."""
    fields = {
        "schema_version": SCHEMA_VERSION,
        "version": harness_version,
        "environment": {"hard": dict(environment.hard), "soft": {}},
    }
    return {**fields, DIGEST_KEY: digest_of_fields(fields)}


def node_id(verdict: Verdict) -> str:
    """The id by which pytest knows a test; of a case that is none, its key."""
    if verdict.workload.endswith(".py"):
        return f"{verdict.workload}::{verdict.case}"
    return verdict.key


def _benchmark(verdict: Verdict, sample: Sample, run: Run) -> dict[str, Any]:
    fullname = node_id(verdict)
    name = fullname.rpartition("::")[2] if "::" in fullname else verdict.case
    _, bracket, parameter = name.rstrip("]").partition("[")
    benchmark = {
        "group": None,
        "name": name,
        "fullname": fullname,
        "params": dict(verdict.parameters) or None,
        "param": parameter if bracket else None,
        "extra_info": {EXTRA_KEY: _extra(verdict, sample, run)},
        "options": {
            "disable_gc": True,
            "timer": sample.timer.removeprefix(timer_label("")),
            "min_rounds": len(sample.call_ns),
            "max_time": None,
            "min_time": None,
            "warmup": sample.warmup_calls > 0,
        },
        "stats": _stats([value / 1e9 for value in sample.call_ns], sample.calls_per_value),
    }
    return seal(benchmark, EXTRA_KEY)


def _extra(verdict: Verdict, sample: Sample, run: Run) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "version": run.harness_version,
        "device": verdict.timing_device,
        "data_timer": sample.timer,
        "speed": msgspec.to_builtins(
            speed_of(sample, commit=run.environment.commit, created=run.created)
        ),
        "checks": {result.check: result.summary for result in verdict.checks},
    }
    if verdict.throughput is not None:
        fields["throughput"] = msgspec.to_builtins(verdict.throughput)
    return fields


def _stats(seconds: Sequence[float], iterations: int) -> dict[str, Any]:
    """The fields every reader of the format expects, from positive timings in the order they were taken."""
    ordered = sorted(seconds)
    mean, total = statistics.fmean(ordered), sum(ordered)
    deviation = statistics.stdev(ordered) if len(ordered) > 1 else 0.0
    first, third = _quartiles(ordered)
    spread = third - first
    low, high = first - 1.5 * spread, third + 1.5 * spread
    beyond = sum(not mean - deviation <= value <= mean + deviation for value in ordered)
    outside = sum(not low <= value <= high for value in ordered)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": deviation,
        "rounds": len(ordered),
        "median": statistics.median(ordered),
        "iqr": spread,
        "q1": first,
        "q3": third,
        "iqr_outliers": outside,
        "stddev_outliers": beyond,
        "outliers": f"{beyond};{outside}",
        "ld15iqr": ordered[min(bisect_left(ordered, low), len(ordered) - 1)],
        "hd15iqr": ordered[max(bisect_right(ordered, high) - 1, 0)],
        "ops": len(ordered) / total,
        "total": total,
        "data": list(seconds),
        "iterations": iterations,
    }


def _quartiles(ordered: Sequence[float]) -> tuple[float, float]:
    if len(ordered) < 2:
        return ordered[0], ordered[0]
    first, _, third = statistics.quantiles(ordered, n=4, method="inclusive")
    return first, third


def _machine_info(run: Run) -> dict[str, Any]:
    return {
        "node": "",
        "processor": platform.processor(),
        "machine": platform.machine(),
        "python_compiler": platform.python_compiler(),
        "python_implementation": platform.python_implementation(),
        "python_implementation_version": platform.python_version(),
        "python_version": platform.python_version(),
        "python_build": list(platform.python_build()),
        "release": platform.release(),
        "system": platform.system(),
        "cpu": {"brand_raw": run.environment.hard.get("cpu.model", "")},
        EXTRA_KEY: environment_fields(run.environment, harness_version=run.harness_version),
    }


def _commit_info(environment: Environment) -> dict[str, Any]:
    return {
        "id": environment.commit or "unversioned",
        "time": None,
        "author_time": None,
        "dirty": bool(environment.dirty),
        "project": "",
        "branch": "(unknown)",
    }
