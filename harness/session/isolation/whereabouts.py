"""Where the threads of a process were when it hung or crashed, as ``faulthandler`` wrote it down."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.model.event import Site
from harness.session.foreign import own_line

__all__ = ["line_of"]

_THREAD = re.compile(r"(Current thread|Thread) 0x([0-9a-f]+)\b.*:$")
_FRAME = re.compile(r'  File "(.*)", line (\d+|\?\?\?) in (.*)$')


def line_of(dump: str, *, main_thread: int) -> Site | None:
    """The line of user code a process was at.

    Of the thread that crashed, if one did, else of the main thread, whose number (``threading.get_ident``) the
    process has told before. ``None`` when the dump does not say.
    """
    threads: dict[int, list[Site]] = {}
    chosen = main_thread
    frames: list[Site] = []
    for line in dump.splitlines():
        if thread := _THREAD.match(line):
            frames = threads.setdefault(int(thread[2], 16), [])
            chosen = int(thread[2], 16) if thread[1].startswith("Current") else chosen
        elif (frame := _FRAME.match(line)) and frame[2].isdigit():
            frames.append(Site(frame[1], int(frame[2]), frame[3]))
    return _users(threads.get(chosen, ()))


def _users(frames: Sequence[Site]) -> Site | None:
    """The innermost line of the code under test; ``frames`` come innermost first."""
    place = own_line([frame.file for frame in frames])
    return None if place is None else frames[place]
