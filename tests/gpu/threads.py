"""Checklist item 8: lines and threads of calls, and whether CUPTI's lock and Python's can lock each other."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from harness.probes.cupti.kinds import ActivityKind

from .bench import Bench
from .findings import Notebook
from .tracing import Traced, Tracer

__all__ = ["look_at_lines", "look_for_deadlock"]

_STRESS_S = 2.0
"""A hundred fences and a hundred thousand polls: a lock order that can go wrong does so within a few."""


def look_at_lines(bench: Bench, note: Notebook) -> None:
    """That entry into a call is seen in the thread that made it, with its Python frames."""
    array = bench.xp.arange(3, dtype=np.float32)
    array.get()

    def read_here() -> None:
        array.get()

    def read_elsewhere() -> None:
        thread = threading.Thread(target=_read_and_tell, args=(array, tracer, numbers))
        thread.start()
        thread.join()

    numbers: list[int] = []
    with bench.tracer().session() as tracer:
        here, there = tracer.of(read_here), tracer.of(read_elsewhere)
    note.equal("line of a read", expected="threads.py in read_here", seen=_line(here))
    note.equal(
        "line of a read in another thread",
        expected="threads.py in _read_and_tell",
        seen=_line(there),
    )
    same = {call.thread for call in here.calls} == {here.thread}
    note.equal(
        "thread of a read",
        expected="the calling one",
        seen="the calling one" if same else "another one",
        recorded=sorted({call.thread for call in here.calls}),
        calling=here.thread,
    )
    of_copy = {call.thread for call in there.calls if "Memcpy" in there.called(call)}
    note.equal(
        "thread of a read in another thread",
        expected="that thread",
        seen="that thread" if of_copy == set(numbers) else "another one",
        recorded=sorted(of_copy),
        calling=numbers,
    )


def look_for_deadlock(bench: Bench, note: Notebook) -> None:
    """One thread polls, which CuPy does with Python's lock held; this one has CUPTI deliver, with its own held."""
    array = bench.xp.arange(3, dtype=np.float32)
    ending, polls = threading.Event(), [0]
    fences, seconds = 0, 0.2 if bench.is_dry else _STRESS_S

    def poll() -> None:
        event = bench.cuda.Event()
        while not ending.is_set():
            event.record()
            while not event.done:
                pass
            polls[0] += 1

    with bench.tracer().session() as tracer:
        thread = threading.Thread(target=poll, daemon=True)
        thread.start()
        started = time.monotonic()
        copies = 0
        try:
            while time.monotonic() - started < seconds:
                copies += len(tracer.of(array.get).copies)
                fences += 1
        finally:
            ending.set()
            thread.join(5)
    note.equal(
        "fences beside a thread that polls",
        expected="all returned, each with its copy",
        seen="all returned, each with its copy"
        if copies == fences
        else f"{copies} copies in {fences}",
        fences=fences,
        polls=polls[0],
    )


def _read_and_tell(array: Any, tracer: Tracer, numbers: list[int]) -> None:
    numbers.append(tracer.thread())
    array.get()


def _line(traced: Traced) -> str:
    """File and function of the one copy call."""
    copied = [
        call.correlation
        for call in traced.calls
        if call.kind == ActivityKind.RUNTIME and "Memcpy" in traced.called(call)
    ]
    site = next((traced.sites[number] for number in copied if number in traced.sites), None)
    if site is None:
        return "none"
    return f"{site.file.rpartition('/')[2]} in {site.function}"
