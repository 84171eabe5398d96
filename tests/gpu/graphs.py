"""Checklist item 10: what stream capture and CuPy's graphs show."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from harness.model.trace import Trace
from reference_impl.autograd import training
from reference_impl.ops import HostRoundTripSoftMaxCrossEntropy, SoftMaxCrossEntropy
from reference_impl.tensor import Tensor

from .bench import Bench
from .findings import Notebook
from .tracing import NONE

__all__ = ["capture_text", "look_at_capture", "look_at_launched_graphs"]

_Region = Callable[[str], AbstractContextManager[None]]


def look_at_capture(bench: Bench, note: Notebook) -> None:
    """That the op can be captured, and the op before its fix cannot."""
    rng = np.random.default_rng(0)
    x = bench.device.to_device(rng.standard_normal((64, 10)).astype(np.float32))
    t = bench.device.to_device(rng.integers(0, 10, 64))
    witness = bench.witness()
    for name, make, expected in (
        ("the op", SoftMaxCrossEntropy, "0 copies to the host, 0 waits, kernels, no doubt"),
        ("the op before its fix", HostRoundTripSoftMaxCrossEntropy, "refused"),
    ):
        _step(make, x, t)
        trace = witness.witness(partial(_step, make, x, t))
        note.equal(
            f"capture of {name}",
            expected=expected,
            seen=capture_text(trace),
            nodes=[type(event).__name__ for event in trace.events],
            doubts=list(trace.doubts),
            lines=[str(event.site) for event in (*trace.transfers, *trace.syncs)],
        )


def capture_text(trace: Trace) -> str:
    """``0 copies to the host, 0 waits, kernels, no doubt``, or that it was refused."""
    counts = trace.counts()
    if any("refused" in event.api for event in (*trace.transfers, *trace.syncs)):
        return "refused"
    kernels = "kernels" if counts.kernels else "no kernel"
    doubts = f"{len(trace.doubts)} doubts" if trace.doubts else "no doubt"
    return f"{counts.d2h} copies to the host, {counts.syncs} waits, {kernels}, {doubts}"


def _step(make: Any, x: Any, t: Any, region: _Region | None = None) -> None:
    with training():
        operation = make(t)
        operation(Tensor(x))
    operation.backward(1.0)


def look_at_launched_graphs(bench: Bench, note: Notebook) -> None:
    """That CUPTI sees one kernel and one copy to pinned memory, captured within its session or before."""
    stream = bench.cuda.Stream(non_blocking=True)
    array = bench.xp.arange(3, dtype=np.float32)
    pinned = bench.cupyx.empty_pinned(3, np.float32)
    before, kept = _captured(bench, stream, array, pinned)
    expected = "DTOH device->pinned ASYNC 12 B"
    with bench.tracer().session() as tracer:
        within, doubled = _captured(bench, stream, array, pinned)
        traced = tracer.of(lambda: within.launch(stream))
        note.equal(
            "copies of a graph captured in the session",
            expected=expected,
            seen=traced.copies_text(),
        )
        traced = tracer.of(lambda: before.launch(stream))
        note.measured("copies of a graph captured before the session", traced.copies_text())
    del doubled
    probe = bench.probe()
    with probe.record() as recording:
        before.launch(stream)
    trace = recording.trace()
    note.holds(
        "a graph captured before the probe's session",
        trace.counts().d2h == 1 or bool(trace.doubts),
        expected="its copy is seen, or a doubt is raised",
        seen=f"{trace.counts().d2h} copies to the host, doubts: {'; '.join(trace.doubts) or NONE}",
    )
    del kept


def _captured(bench: Bench, stream: Any, array: Any, pinned: Any) -> tuple[Any, Any]:
    """The graph, and the memory it works in."""
    runtime = bench.cuda.runtime
    with stream:
        warm = array * 2  # compiles the kernel, and fills the pool
        del warm
        stream.synchronize()
        stream.begin_capture()
        doubled = array * 2
        runtime.memcpyAsync(
            pinned.ctypes.data, doubled.data.ptr, pinned.nbytes, runtime.memcpyDefault, stream.ptr
        )
        return stream.end_capture(), doubled
