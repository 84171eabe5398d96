"""Checklist item 9: the fence is met, the positive control is seen, and a loss is told."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

from harness.model.outcome import Outcome
from harness.session.observe import positive_control
from harness.units import duration_text

from .bench import Bench
from .findings import Notebook
from .tracing import NONE

__all__ = ["look_at_fence", "look_at_small_buffers"]

_FENCES = 20

_SMALL_BUFFER_BYTES = 4096
"""A few dozen records: hundreds of buffers for what follows."""

_MANY_COPIES = 2000


def look_at_fence(bench: Bench, note: Notebook) -> None:
    """That a session can follow a session, that each fence is met, and that every plant is seen."""
    array = bench.xp.arange(3, dtype=np.float32)
    for number in ("first", "second"):
        with bench.tracer().session() as tracer:
            traced = tracer.of(array.get)
        seen = f"{len(traced.copies)} copy, {traced.dropped} dropped, doubts: {'; '.join(traced.doubts) or NONE}"
        note.equal(f"the {number} session", expected="1 copy, 0 dropped, doubts: none", seen=seen)
    with bench.tracer().session() as tracer:
        started = time.perf_counter_ns()
        met = sum(not tracer.of(lambda: None).doubts for _ in range(_FENCES))
        took = (time.perf_counter_ns() - started) / (2 * _FENCES)
    note.equal("fences met", expected=f"{_FENCES} of {_FENCES}", seen=f"{met} of {_FENCES}")
    note.measured("time of a fence", duration_text(took), nanoseconds=took)
    control = positive_control(bench.watched())
    assert control is not None
    note.equal(
        "positive control",
        expected=Outcome.PASSED.value,
        seen=control.outcome.value,
        summary=control.summary,
        details=list(control.details),
    )


def look_at_small_buffers(bench: Bench, note: Notebook) -> None:
    """That of many copies through small buffers each arrives, or is told to be lost."""
    array = bench.xp.arange(3, dtype=np.float32)
    pinned = bench.cupyx.empty_pinned(3, np.float32)
    array.get(out=pinned, blocking=False)

    def copy_often() -> None:
        for _ in range(_MANY_COPIES):
            array.get(out=pinned, blocking=False)

    with bench.probe(buffer_bytes=_SMALL_BUFFER_BYTES).record() as recording:
        copy_often()
    trace = recording.trace()
    arrived, untold = trace.counts().d2h, not trace.dropped and not trace.doubts
    note.holds(
        f"{_MANY_COPIES} copies through buffers of {_SMALL_BUFFER_BYTES} bytes",
        arrived == _MANY_COPIES or not untold,
        expected="all arrive, or the loss is told",
        seen=f"{arrived} arrived, {trace.dropped} told as dropped, {len(trace.doubts)} doubts",
        doubts=list(trace.doubts)[:5],
        kinds=dict(Counter(type(event).__name__ for event in trace.events)),
    )
