"""What NVML says of the GPU, at rest and under load, and what asking costs the measurement."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from harness.environment.gpu_conditions import GpuSample, Limiter, Phase
from harness.errors import UnavailableError
from harness.units import count_text, duration_text, ratio_text

from .bench import Bench
from .findings import Notebook

__all__ = ["run_sensors"]

_LOAD_S = 0.5
_DRY_LOAD_S = 0.05
_ROUNDS = 5


def run_sensors(bench: Bench, note: Notebook, folder: Path) -> None:
    """Readings, a monitored load, and the same load unmonitored."""
    reading = note.about("readings")
    try:
        with bench.open_nvml() as nvml:
            found = asdict(nvml.read(bench.identity))
    except UnavailableError as error:
        reading.not_tried("NVML", str(error))
        return
    known = [name for name, value in found.items() if value not in (None, "", {})]
    reading.measured("answered", f"{len(known)} of {len(found)} questions", **found)
    samples = _watch(bench, note.about("monitor"))
    plain = [_plain(sample) for sample in samples]
    (folder / "samples.json").write_text(json.dumps(plain, indent=1), "utf-8")
    _compare(bench, note.about("cost of the monitor"))


def _watch(bench: Bench, note: Notebook) -> tuple[GpuSample, ...]:
    call = _load(bench)
    with bench.monitor() as monitor:
        _repeat(bench, call)
    samples = monitor.samples
    if not samples:
        note.not_tried("samples", monitor.unavailable)
        return ()
    during = [sample for sample in samples if sample.phase is Phase.DURING]
    note.measured("samples", f"{len(samples)}, {len(during)} of them during", during=len(during))
    gaps = [later.at_ns - sooner.at_ns for sooner, later in pairwise(during)]
    if gaps:
        note.measured("between samples", duration_text(median(gaps)), ns=median(gaps))
    result = monitor.check()
    summary = "NVML says nothing that could be judged" if result is None else result.summary
    note.measured("judgement", summary, details=[] if result is None else list(result.details))
    _note_counters(samples, note)
    return samples


def _note_counters(samples: tuple[GpuSample, ...], note: Notebook) -> None:
    """That the times a limiter acted for are nanoseconds: they cannot grow faster than time."""
    counting = [sample for sample in samples if sample.held_ns]
    if len(counting) < 2:
        note.not_tried("unit of the limiters' counters", "this GPU does not count")
        return
    first, last = counting[0], counting[-1]
    lasted = last.at_ns - first.at_ns
    grown = {
        limiter.name: (last.held_ns[limiter] - first.held_ns[limiter]) / lasted
        for limiter in Limiter
        if limiter in first.held_ns and limiter in last.held_ns
    }
    acted = {name: share for name, share in grown.items() if share}
    if not acted:
        note.not_tried("unit of the limiters' counters", "no limiter acted")
        return
    text = ", ".join(f"{name} {ratio_text(share)}" for name, share in acted.items())
    note.holds(
        "unit of the limiters' counters",
        all(1e-4 < share < 1.1 for share in acted.values()),
        expected="nanoseconds: shares of the time between 0.0001 and 1.1",
        seen=text,
    )


def _compare(bench: Bench, note: Notebook) -> None:
    """The same load with the monitor and without, in turns."""
    call = _load(bench)
    alone, watched = [], []
    for _ in range(_ROUNDS):
        alone.append(_repeat(bench, call))
        with bench.monitor():
            watched.append(_repeat(bench, call))
    ratio = median(watched) / median(alone)
    note.measured(
        "time of a call", ratio_text(ratio), ratio=ratio, alone_ns=alone, watched_ns=watched
    )
    note.measured("rounds", count_text(_ROUNDS, "round"))


def _load(bench: Bench) -> Callable[[], Any]:
    """Small launches, of which a disturbed host launches fewer."""
    array = bench.xp.zeros(1 << 16, np.float32)
    array += 1
    return lambda: array.fill(1)


def _repeat(bench: Bench, call: Callable[[], object]) -> float:
    """Nanoseconds per call over the time of a load."""
    seconds = _DRY_LOAD_S if bench.is_dry else _LOAD_S
    bench.device.synchronize()
    calls, began = 0, time.perf_counter_ns()
    while time.perf_counter_ns() - began < seconds * 1e9:
        for _ in range(100):
            call()
        calls += 100
        bench.device.synchronize()
    return (time.perf_counter_ns() - began) / calls


def _plain(sample: GpuSample) -> dict[str, Any]:
    held = {limiter.name: ns for limiter, ns in sample.held_ns.items()}
    return {**asdict(sample), "phase": sample.phase.value, "held_ns": held}
