"""The probe of the simulated device: what was announced between two points, as a trace."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter_ns

from harness.model.event import Event, EventType, Site
from harness.model.outcome import Evidence
from harness.model.trace import Trace
from harness.probes.simulated import boundary
from harness.probes.simulated.boundary import Observation
from harness.probes.threads import doubts_of_threads, running

__all__ = ["SimulatedProbe", "SimulatedRecording"]

_NAME = "simulated"
_OBSERVES = frozenset({EventType.TRANSFER, EventType.SYNC, EventType.MEMSET, EventType.KERNEL})
_CAPACITY = 4_000_000
"""Events kept per recording: at about 300 bytes each a little over a gigabyte; later ones count as dropped."""


class _RegionStack(threading.local):
    open: tuple[str, ...] = ()


class SimulatedRecording:
    """One observation of the simulated device.

    Each thread has its own stack of regions. A thread that has opened none is counted to the regions open in
    the thread that records: work handed to a helper thread must not escape the budget of its region. A thread
    that still runs when the recording closes is a doubt, unless it ran before: it can read what nobody counts.
    """

    def __init__(self, *, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity
        self._observed: list[tuple[Observation, tuple[str, ...]]] = []
        self._dropped = 0
        self._doubts: dict[str, None] = {}
        self._threads = running()
        self._entered: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._regions = _RegionStack()
        self._owner = threading.get_ident()
        self._owner_regions: tuple[str, ...] = ()
        self._start_ns = perf_counter_ns()
        self._is_open = True
        self._trace: Trace | None = None

    def observe(self, observation: Observation) -> None:
        """Take one announced event; called in the thread that launched it, one at a time."""
        if len(self._observed) >= self._capacity:
            self._dropped += 1
            return
        self._observed.append((observation, self._regions.open or self._owner_regions))

    def doubt(self, reason: str) -> None:
        """Take one reason why a zero may not be one; the same reason again says nothing new."""
        self._doubts[reason] = None

    @contextmanager
    def region(self, name: str) -> Iterator[None]:
        """Tag every event launched inside with ``name``; raises ``RuntimeError`` once the recording is closed."""
        if not self._is_open:
            raise RuntimeError(f"region {name!r} was entered after its recording had closed")
        outside = self._regions.open
        self._open((*outside, name))
        with self._counting:
            self._entered[name] += 1
        try:
            yield
        finally:
            self._open(outside)

    def _open(self, regions: tuple[str, ...]) -> None:
        self._regions.open = regions
        if threading.get_ident() == self._owner:
            self._owner_regions = regions

    def close(self) -> None:
        """Stop observing; the trace is complete."""
        self._is_open = False

    def look_for_threads(self) -> None:
        """Doubt what threads that were started meanwhile, and still run, are going to do."""
        for reason in doubts_of_threads(self._threads):
            self.doubt(reason)

    def trace(self) -> Trace:
        """Everything observed, in launch order over all threads; ``RuntimeError`` while still open."""
        if self._is_open:
            raise RuntimeError(
                "the recording is still open: leave its with block before asking for the trace"
            )
        if self._trace is None:
            self._trace = Trace(
                probe=_NAME,
                evidence=Evidence.SIMULATED,
                observes=_OBSERVES,
                events=self._events(),
                dropped=self._dropped,
                doubts=tuple(self._doubts),
                entered=dict(self._entered),
            )
            self._observed.clear()
        return self._trace

    def _events(self) -> tuple[Event, ...]:
        sites: dict[tuple[str, int, str], Site] = {}
        events = []
        # Delivery is in launch order but for an operation run by a finaliser during a delivery.
        for seen, regions in sorted(self._observed, key=lambda pair: pair[0].clock_ns):
            place = (seen.file, seen.line, seen.function)
            event = seen.kind(
                api=seen.api,
                regions=regions,
                site=sites.setdefault(place, Site(*place)),
                stream=seen.stream,
                start_ns=seen.clock_ns - self._start_ns,
                **seen.details,
            )
            events.append(event)
        return tuple(events)


class _Recording(threading.local):
    is_open: bool = False


_this_thread = _Recording()


class SimulatedProbe:
    """Watches the simulated device; ``recording`` is the class that keeps what was seen."""

    def __init__(self, recording: type[SimulatedRecording] = SimulatedRecording) -> None:
        self._recording = recording

    @property
    def name(self) -> str:
        """``"simulated"``."""
        return _NAME

    @property
    def evidence(self) -> Evidence:
        """Simulated: true values, crossings as CuPy's source makes them."""
        return Evidence.SIMULATED

    @property
    def observes(self) -> frozenset[EventType]:
        """Copies, waits, memsets and kernels; not allocations."""
        return _OBSERVES

    def record(self) -> AbstractContextManager[SimulatedRecording]:
        """Observe until the context closes; a second recording in the same thread raises ``RuntimeError``."""
        return self._record()

    @contextmanager
    def _record(self) -> Iterator[SimulatedRecording]:
        if _this_thread.is_open:
            raise RuntimeError(
                "this thread is already recording: recordings do not nest, regions do"
            )
        recording = self._recording()
        _this_thread.is_open = True
        boundary.attach(recording)
        try:
            yield recording
        finally:
            recording.look_for_threads()
            boundary.detach(recording)
            recording.close()
            _this_thread.is_open = False
