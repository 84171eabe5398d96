"""Checklist item 3: what the three waits and the polls leave behind."""

from __future__ import annotations

from collections.abc import Callable

from harness.probes.cupti.kinds import ActivityKind

from .bench import Bench
from .findings import Notebook
from .tracing import NONE

__all__ = ["look_at_waits"]


def look_at_waits(bench: Bench, note: Notebook) -> None:
    """One record of its own type per wait, none per poll; and what CUDA_EVENT records are needed for."""
    stream, other, event = bench.cuda.Stream(), bench.cuda.Stream(), bench.cuda.Event()
    event.record(stream)
    cases: tuple[tuple[str, Callable[[], object], str], ...] = (
        ("Event.synchronize", event.synchronize, "EVENT_SYNCHRONIZE"),
        ("Stream.synchronize", stream.synchronize, "STREAM_SYNCHRONIZE"),
        ("Device.synchronize", bench.cuda.Device(0).synchronize, "CONTEXT_SYNCHRONIZE"),
        ("Event.done", lambda: event.done, NONE),
        ("Stream.done", lambda: stream.done, NONE),
    )
    with bench.tracer().session() as tracer:
        for about, action, expected in cases:
            note.equal(about, expected=expected, seen=tracer.of(action).waits_text())
        ordering = tracer.of(lambda: other.wait_event(event))
        note.equal("Stream.wait_event", expected="STREAM_WAIT_EVENT", seen=ordering.waits_text())
        with tracer.without(ActivityKind.CUDA_EVENT):
            alone = tracer.of(event.synchronize)
        note.equal(
            "Event.synchronize without CUDA_EVENT records",
            expected="EVENT_SYNCHRONIZE",
            seen=alone.waits_text(),
        )
