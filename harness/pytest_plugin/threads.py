"""Threads beside a test: those busy before it began, and those that outlive what recorded them."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterable, Mapping, Set
from time import monotonic
from types import FrameType

from harness.model.event import Site

__all__ = ["Elsewhere", "outlived", "running", "started_since", "thread_of", "work_in_progress"]

_GRACE_S = 0.02
"""Four times the interval at which threads take turns: enough for one that is done to come to its end."""

Elsewhere = Mapping[tuple[str, str], str]
"""Names of threads by the file and the function they were in."""


def work_in_progress() -> Elsewhere:
    """Every function that another thread is inside of now.

    What such a call does during a test that begins now is not that test's doing. A worker that waits for
    work is inside its own loop only and not inside what it will be given. Cost: microseconds per thread.
    """
    frames = _frames() if threading.active_count() > 1 else {}
    here = threading.get_ident()
    found: dict[tuple[str, str], str] = {}
    for thread in threading.enumerate():
        frame = frames.get(thread.ident) if thread.ident not in (None, here) else None
        while frame is not None:
            found[frame.f_code.co_filename, frame.f_code.co_name] = thread.name
            frame = frame.f_back
    return found


def _frames() -> Mapping[int, FrameType]:
    """The frame each thread is in. Collecting garbage meanwhile deadlocks CPython 3.11, so there is none."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if collecting:
            gc.enable()


def thread_of(site: Site | None, elsewhere: Elsewhere) -> str | None:
    """The thread that may have caused an event; ``None`` when it is the test's own."""
    return None if site is None else elsewhere.get((site.file, site.function))


def running() -> frozenset[threading.Thread]:
    """The threads that run now."""
    return frozenset(threading.enumerate())


def started_since(before: Set[threading.Thread]) -> tuple[str, ...]:
    """Names of the threads that run now and did not before; those about to end are waited for, ``_GRACE_S`` at most.

    Threads that were not started from Python are left out, since Python does not learn of their end.
    """
    deadline = monotonic() + _GRACE_S
    for thread in _new(before):
        thread.join(max(0.0, deadline - monotonic()))
    return tuple(thread.name for thread in _new(before))


def _new(before: Set[threading.Thread]) -> list[threading.Thread]:
    here = threading.current_thread()
    return [
        thread
        for thread in threading.enumerate()
        if thread not in before
        and thread is not here
        and not isinstance(thread, threading._DummyThread)
    ]


def outlived(names: Iterable[str], doubts: Iterable[str]) -> tuple[str, ...]:
    """What to doubt where threads ran on when their recording ended, but for those that ``doubts`` name already."""
    told = tuple(doubts)
    return tuple(
        f"thread {name!r}, started while this was recorded, was still running when the recording ended, so what "
        "it did then is not counted here and may be counted elsewhere; join it inside the block or test that "
        "starts it, or start it in a fixture"
        for name in dict.fromkeys(names)
        if not any(repr(name) in doubt for doubt in told)
    )
