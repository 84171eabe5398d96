"""Which line of user code added nodes to a graph, by looking at each line as it is executed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from harness.model.event import Site
from harness.probes.cupti.site import is_machinery, user_site

__all__ = ["line_by_line"]


@contextmanager
def line_by_line(note: Callable[[Site | None], None]) -> Iterator[None]:
    """Call ``note`` with the line just executed, after every line of user code in this thread.

    Uses ``sys.settrace``, and leaves a tracer that is already there, a debugger or coverage, alone: then
    ``note`` is never called and lines stay unknown. Cost: some microseconds per line; nothing is timed here.
    """
    if sys.gettrace() is not None:
        yield
        return
    tracer = _Tracer(note)
    sys.settrace(tracer.on_call)
    try:
        yield
    finally:
        sys.settrace(None)


class _Tracer:
    def __init__(self, note: Callable[[Site | None], None]) -> None:
        self._note = note
        self._current: Site | None = None

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        """Python enters a function: only the user's own are followed line by line."""
        if is_machinery(frame.f_code.co_filename):
            return None
        self._move(_line_of(frame))
        return self.on_line

    def on_line(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        """A line is about to run, or the function about to return: whatever is new, the last line did."""
        self._move(user_site(frame.f_back) if event == "return" else _line_of(frame))
        return self.on_line

    def _move(self, to: Site | None) -> None:
        self._note(self._current)
        self._current = to


def _line_of(frame: FrameType) -> Site:
    return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
