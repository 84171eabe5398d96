"""What verdicts cost beside measuring: comparing a thousand ops, loading a long history, the size of a run in a store."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.baseline.codec import decode, encode
from harness.baseline.diff import Policy, compare_run
from harness.baseline.promise import promised_by
from harness.baseline.records import records_of
from harness.baseline.stores.opening import open_store
from harness.model.environment import Environment
from harness.model.history import HistoryRecord
from harness.model.measurement import Sample, Throughput
from harness.model.verdict import Run, Verdict

Row = dict[str, Any]

OPS = 1_000
RECORDS = 100_000
ROUNDS = 100


def cost_rows(seed: int, *, say: Callable[[str], object]) -> Iterator[Row]:
    """One row per figure."""
    then, now = a_run(random.Random(seed), "then"), a_run(random.Random(seed + 1), "now")
    say("encoding a baseline")
    data = encode(promised_by(then, "main"))
    began = time.perf_counter()
    baseline = decode(data, source="main.json")
    decoded = time.perf_counter()
    compare_run(now, baseline, Policy())
    compared = time.perf_counter()
    yield _row(f"load a baseline of {OPS:,} ops", decoded - began, "s")
    yield _row(f"compare {OPS:,} ops of {ROUNDS} rounds with it", compared - decoded, "s")
    yield _row(f"size of that baseline, {OPS:,} ops", len(data) / 1e6, "MB")
    with tempfile.TemporaryDirectory() as folder:
        for where in (
            folder,
            f"sqlite:///{folder}/history.db",
            os.environ.get("HARNESS_BENCH_POSTGRES", ""),
        ):
            if where:
                say(f"history in {where.partition(':')[0]}")
                yield from _history_rows(where, records_of(then), Path(folder))


def a_run(chance: random.Random, run_id: str) -> Run:
    """A run of as many timed cases as a large project has, with a frozen peer each."""
    return Run(
        run_id=run_id,
        created="2026-11-30T12:00:00+00:00",
        command="harness run",
        harness_version="0",
        seed=0,
        environment=Environment(hard={"cpu.model": "one"}, commit="0" * 40, dirty=False),
        verdicts=tuple(_verdict(chance, number) for number in range(OPS)),
    )


def _verdict(chance: random.Random, number: int) -> Verdict:
    peer = [1e6 * chance.lognormvariate(0, 0.02) for _ in range(ROUNDS)]
    sample = Sample(
        call_ns=tuple(value * chance.lognormvariate(0, 0.01) for value in peer),
        peer_ns=tuple(peer),
        calls_per_value=1,
        warmup_calls=3,
        timer="perf_counter_ns",
        seed=0,
    )
    return Verdict(
        workload="ops",
        case=f"case-{number}",
        parameters={"shape": "1x1"},
        checks=(),
        timing_device="cpu",
        sample=sample,
        throughput=Throughput(unit="samples", units_per_call=1.0, bytes_per_call=8),
    )


def _history_rows(where: str, records: tuple[HistoryRecord, ...], folder: Path) -> Iterator[Row]:
    kind = where.partition(":")[0] if ":" in where else "folder"
    before = _bytes_in(folder)
    open_store(where).append(records)
    if kind != "postgresql":
        yield _row(
            f"{kind}: size of a run per op, samples included",
            (_bytes_in(folder) - before) / OPS,
            "B",
        )
    runs = RECORDS // len(records)
    for number in range(1, runs):
        bare = [replace(each, run_id=f"run-{number}", sample=None) for each in records]
        open_store(where).append(bare)
    store = open_store(where)
    began = time.perf_counter()
    loaded = store.history()
    took = time.perf_counter() - began
    assert len(loaded) == RECORDS
    yield _row(f"{kind}: load {RECORDS:,} records", took, "s")


def _bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _row(what: str, value: float, unit: str) -> Row:
    return {"kind": "cost", "what": what, "figure": round(value, 3), "unit": unit}
