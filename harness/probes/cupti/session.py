"""One session with CUPTI, holding recordings one after another: what happened between two fences."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import UnavailableError
from harness.model.event import EventType, Site
from harness.probes.cupti.binding import call_names, status_name, unavailable
from harness.probes.cupti.calls import OBSERVED_AT_ENTRY, Call, call_named, calls_by_id
from harness.probes.cupti.doubts import Doubt, Notebook
from harness.probes.cupti.hazards import hazards
from harness.probes.cupti.host import Host
from harness.probes.cupti.inbox import Inbox
from harness.probes.cupti.kinds import ActivityKind, CallbackDomain
from harness.probes.cupti.records import ApiRecord, Record
from harness.probes.cupti.subscription import Subscription, errors_of

__all__ = ["EVERYTHING", "Collected", "Options", "Session"]

_POLL_S = 0.005
"""Between two flushes while waiting for the fence; CUPTI delivers a flushed buffer well within that."""

_NEVER = 1 << 64
"""Later than any time of CUPTI's clock."""

_OPTIONAL = {
    ActivityKind.MEMSET: EventType.MEMSET,
    ActivityKind.CONCURRENT_KERNEL: EventType.KERNEL,
    ActivityKind.MEMORY2: EventType.ALLOCATION,
}

EVERYTHING = frozenset({EventType.TRANSFER, EventType.SYNC, *_OPTIONAL.values()})
"""What is observed where CUPTI records every kind it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``buffer_bytes`` per buffer, ``deadline_s`` for records to arrive, whether to watch managed memory."""

    buffer_bytes: int
    deadline_s: float
    unified_memory: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What one recording left in the session."""

    records: tuple[Record, ...]
    sites: Mapping[int, Site | None]
    inside: Mapping[int, int]
    calls: Mapping[tuple[int, int], Call]
    end_ns: int
    dropped: int
    doubts: tuple[str, ...]


class Session:
    """CUPTI's only subscriber from ``open`` to ``close``; between them any number of recordings."""

    def __init__(self, module: Any, host: Host, options: Options) -> None:
        self._cupti = module
        self._host = host
        self._options = options
        self._errors = errors_of(module)
        self._calls = _calls(module)
        self._inbox = Inbox(buffer_bytes=options.buffer_bytes)
        watched = [key for key, call in self._calls.items() if call.kind in OBSERVED_AT_ENTRY]
        self._subscription = Subscription(module, host, self._inbox, watched=watched)

    @property
    def observes(self) -> frozenset[EventType]:
        """What the kinds that could be enabled amount to."""
        seen = {event for kind, event in _OPTIONAL.items() if self._sees(kind)}
        return frozenset({EventType.TRANSFER, EventType.SYNC, *seen})

    @property
    def sees_host_nodes(self) -> bool:
        """Whether host functions inside graphs leave records."""
        return self._sees(ActivityKind.GRAPH_HOST_NODE)

    @property
    def watches_migrations(self) -> bool:
        """Whether pages of managed memory are watched."""
        return self._sees(ActivityKind.UNIFIED_MEMORY_COUNTER)

    def now_ns(self) -> int:
        """CUPTI's clock, the one its records are in."""
        return int(self._cupti.get_timestamp())

    def thread(self) -> int:
        """This thread as CUPTI's records name it."""
        return self._subscription.thread()

    def open(self) -> None:
        """Subscribe and turn everything on; raises ``UnavailableError`` and leaves nothing behind."""
        self._subscription.open(unified_memory=self._options.unified_memory)

    def close(self) -> tuple[str, ...]:
        """Turn everything off; returns what failed, one line each."""
        return self._subscription.close()

    def begin(self) -> tuple[str, ...]:
        """Wait for the device, take in everything up to now, and throw it away.

        Returns the doubts of a fence that was not seen. Raises ``UnavailableError`` when the device cannot be
        waited for.
        """
        try:
            doubts = self._fence()
            self._dropped()
        except self._cupti.cuptiError as error:
            raise unavailable(self._cupti, "start a recording", error) from error
        except RuntimeError as error:
            raise UnavailableError(
                f"the CUPTI probe cannot wait for the device ({status_name(self._cupti, error)}); "
                "after a failed kernel or a lost GPU only a new process can use it again"
            ) from error
        self._inbox.clear()
        return doubts

    def end(self) -> Collected:
        """Hand over everything up to now once the device is done with it; a GPU that was lost is a doubt.

        The wait itself comes after ``end_ns`` and is nobody's traffic.
        """
        end_ns, dropped = _NEVER, 0
        try:
            end_ns = self.now_ns()
            doubts = self._fence()
            dropped = self._dropped()
        except self._errors as error:
            text = status_name(self._cupti, error)
            doubts = (
                f"the device or CUPTI failed after the run ({text}), so records are missing; "
                "find the failing call with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer",
            )
        return Collected(
            records=tuple(self._inbox.records),
            sites=dict(self._inbox.entered),
            inside=dict(self._inbox.inside),
            calls=self._with_late_names(),
            end_ns=end_ns,
            dropped=dropped,
            doubts=(*doubts, *self._unreadable(), *self._hazards()),
        )

    def _sees(self, kind: ActivityKind) -> bool:
        return kind in self._subscription.enabled

    def _fence(self) -> tuple[str, ...]:
        """Flush until the records of everything launched so far must be here.

        They are when CUPTI has delivered the record of a wait made after them, and one for every call seen on
        entry. A flush neither waits for the device nor for the delivery.
        """
        mark = self.now_ns()
        self._host.synchronize()
        expected = frozenset(self._inbox.entered)
        deadline = self._host.monotonic() + self._options.deadline_s
        while True:
            self._cupti.activity_flush_all(0)
            late = expected - self._inbox.answered
            fenced = self._inbox.newest_wait_ns >= mark
            if fenced and not late:
                # Once more, for records that share no buffer with the fence.
                self._cupti.activity_flush_all(0)
                return ()
            if self._host.monotonic() >= deadline:
                return tuple(self._overdue(fenced=fenced, late=late))
            self._host.sleep(_POLL_S)

    def _overdue(self, *, fenced: bool, late: frozenset[int]) -> Iterator[str]:
        if not fenced:
            yield (
                f"CUPTI did not deliver the record of the probe's own wait within "
                f"{self._options.deadline_s:g} s, so records are missing; give the probe a longer "
                "deadline_s, or look for another user of CUPTI in this process"
            )
        notebook = Notebook()
        for number in sorted(late):
            notebook.doubt(Doubt.LATE_CALL, site=self._inbox.entered.get(number))
        yield from notebook.doubts()

    def _dropped(self) -> int:
        """Records CUPTI knows it lost since it was last asked."""
        count = ctypes.c_size_t(0)
        self._cupti.activity_get_num_dropped_records(0, 0, ctypes.addressof(count))
        return count.value

    def _unreadable(self) -> tuple[str, ...]:
        notebook = Notebook()
        for text in self._inbox.unreadable:
            notebook.doubt(Doubt.UNREADABLE, about=text)
        return notebook.doubts()

    def _hazards(self) -> tuple[str, ...]:
        lines = hazards(self._host.environ, self._host.mapped_files())
        if self._sees(ActivityKind.MEMCPY2):
            return lines
        return (*lines, "this CUPTI does not record copies between GPUs; use one GPU, or update it")

    def _with_late_names(self) -> Mapping[tuple[int, int], Call]:
        """The calls by number, and those only the loaded libcupti knows, by the name it gives them."""
        for record in self._inbox.records:
            if not isinstance(record, ApiRecord):
                continue
            runtime = record.kind == ActivityKind.RUNTIME
            domain = CallbackDomain.RUNTIME_API if runtime else CallbackDomain.DRIVER_API
            if (domain, record.cbid) not in self._calls:
                self._calls[domain, record.cbid] = self._named(domain, record.cbid)
        return dict(self._calls)

    def _named(self, domain: int, cbid: int) -> Call:
        try:
            return call_named(str(self._cupti.get_callback_name(domain, cbid)))
        except self._errors:
            return call_named(f"reserved{cbid}")


def _calls(module: Any) -> dict[tuple[int, int], Call]:
    return {
        (int(domain), cbid): call
        for domain in CallbackDomain
        for cbid, call in calls_by_id(call_names(module, domain).items()).items()
    }
