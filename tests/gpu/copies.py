"""Checklist items 1, 2, 4 and 7: what copies leave behind, and which call each belongs to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from harness.probes.cupti.kinds import ActivityKind

from .bench import Bench
from .findings import Notebook
from .tracing import NONE, Traced, Tracer, counted

__all__ = [
    "look_at_correlation",
    "look_at_default_kind",
    "look_at_reads",
    "look_at_synchronous_copies",
]

_COUNT = 3
_BYTES = 4 * _COUNT
"""Three float32: a size nothing else here has."""


def look_at_reads(bench: Bench, note: Notebook) -> None:
    """What the harness's classification of reads and uploads rests on."""
    array = bench.xp.arange(_COUNT, dtype=np.float32)
    pageable = np.zeros(_COUNT, np.float32)
    pinned = bench.cupyx.empty_pinned(_COUNT, np.float32)
    read = "DTOH device->{} ASYNC 12 B"
    cases: tuple[tuple[str, Callable[[], object], str, str], ...] = (
        ("a.get()", lambda: array.get(), read.format("pageable"), "STREAM_SYNCHRONIZE"),
        (
            "a.get(out=pinned, blocking=False)",
            lambda: array.get(out=pinned, blocking=False),
            read.format("pinned"),
            NONE,
        ),
        (
            "a.get(out=pageable, blocking=False)",
            lambda: array.get(out=pageable, blocking=False),
            read.format("pageable"),
            NONE,
        ),
        # Staged in pinned memory, whose pool polls an event.
        (
            "asarray([1, 2])",
            lambda: bench.xp.asarray([1, 2]),
            "HTOD pinned->device ASYNC 16 B",
            NONE,
        ),
        ("a.set(pageable)", lambda: array.set(pageable), "HTOD pageable->device ASYNC 12 B", NONE),
    )
    with bench.tracer().session() as tracer:
        for about, action, copies, waits in cases:
            traced = _warm(tracer, action)
            note.equal(f"copies of {about}", expected=copies, seen=traced.copies_text())
            note.equal(f"waits of {about}", expected=waits, seen=traced.waits_text())
            note.equal(
                f"doubts about {about}", expected=NONE, seen="; ".join(traced.doubts) or NONE
            )


def look_at_synchronous_copies(bench: Bench, note: Notebook) -> None:
    """Whether a copy that holds the host leaves any other trace of that."""
    runtime = bench.cuda.runtime
    array = bench.xp.arange(_COUNT, dtype=np.float32)
    pageable = np.zeros(_COUNT, np.float32)
    pinned = bench.cupyx.empty_pinned(_COUNT, np.float32)
    device = array.data.ptr
    with bench.tracer().session() as tracer:
        for host, kind in ((pageable, "pageable"), (pinned, "pinned")):
            address = host.ctypes.data
            ways = (
                ("DTOH", f"device->{kind}", address, device, runtime.memcpyDeviceToHost),
                ("HTOD", f"{kind}->device", device, address, runtime.memcpyHostToDevice),
            )
            for direction, ends, to, source, stated in ways:
                traced = _warm(tracer, partial(runtime.memcpy, to, source, _BYTES, stated))
                about = f"cudaMemcpy {ends}"
                copy = f"{direction} {ends} SYNC 12 B"
                note.equal(f"copies of {about}", expected=copy, seen=traced.copies_text())
                note.equal(f"waits of {about}", expected=NONE, seen=traced.waits_text())


def look_at_default_kind(bench: Bench, note: Notebook) -> None:
    """Whether the record knows the direction that ``cudaMemcpyDefault`` leaves open."""
    runtime, stream = bench.cuda.runtime, bench.cuda.Stream.null.ptr
    source = bench.xp.arange(_COUNT, dtype=np.float32)
    target = bench.xp.zeros(_COUNT, dtype=np.float32)
    to, origin = target.data.ptr, source.data.ptr
    kind = runtime.memcpyDefault
    with bench.tracer().session() as tracer:
        traced = _warm(tracer, lambda: runtime.memcpyAsync(to, origin, _BYTES, kind, stream))
        expected = "DTOD device->device ASYNC 12 B"
        note.equal("copies of cudaMemcpyAsync", expected=expected, seen=traced.copies_text())
        traced = _warm(tracer, lambda: runtime.memcpy(to, origin, _BYTES, kind))
        expected = "DTOD device->device SYNC 12 B"
        note.equal("copies of cudaMemcpy", expected=expected, seen=traced.copies_text())
        note.equal("waits of cudaMemcpy", expected=NONE, seen=traced.waits_text())


def look_at_correlation(bench: Bench, note: Notebook) -> None:
    """By which numbers a copy, its calls and the entry into them are found to be one."""
    array = bench.xp.arange(_COUNT, dtype=np.float32)
    pinned = bench.cupyx.empty_pinned(_COUNT, np.float32)
    runtime, stream = bench.cuda.runtime, bench.cuda.Stream.null.ptr
    to, kind = pinned.ctypes.data, runtime.memcpyDeviceToHost
    with bench.tracer().session() as tracer:
        traced = _warm(tracer, lambda: array.get(out=pinned, blocking=False))
        _note_correlation(traced, note)
        empty = _warm(tracer, lambda: runtime.memcpyAsync(to, array.data.ptr, 0, kind, stream))
    note.equal("copies of 0 bytes", expected=NONE, seen=empty.copies_text())
    called = counted(empty.called(c) for c in empty.calls if c.kind == ActivityKind.RUNTIME)
    note.equal("calls of 0 bytes", expected="cudaMemcpyAsync", seen=called)


def _note_correlation(traced: Traced, note: Notebook) -> None:
    by_number = {call.correlation: call for call in traced.calls}
    copy = traced.copies[0]
    calls = [by_number[number] for number in copy.correlations if number in by_number]
    note.equal(
        "calls a copy names",
        expected="DRIVER cuMemcpyDtoHAsync, RUNTIME cudaMemcpyAsync",
        seen=counted(traced.call_text(call) for call in calls),
        numbers=list(copy.correlations),
    )
    note.equal(
        "records of one runtime copy",
        expected="RUNTIME cudaMemcpyAsync, DRIVER cuMemcpyDtoHAsync",
        seen=counted(
            traced.call_text(call) for call in traced.calls if "Memcpy" in traced.called(call)
        ),
    )
    # The wait after the action is entered too, and has no record here.
    entered = (by_number[number] for number in traced.sites if number in by_number)
    note.equal(
        "the call whose entry was seen",
        expected="RUNTIME cudaMemcpyAsync",
        seen=counted(traced.call_text(call) for call in entered),
    )
    inside = all(
        traced.start_ns <= call.start <= call.end <= traced.end_ns for call in traced.calls
    )
    note.equal(
        "clock of calls and of regions",
        expected="the same",
        seen="the same" if inside else "calls lie outside the action that made them",
        first_call_after_ns=traced.calls[0].start - traced.start_ns,
        last_call_before_ns=traced.end_ns - traced.calls[-1].end,
    )


def _warm(tracer: Tracer, action: Callable[[], object]) -> Traced:
    """The second call: the first may compile, or fill a pool."""
    action()
    return tracer.of(action)
