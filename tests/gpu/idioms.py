"""The table of CuPy idioms that the simulated device follows, run on the real CuPy under CUPTI."""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import math
import pickle
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.devices.cuda_faults import fault_of
from harness.model.trace import Trace, TrafficCounts
from harness.probes.cupti import CuptiProbe

from .bench import Bench
from .findings import Notebook

__all__ = ["IDIOMS", "read_table", "run_idioms"]

IDIOMS = Path(__file__).parents[1] / "unit" / "harness" / "probes" / "simulated" / "idioms.toml"

Row = Mapping[str, Any]


def read_table(path: Path = IDIOMS) -> Sequence[Row]:
    """The rows: expressions, and what the simulated device makes of them."""
    rows: Sequence[Row] = tomllib.loads(path.read_text("utf-8"))["idiom"]
    return rows


def run_idioms(bench: Bench, note: Notebook, rows: Sequence[Row] | None = None) -> None:
    """Run each expression warm and hold what CUPTI saw against what the simulated device says."""
    with contextlib.suppress(ImportError):  # CuPy does not import its testing module by itself
        importlib.import_module(f"{getattr(bench.xp, '__name__', 'cupy')}.testing")
    probe = bench.probe()
    gone = ""
    with tempfile.TemporaryDirectory() as folder, probe.session():
        for row in read_table() if rows is None else rows:
            here = note.about(row["name"])
            if gone or "not_expressible" in row:
                here.not_tried("the row", gone or row["not_expressible"])
                continue
            for number, expression in enumerate(row["run"]):
                file = Path(folder) / f"elements{number}"
                gone = gone or _look_at(row, expression, _Running(bench, probe, file), here)


class _Running:
    """Runs expressions of the table with fresh names each time."""

    def __init__(self, bench: Bench, probe: CuptiProbe, file: Path) -> None:
        self._bench, self._probe, self._file = bench, probe, file

    def cold(self, row: Row, expression: str) -> None:
        """Once unseen: kernels are compiled and pools filled. What it raises is told by the second run."""
        names = self._names()
        try:
            exec(row.get("setup", ""), names)
            with contextlib.suppress(Exception):
                eval(expression, names)
        finally:
            exec(row.get("teardown", ""), names)

    def warm(self, row: Row, expression: str) -> tuple[Trace, Exception | None]:
        """Once recorded: the trace, and what the expression raised."""
        names = self._names()
        raised: Exception | None = None
        exec(row.get("setup", ""), names)
        code = compile(expression, "idiom", "eval")
        try:
            with self._probe.record() as recording:
                try:
                    eval(code, names)
                except Exception as error:  # noqa: BLE001 - a refusal is a result here
                    raised = error
        finally:
            exec(row.get("teardown", ""), names)
        return recording.trace(), raised

    def _names(self) -> dict[str, Any]:
        """The names the table's expressions may use, as its header lists them."""
        bench, xp = self._bench, self._bench.xp
        a = xp.arange(5, dtype="float32")
        return {
            "Foreign": bench.foreign,
            "a": a,
            "b": a + 1,
            "copy": copy,
            "cuda": bench.cuda,
            "cupyx": bench.cupyx,
            "file": self._file,
            "i": xp.asarray([1, 0, 3, 2, 4]),
            "io": io,
            "mask": a > 1,
            "math": math,
            "n": 5,
            "np": np,
            "pageable": np.zeros(5, "float32"),
            "pickle": pickle,
            "pinned": bench.cupyx.empty_pinned(5, "float32"),
            "xp": xp,
        }


def _look_at(row: Row, expression: str, running: _Running, note: Notebook) -> str:
    """Note how one expression fared; returns why nothing can be run any more, if so."""
    try:
        running.cold(row, expression)
        trace, raised = running.warm(row, expression)
    except Exception as error:  # noqa: BLE001 - one row must not keep the others from being run
        note.broke(expression, error)
        fault = fault_of(error)
        return f"the device was gone after {expression}: {fault}" if fault and fault.sticky else ""
    counts = trace.counts()
    expected, seen = _expected_text(row), _seen_text(counts, raised)
    note.holds(
        expression,
        _agrees(row, counts, raised) and not trace.doubts,
        expected=expected,
        seen="; ".join((seen, *trace.doubts)),
        events=[f"{event.api} at {event.site}" for event in (*trace.transfers, *trace.syncs)][:20],
        source=row["source"],
    )
    return ""


def _agrees(row: Row, counts: TrafficCounts, raised: Exception | None) -> bool:
    """By the rules the table states in its header."""
    if (type(raised).__name__ if raised else None) != row.get("raises"):
        return False
    d2h, h2d, syncs = (row.get(kind, 0) for kind in ("d2h", "h2d", "syncs"))
    if row.get("or_more"):
        at_least = counts.d2h >= d2h and counts.syncs >= syncs
        return at_least and counts.d2h == counts.syncs and counts.h2d == h2d
    exactly = (counts.d2h, counts.h2d, counts.syncs) == (d2h, h2d, syncs)
    return exactly and counts.blocking_copies == row.get("blocking", d2h)


def _expected_text(row: Row) -> str:
    d2h = row.get("d2h", 0)
    counts = TrafficCounts(
        d2h=d2h,
        h2d=row.get("h2d", 0),
        syncs=row.get("syncs", 0),
        blocking_copies=row.get("blocking", d2h),
    )
    text = _counts_text(counts) + (" or more" if row.get("or_more") else "")
    return f"{text}, {row['raises']}" if "raises" in row else text


def _seen_text(counts: TrafficCounts, raised: Exception | None) -> str:
    text = _counts_text(counts)
    if raised is None:
        return text
    return f"{text}, {type(raised).__name__}: {' '.join(str(raised).split())[:120]}"


def _counts_text(counts: TrafficCounts) -> str:
    return (
        f"{counts.d2h} D2H, {counts.h2d} H2D, {counts.syncs} syncs, "
        f"{counts.blocking_copies} blocking"
    )
