"""Which regions were open, in which thread, at which time of CUPTI's clock."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import Counter

__all__ = ["RegionLog"]


class RegionLog:
    """Every opening and closing of a region, to be asked afterwards by launch time and thread.

    ``owner`` is the thread that records. A thread that has opened no region is counted to the regions open in
    the owner: work handed to a helper thread must not escape the budget of its region.
    """

    def __init__(self, *, owner: int) -> None:
        self._owner = owner
        self._changes: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
        self._entered: Counter[str] = Counter()
        self._changing = threading.Lock()

    def enter(self, name: str, *, thread: int, at_ns: int) -> tuple[str, ...]:
        """Open ``name`` in ``thread``; returns what was open before, to be given to ``leave``."""
        with self._changing:
            before = self._open_in(thread)
            self._entered[name] += 1
            self._change(thread, at_ns, (*before, name))
        return before

    def leave(self, before: tuple[str, ...], *, thread: int, at_ns: int) -> None:
        """Go back to ``before``; a call that starts at ``at_ns`` itself is still inside."""
        with self._changing:
            self._change(thread, at_ns + 1, before)

    @property
    def entered(self) -> dict[str, int]:
        """How often each region was entered."""
        with self._changing:
            return dict(self._entered)

    def open_at(self, time_ns: int, *, thread: int | None = None) -> tuple[str, ...]:
        """The regions open at ``time_ns``, outermost first; of the owner when no thread is known."""
        if thread is not None and thread != self._owner:
            own = self._in_thread(time_ns, thread)
            if own:
                return own
        return self._in_thread(time_ns, self._owner)

    def _in_thread(self, time_ns: int, thread: int) -> tuple[str, ...]:
        changes = self._changes.get(thread, [])
        index = bisect_right(changes, time_ns, key=lambda change: change[0])
        return changes[index - 1][1] if index else ()

    def _open_in(self, thread: int) -> tuple[str, ...]:
        changes = self._changes.get(thread)
        return changes[-1][1] if changes else ()

    def _change(self, thread: int, at_ns: int, regions: tuple[str, ...]) -> None:
        changes = self._changes.setdefault(thread, [])
        # A clock that stands still between two changes must not reorder them.
        changes.append((max(at_ns, changes[-1][0] if changes else at_ns), regions))
