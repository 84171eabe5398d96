"""CUPTI's records of one action, as CUPTI gave them: before the probe makes events of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from harness.model.event import Site
from harness.probes.cupti.binding import call_names, load_cupti
from harness.probes.cupti.calls import OBSERVED_AT_ENTRY, Call, call_named, calls_by_id
from harness.probes.cupti.host import Host
from harness.probes.cupti.inbox import Inbox
from harness.probes.cupti.kinds import (
    MEMCPY_ASYNC,
    ActivityKind,
    ActivityMemcpyKind,
    ActivityMemoryKind,
    ActivitySynchronizationType,
    ActivityUnifiedMemoryCounterKind,
    CallbackDomain,
)
from harness.probes.cupti.records import (
    ApiRecord,
    CopyRecord,
    MigrationRecord,
    Record,
    SyncRecord,
)
from harness.probes.cupti.session import Options, Session
from harness.probes.cupti.subscription import Subscription

__all__ = ["NONE", "Traced", "Tracer", "counted"]

NONE = "none"
"""What a list of nothing reads as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """The records of one action, without those of the waits before and after it.

    ``sites`` has the line of each watched call by correlation id, ``thread`` is the acting thread as CUPTI
    names it, ``start_ns`` and ``end_ns`` are CUPTI's clock right before and after the action.
    """

    records: tuple[Record, ...]
    names: Mapping[tuple[int, int], Call]
    sites: Mapping[int, Site | None]
    thread: int
    start_ns: int
    end_ns: int
    dropped: int
    doubts: tuple[str, ...]

    @property
    def copies(self) -> tuple[CopyRecord, ...]:
        """Copies, peer to peer included."""
        return tuple(record for record in self.records if isinstance(record, CopyRecord))

    @property
    def calls(self) -> tuple[ApiRecord, ...]:
        """Runtime and driver calls in order of their start."""
        calls = [record for record in self.records if isinstance(record, ApiRecord)]
        return tuple(sorted(calls, key=lambda call: call.start))

    def copies_text(self) -> str:
        """``DTOH device->pageable ASYNC 12 B``."""
        return counted(_copy_text(copy) for copy in self.copies)

    def waits_text(self) -> str:
        """The types of the synchronization records: ``STREAM_SYNCHRONIZE``."""
        waits = (record for record in self.records if isinstance(record, SyncRecord))
        return counted(_name(ActivitySynchronizationType, wait.type) for wait in waits)

    def migrations_text(self) -> str:
        """The counters of managed memory that moved: ``BYTES_TRANSFER_DTOH``."""
        moved = (record for record in self.records if isinstance(record, MigrationRecord))
        kinds = ActivityUnifiedMemoryCounterKind
        return ", ".join(dict.fromkeys(_name(kinds, one.counter_kind) for one in moved)) or NONE

    def call_text(self, call: ApiRecord) -> str:
        """``RUNTIME cudaMemcpyAsync``."""
        return f"{ActivityKind(call.kind).name} {self.called(call)}"

    def called(self, call: ApiRecord) -> str:
        """The call's name as people know it."""
        runtime = call.kind == ActivityKind.RUNTIME
        domain = CallbackDomain.RUNTIME_API if runtime else CallbackDomain.DRIVER_API
        return self.names.get((domain, call.cbid), call_named(f"reserved{call.cbid}")).name

    def longest_ns(self, name: str) -> int | None:
        """How long the longest call of this name held the host; ``None`` when there was none."""
        took = [call.end - call.start for call in self.calls if self.called(call) == name]
        return max(took, default=None)


class Tracer:
    """CUPTI sessions of which everything is kept; one at a time in a process, and not beside a probe's."""

    def __init__(
        self,
        *,
        module: Any = None,
        host: Host | None = None,
        unified_memory: bool = False,
        buffer_bytes: int = 8 << 20,
        deadline_s: float = 5.0,
    ) -> None:
        """As ``CuptiProbe``; raises ``UnavailableError`` for what is missing."""
        self._host = host or Host()
        self.module, _ = load_cupti(self._host, module)
        self._options = Options(
            buffer_bytes=buffer_bytes, deadline_s=deadline_s, unified_memory=unified_memory
        )
        self._session: Session | None = None

    @contextmanager
    def session(self) -> Iterator[Tracer]:
        """Keep CUPTI's session open for the traces inside."""
        session = Session(self.module, self._host, self._options)
        session.open()
        self._session = session
        try:
            yield self
        finally:
            self._session = None
            session.close()

    def subscription(self, inbox: Inbox, *, watched: bool) -> Subscription:
        """CUPTI delivering to ``inbox``, with or without the calls a probe watches; not beside a session."""
        wanted = [
            (int(domain), cbid)
            for domain in CallbackDomain
            for cbid, call in calls_by_id(call_names(self.module, domain).items()).items()
            if watched and call.kind in OBSERVED_AT_ENTRY
        ]
        return Subscription(self.module, self._host, inbox, watched=wanted)

    @contextmanager
    def without(self, kind: ActivityKind) -> Iterator[None]:
        """Trace without one kind of record. What was pending is delivered before, since switching drops it."""
        self.module.activity_flush_all(0)
        self.module.activity_disable(int(kind))
        try:
            yield
        finally:
            self.module.activity_flush_all(0)
            self.module.activity_enable(int(kind))

    def thread(self) -> int:
        """The calling thread as CUPTI's records name it; within ``session`` only."""
        assert self._session is not None, "ask within a session"
        return self._session.thread()

    def of(self, action: Callable[[], object]) -> Traced:
        """What CUPTI recorded of ``action``, which runs once; within ``session`` only."""
        session = self._session
        assert session is not None, "trace within a session"
        before = session.begin()
        start_ns = session.now_ns()
        action()
        collected = session.end()
        return Traced(
            records=tuple(
                record
                for record in collected.records
                if not isinstance(record, ApiRecord | SyncRecord)
                or start_ns <= record.start <= collected.end_ns
            ),
            names=collected.calls,
            sites=collected.sites,
            thread=session.thread(),
            start_ns=start_ns,
            end_ns=collected.end_ns,
            dropped=collected.dropped,
            doubts=(*before, *collected.doubts),
        )


def counted(texts: Iterator[str]) -> str:
    """Texts joined in order of first appearance, repeated ones with their number: ``2 x a, b``."""
    found = Counter(texts)
    return ", ".join(text if n == 1 else f"{n} x {text}" for text, n in found.items()) or NONE


def _copy_text(copy: CopyRecord) -> str:
    ends = (_name(ActivityMemoryKind, end).lower() for end in (copy.source, copy.destination))
    way = "ASYNC" if copy.flags & MEMCPY_ASYNC else "SYNC"
    kind = _name(ActivityMemcpyKind, copy.copy_kind)
    return f"{kind} {'->'.join(ends)} {way} {copy.size_bytes} B"


def _name(enum: type[IntEnum], number: int) -> str:
    try:
        return enum(number).name
    except ValueError:
        return f"{number} (unknown)"
