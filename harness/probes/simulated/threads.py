"""Which threads run: those a recording leaves behind go on where it cannot see them."""

from __future__ import annotations

import sys
import threading
from time import monotonic
from typing import NamedTuple

__all__ = ["Running", "left_running", "running"]

_GRACE_S = 0.02
"""Four times the interval at which threads take turns: enough for one that is done to come to its end."""


class Running(NamedTuple):
    """The threads of one moment: their identifiers, and those that ``threading`` knows."""

    identifiers: frozenset[int]
    known: frozenset[threading.Thread]


def running() -> Running:
    """The threads that run Python now, started by ``threading`` or not. Cost: a microsecond per thread."""
    return Running(frozenset(sys._current_frames()), frozenset(threading.enumerate()))


def left_running(before: Running) -> list[str]:
    """Names of the threads that run now and did not run ``before``; those about to end are waited for, 20 ms at most."""
    deadline = monotonic() + _GRACE_S
    names = _started_since(before)
    for thread in threading.enumerate() if names else ():
        if thread not in before.known and thread is not threading.current_thread():
            thread.join(max(0.0, deadline - monotonic()))
    return _started_since(before) if names else names


def _started_since(before: Running) -> list[str]:
    names = []
    threads = {thread.ident: thread for thread in threading.enumerate()}
    identified = {thread.ident for thread in before.known}
    for identifier in sys._current_frames():
        thread = threads.get(identifier)
        # An identifier is used again once its thread has ended; a foreign thread gets its Thread only when it asks.
        is_same = identifier in before.identifiers and (
            thread in before.known if identifier in identified else True
        )
        if not is_same:
            names.append(thread.name if thread is not None else f"thread {identifier}")
    return sorted(names)
