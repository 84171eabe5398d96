"""Which threads run: those a recording leaves behind go on where it cannot see them.

``sys._current_frames`` would name them all, and deadlocks when garbage is collected in the middle of it
(CPython 3.11); so threads that ``threading`` does not know are only counted.
"""

from __future__ import annotations

import _thread
import threading
from time import monotonic, sleep
from typing import NamedTuple

__all__ = ["Running", "doubts_of_threads", "left_running", "running"]

_GRACE_S = 0.02
"""Four times the interval at which threads take turns: enough for one that is done to come to its end."""


class Running(NamedTuple):
    """The threads of one moment: those that ``threading`` knows, and how many more there are but for the main thread."""

    known: frozenset[threading.Thread]
    unknown: int


def running() -> Running:
    """The threads that run Python now. Cost: about a microsecond."""
    # Python does not learn of the end of a thread that C started, so what stands for it would be left for ever.
    known = frozenset(
        thread for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread)
    )
    return Running(known, _thread._count() - len(known))


def doubts_of_threads(before: Running) -> tuple[str, ...]:
    """What to doubt at the end of a recording that began when ``before`` ran: one sentence per thread left behind."""
    return tuple(
        f"thread {name!r} was started during the recording and still ran at its end, so what it copies "
        "later is not in these counts: join it before the call returns"
        for name in left_running(before)
    )


def left_running(before: Running) -> list[str]:
    """Names of the threads that run now and did not run ``before``; those about to end are waited for, 20 ms at most."""
    deadline = monotonic() + _GRACE_S
    while names := _started_since(before):
        if monotonic() > deadline:
            break
        sleep(_GRACE_S / 20)
    return names


def _started_since(before: Running) -> list[str]:
    now = running()
    names = sorted(thread.name for thread in now.known - before.known)
    return names + ["(not started by threading)"] * (now.unknown - before.unknown)
