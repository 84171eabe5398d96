"""What CUPTI calls back with: buffers, records, and the entry into each call that can cross or hold."""

from __future__ import annotations

import sys
import threading
from typing import Any

from harness.model.event import Site
from harness.probes.cupti.kinds import WAITS, ApiCallbackSite
from harness.probes.cupti.records import ApiRecord, Record, SyncRecord, read_record
from harness.probes.cupti.site import user_site

__all__ = ["Inbox", "deliver_to"]


class _Calls(threading.local):
    """The watched calls this thread is inside of, outermost first."""

    def __init__(self) -> None:
        self.numbers: list[int] = []


class Inbox:
    """Collects what CUPTI delivers, from whichever thread it delivers it.

    ``entered`` has the user's line for each outermost watched call, ``inside`` leads from the calls within to
    it, ``answered`` are the calls whose record has come; all by correlation id.

    Nothing here may raise into CUPTI or call it: its callbacks come with its lock held, and other threads wait
    for that lock with Python's. Lists and dicts are only appended to, which Python makes atomic.
    """

    def __init__(self, *, buffer_bytes: int) -> None:
        self._buffer_bytes = buffer_bytes
        self.records: list[Record] = []
        self.entered: dict[int, Site | None] = {}
        self.inside: dict[int, int] = {}
        self.answered: set[int] = set()
        self.newest_wait_ns = 0
        self.unreadable: list[str] = []
        self._calls = _Calls()

    def request(self) -> tuple[int, int]:
        """Size of the next buffer, and 0 for as many records as it holds."""
        return self._buffer_bytes, 0

    def complete(self, records: list[Any]) -> None:
        """Copy what matters out of records that die when this returns."""
        for record in records:
            try:
                self._keep(read_record(record))
            except Exception as error:  # noqa: BLE001 - it would vanish in CUPTI; it becomes a doubt instead
                self.unreadable.append(f"{type(error).__name__}: {error}")

    def call(self, userdata: object, domain: int, cbid: int, data: Any) -> None:
        """Note the user's line when a call begins that is not part of another."""
        try:
            number, numbers = int(data.correlation_id), self._calls.numbers
            if data.callback_site != ApiCallbackSite.API_ENTER:
                if number in numbers:
                    del numbers[numbers.index(number) :]
                return
            if not numbers:
                self.entered[number] = user_site(sys._getframe().f_back)
            elif number != numbers[0]:
                self.inside[number] = numbers[0]
            numbers.append(number)
        except Exception as error:  # noqa: BLE001 - it would vanish in CUPTI; it becomes a doubt instead
            self.unreadable.append(f"{type(error).__name__}: {error}")

    def clear(self) -> None:
        """Forget all but calls that were entered and have no record yet: those are still being made."""
        self.entered = {n: site for n, site in self.entered.items() if n not in self.answered}
        self.inside = {n: outer for n, outer in self.inside.items() if outer in self.entered}
        self.records = []
        self.answered = set()
        self.unreadable = []

    def _keep(self, record: Record | None) -> None:
        if record is None:
            return
        self.records.append(record)
        if isinstance(record, ApiRecord):
            self.answered.add(record.correlation)
        elif isinstance(record, SyncRecord) and record.type in WAITS:
            self.newest_wait_ns = max(self.newest_wait_ns, record.end)


class _Dispatcher:
    """Passes CUPTI's buffers on to the session that is open, if any."""

    def __init__(self) -> None:
        self.inbox: Inbox | None = None
        self._last_size = 0

    def request(self) -> tuple[int, int]:
        """As ``Inbox.request``; between sessions CUPTI still gets a buffer, whose records nobody reads."""
        if self.inbox is not None:
            self._last_size = self.inbox.request()[0]
        return self._last_size, 0

    def complete(self, records: list[Any]) -> None:
        """As ``Inbox.complete``."""
        if self.inbox is not None:
            self.inbox.complete(records)


_dispatchers: dict[Any, _Dispatcher] = {}
"""Per module ``cupti.cupti``: CUPTI has been seen to lose records when callbacks are registered again."""


def deliver_to(inbox: Inbox | None, *, module: Any) -> None:
    """Have ``module`` deliver buffers to ``inbox`` from now on; registers with CUPTI once per process."""
    dispatcher = _dispatchers.get(module)
    if dispatcher is None:
        if inbox is None:
            return
        dispatcher = _Dispatcher()
        dispatcher.inbox = inbox
        module.activity_register_callbacks(dispatcher.request, dispatcher.complete)
        _dispatchers[module] = dispatcher
    dispatcher.inbox = inbox
