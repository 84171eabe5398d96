"""The CUPTI probe: what a real GPU did, as its own tracing interface recorded it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from harness.errors import UnavailableError
from harness.model.event import EventType
from harness.model.outcome import Evidence
from harness.model.trace import Trace
from harness.probes.cupti.binding import load_cupti
from harness.probes.cupti.host import Host
from harness.probes.cupti.regions import RegionLog
from harness.probes.cupti.session import EVERYTHING, Collected, Options, Session
from harness.probes.cupti.translate import Gathered, translate
from harness.probes.threads import doubts_of_threads, running

__all__ = ["CuptiProbe", "CuptiRecording"]

_BUFFER_BYTES = 8 * 1024 * 1024
"""Some 60,000 records: a step fits, so that CUPTI asks for a second buffer, with its lock held, only rarely."""

_DEADLINE_S = 5.0
"""A flushed buffer arrives within milliseconds; the first one of a process has been seen to take seconds."""

_recording = threading.Lock()
"""CUPTI serves one subscriber in a process, and a fence belongs to one recording."""


class CuptiRecording:
    """One observation of a device; ``facts`` tells after it what happened that nobody judges, such as polls.

    A thread that still runs when the recording closes is a doubt, unless it ran before: it can read what nobody counts.
    """

    def __init__(self, session: Session, *, probe: str, doubts: tuple[str, ...]) -> None:
        self._session = session
        self._probe = probe
        self._doubts = doubts
        self._regions = RegionLog(owner=session.thread())
        self._observes = session.observes
        self._is_open = True
        self._collected: Collected | None = None
        self._trace: Trace | None = None
        self._facts: tuple[str, ...] = ()
        self._threads = running()
        self._start_ns = session.now_ns()

    @contextmanager
    def region(self, name: str) -> Iterator[None]:
        """Tag every call made inside with ``name``; raises ``RuntimeError`` once the recording is closed."""
        if not self._is_open:
            raise RuntimeError(f"region {name!r} was entered after its recording had closed")
        session = self._session
        before = self._regions.enter(name, thread=session.thread(), at_ns=session.now_ns())
        try:
            yield
        finally:
            self._regions.leave(before, thread=session.thread(), at_ns=session.now_ns())

    def close(self) -> None:
        """Stop observing."""
        self._is_open = False
        self.add_doubts(doubts_of_threads(self._threads))
        self._collected = self._session.end()

    def add_doubts(self, doubts: tuple[str, ...]) -> None:
        """Add what came up while the recording was closed."""
        self._doubts = (*self._doubts, *doubts)

    @property
    def facts(self) -> tuple[str, ...]:
        """Polls, orderings, allocations and releases by name and count, one line per class."""
        self.trace()
        return self._facts

    def trace(self) -> Trace:
        """Everything observed, in launch order over all threads; ``RuntimeError`` while still open."""
        if self._collected is None:
            raise RuntimeError(
                "the recording is still open: leave its with block before asking for the trace"
            )
        if self._trace is None:
            self._trace = self._translate(self._collected)
        return self._trace

    def _translate(self, collected: Collected) -> Trace:
        translation = translate(
            Gathered(
                records=collected.records,
                calls=collected.calls,
                sites=collected.sites,
                inside=collected.inside,
                regions=self._regions,
                start_ns=self._start_ns,
                end_ns=collected.end_ns,
                watches_migrations=self._session.watches_migrations,
                sees_host_nodes=self._session.sees_host_nodes,
            )
        )
        self._facts = translation.facts
        return Trace(
            probe=self._probe,
            evidence=Evidence.PROVEN,
            observes=self._observes,
            events=translation.events,
            dropped=collected.dropped,
            entered=self._regions.entered,
            doubts=(*self._doubts, *collected.doubts, *translation.doubts),
        )


class CuptiProbe:
    """Watches all CUDA work of this process through NVIDIA's CUPTI.

    Each recording opens and closes a session of its own, so that nothing is traced, and slowed, in between;
    inside ``with probe.session():`` recordings share one. Raises ``UnavailableError``, when made or when it
    records, with the cause and the fix in one line.

    ``module`` stands in for ``cupti.cupti`` and ``host`` for this process and machine. ``unified_memory``
    watches pages of managed memory, which not every system allows. ``deadline_s`` is how long records may take
    to arrive, ``buffer_bytes`` the size of CUPTI's buffers.
    """

    def __init__(
        self,
        *,
        module: Any = None,
        host: Host | None = None,
        unified_memory: bool = False,
        deadline_s: float = _DEADLINE_S,
        buffer_bytes: int = _BUFFER_BYTES,
    ) -> None:
        self._host = host or Host()
        self._cupti, self._version = load_cupti(self._host, module)
        self._options = Options(
            buffer_bytes=buffer_bytes, deadline_s=deadline_s, unified_memory=unified_memory
        )
        self._shared: Session | None = None
        self._observes = EVERYTHING

    @property
    def name(self) -> str:
        """``"cupti 13.4"``: the release of cupti-python."""
        return f"cupti {'.'.join(self._version.split('.')[:2])}"

    @property
    def recording(self) -> bool:
        """Whether CUPTI is tracing, so that no time taken now means anything."""
        return _recording.locked() or self._shared is not None

    @property
    def evidence(self) -> Evidence:
        """Proven: the device's own records."""
        return Evidence.PROVEN

    @property
    def observes(self) -> frozenset[EventType]:
        """Copies and waits always; fills, kernels and allocations where CUPTI could be asked for them."""
        return self._observes

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep one session open for the recordings inside.

        Needed to see into a graph that is captured in one recording and launched in another: CUPTI records
        the nodes of a graph only within the session it was captured in.
        """
        if self._shared is not None:
            raise RuntimeError("a session of this probe is already open: sessions do not nest")
        session = self._shared = self._opened()
        try:
            yield
        finally:
            self._shared = None
            failures = session.close()
        if failures:
            raise UnavailableError(failures[0])

    def record(self) -> AbstractContextManager[CuptiRecording]:
        """Observe until the context closes; a second recording in the process raises ``RuntimeError``."""
        return self._record()

    @contextmanager
    def _record(self) -> Iterator[CuptiRecording]:
        if not _recording.acquire(blocking=False):
            raise RuntimeError(
                "this process is already recording: recordings do not nest, regions do"
            )
        try:
            session = self._shared or self._opened()
            recording: CuptiRecording | None = None
            try:
                doubts = session.begin()
                recording = CuptiRecording(session, probe=self.name, doubts=doubts)
                yield recording
            finally:
                if recording is not None:
                    recording.close()
                if session is not self._shared:
                    failures = session.close()
                    if recording is not None:
                        recording.add_doubts(failures)
        finally:
            _recording.release()

    def _opened(self) -> Session:
        session = Session(self._cupti, self._host, self._options)
        session.open()
        self._observes = session.observes
        return session
