"""What every probe must get right, as checks to run against any of them.

::

    suite = ProbeConformance(probe, PlantedActions(copy_to_host=lambda: array.get(), copied_bytes=4, ...))
    for check in suite.checks():
        check.run()

A check raises ``ConformanceError``, an ``AssertionError``, that says what was planted and what was seen. A probe
is held to what it claims to observe: a check of an event type it does not claim is left out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from harness.model.event import EventType, MemoryKind, SyncKind
from harness.model.trace import Trace, TrafficCounts, event_type
from harness.probes.base import Probe

__all__ = ["Check", "ConformanceError", "PlantedActions", "ProbeConformance"]

_REPEATS = 3
"""Two runs can agree by chance of order; three are still cheap."""


class ConformanceError(AssertionError):
    """A probe did not report what was planted."""


class Check(NamedTuple):
    """One property of a probe; ``run`` raises ``ConformanceError`` when it does not hold."""

    name: str
    run: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedActions:
    """Actions of known effect on the device a probe watches, each repeatable and called without arguments.

    ``copy_to_host`` copies ``copied_bytes`` to the host once and waits as such a read does; ``wait`` holds the
    host once and copies nothing; ``pageable_copy`` copies once, asked not to block, with pageable memory on
    the host side; ``copy_to_device`` copies ``uploaded_bytes`` to the device once; ``work`` launches work and
    neither copies nor waits; ``host_callback`` has a stream run one function on the host, ``None`` where the device
    knows no such thing. ``sees_other_threads`` and ``reports_sites`` are ``False`` only for a probe that
    documents that it cannot.
    """

    copy_to_host: Callable[[], object]
    copied_bytes: int
    wait: Callable[[], object]
    pageable_copy: Callable[[], object]
    copy_to_device: Callable[[], object]
    uploaded_bytes: int
    work: Callable[[], object]
    host_callback: Callable[[], object] | None = None
    sees_other_threads: bool = True
    reports_sites: bool = True


class ProbeConformance:
    """The checks of one probe; ``checks`` yields those that apply to what it claims to observe."""

    def __init__(self, probe: Probe, actions: PlantedActions) -> None:
        self._probe = probe
        self._actions = actions

    def checks(self) -> Iterator[Check]:
        """The applicable checks, copies first."""
        copies = EventType.TRANSFER in self._probe.observes
        waits = EventType.SYNC in self._probe.observes
        threads = copies and self._actions.sees_other_threads
        applicable = {
            self.a_copy_to_the_host_is_seen_once_with_its_bytes: copies,
            self.a_copy_to_the_device_is_seen_once_with_its_bytes: copies,
            self.a_pageable_copy_is_seen_as_blocking: copies,
            self.a_wait_is_seen_once: waits,
            self.a_host_callback_is_seen_once_as_one: waits
            and self._actions.host_callback is not None,
            self.work_alone_is_neither_a_copy_nor_a_wait: True,
            self.an_idle_recording_is_empty: True,
            self.what_is_planted_leaves_no_doubt: True,
            self.nothing_leaks_in_from_before_or_after: copies,
            self.a_region_tags_what_is_launched_inside_only: copies,
            self.nested_regions_are_tagged_outermost_first: copies,
            self.a_region_entered_twice_is_counted_twice: copies,
            self.a_region_is_left_by_an_exception: copies,
            self.a_recording_is_closed_by_an_exception: copies,
            self.an_open_recording_has_no_trace: True,
            self.a_trace_says_where_it_comes_from: copies,
            self.only_claimed_event_types_are_reported: True,
            self.repeated_runs_give_identical_counts: True,
            self.other_threads_are_seen_in_order: threads,
            self.a_site_is_the_line_that_caused_the_event: copies and self._actions.reports_sites,
        }
        return (Check(run.__name__, run) for run, applies in applicable.items() if applies)

    # --- what is seen ----------------------------------------------------------------------------------

    def a_copy_to_the_host_is_seen_once_with_its_bytes(self) -> None:
        """One D2H copy with the right size."""
        counts = self._record(self._actions.copy_to_host).counts()
        _expect("D2H copies", 1, counts.d2h)
        _expect("D2H bytes", self._actions.copied_bytes, counts.d2h_bytes)
        _expect("H2D copies", 0, counts.h2d)

    def a_copy_to_the_device_is_seen_once_with_its_bytes(self) -> None:
        """One H2D copy with the right size."""
        counts = self._record(self._actions.copy_to_device).counts()
        _expect("H2D copies", 1, counts.h2d)
        _expect("H2D bytes", self._actions.uploaded_bytes, counts.h2d_bytes)
        _expect("D2H copies", 0, counts.d2h)

    def a_pageable_copy_is_seen_as_blocking(self) -> None:
        """An "async" copy with pageable memory holds the host and leaves no wait behind."""
        trace = self._record(self._actions.pageable_copy)
        _expect("copies", 1, len(trace.transfers))
        copy = trace.transfers[0]
        _expect("pageable end", True, MemoryKind.PAGEABLE in (copy.source, copy.destination))
        _expect("blocking", True, copy.blocking)

    def a_wait_is_seen_once(self) -> None:
        """One explicit wait and no copy."""
        trace = self._record(self._actions.wait)
        _expect("waits", 1, len(trace.syncs))
        _expect("copies", 0, len(trace.transfers))

    def a_host_callback_is_seen_once_as_one(self) -> None:
        """One sync that is no wait of the host, and no copy."""
        assert self._actions.host_callback is not None
        trace = self._record(self._actions.host_callback)
        kinds = [wait.kind.value for wait in trace.syncs]
        _expect("syncs", [SyncKind.HOST_CALLBACK.value], kinds)
        _expect("copies", 0, len(trace.transfers))

    def work_alone_is_neither_a_copy_nor_a_wait(self) -> None:
        """No false alarm; and when kernels are observed, proof that the work ran."""
        trace = self._record(self._actions.work)
        _expect("copies", 0, len(trace.transfers))
        _expect("waits", 0, len(trace.syncs))
        if EventType.KERNEL in self._probe.observes:
            _expect("a kernel", True, len(trace.kernels) > 0)

    def an_idle_recording_is_empty(self) -> None:
        """The probe itself neither copies nor waits where it counts."""
        _expect("counts", TrafficCounts(), self._record(_nothing).counts())

    def what_is_planted_leaves_no_doubt(self) -> None:
        """A doubt keeps every zero from being believed, so ordinary actions must not raise one."""
        _expect("doubts", (), self._record(self._everything).doubts)

    def nothing_leaks_in_from_before_or_after(self) -> None:
        """Only what happens while the recording is open belongs to it."""
        self._actions.copy_to_host()
        with self._probe.record() as recording:
            self._actions.work()
        self._actions.copy_to_host()
        _expect("D2H copies", 0, recording.trace().counts().d2h)

    # --- regions ---------------------------------------------------------------------------------------

    def a_region_tags_what_is_launched_inside_only(self) -> None:
        """A copy before, inside and after: one is inside."""
        copy = self._actions.copy_to_host
        with self._probe.record() as recording:
            copy()
            with recording.region("inside"):
                copy()
            copy()
        trace = recording.trace()
        _expect("D2H copies", 3, trace.counts().d2h)
        _expect("D2H copies inside", 1, trace.within("inside").counts().d2h)
        _expect("regions of the copies", [(), ("inside",), ()], _regions(trace))

    def nested_regions_are_tagged_outermost_first(self) -> None:
        """An inner region belongs to the outer one too."""
        copy = self._actions.copy_to_host
        with self._probe.record() as recording, recording.region("outer"):
            with recording.region("inner"):
                copy()
            copy()
        trace = recording.trace()
        _expect("regions of the copies", [("outer", "inner"), ("outer",)], _regions(trace))
        _expect("entered", {"outer": 1, "inner": 1}, dict(trace.entered))

    def a_region_entered_twice_is_counted_twice(self) -> None:
        """Both visits are tagged, and a region entered but idle is known to have run."""
        with self._probe.record() as recording:
            for _ in range(2):
                with recording.region("again"):
                    self._actions.copy_to_host()
            with recording.region("idle"):
                pass
        trace = recording.trace()
        _expect("entered", {"again": 2, "idle": 1}, dict(trace.entered))
        _expect("D2H copies in again", 2, trace.within("again").counts().d2h)

    def a_region_is_left_by_an_exception(self) -> None:
        """What follows a failed region is not tagged with it."""
        with self._probe.record() as recording:
            with _planted_error(), recording.region("failed"):
                raise _PlantedError
            self._actions.copy_to_host()
        _expect("regions of the copies", [()], _regions(recording.trace()))

    # --- recordings and traces -------------------------------------------------------------------------

    def a_recording_is_closed_by_an_exception(self) -> None:
        """The exception passes through, the trace stands, and the next recording is clean."""
        with _planted_error(), self._probe.record() as recording:
            self._actions.copy_to_host()
            raise _PlantedError
        _expect("D2H copies before the exception", 1, recording.trace().counts().d2h)
        _expect("counts of the next recording", TrafficCounts(), self._record(_nothing).counts())

    def an_open_recording_has_no_trace(self) -> None:
        """Asking too early is an error, not an incomplete trace."""
        with self._probe.record() as recording:
            try:
                recording.trace()
            except RuntimeError:
                return
        raise ConformanceError("trace() of an open recording did not raise RuntimeError")

    def a_trace_says_where_it_comes_from(self) -> None:
        """Name, evidence and claims are the probe's, and nothing was lost."""
        trace = self._record(self._actions.copy_to_host)
        _expect("probe", self._probe.name, trace.probe)
        _expect("evidence", self._probe.evidence, trace.evidence)
        _expect("observes", self._probe.observes, trace.observes)
        _expect("dropped", 0, trace.dropped)

    def only_claimed_event_types_are_reported(self) -> None:
        """An event of a type outside ``observes`` would be counted by nobody."""
        trace = self._record(self._everything)
        unclaimed = {event_type(event).value for event in trace.events} - {
            kind.value for kind in self._probe.observes
        }
        _expect("unclaimed event types", set(), unclaimed)

    def repeated_runs_give_identical_counts(self) -> None:
        """The same actions, the same counts, every time."""
        first, *others = (self._record(self._everything).counts() for _ in range(_REPEATS))
        for counts in others:
            _expect("counts of a repeated run", first, counts)

    def other_threads_are_seen_in_order(self) -> None:
        """A copy made by another thread after one of this thread comes after it in the trace."""
        with self._probe.record() as recording:
            self._actions.copy_to_host()
            thread = threading.Thread(target=self._actions.copy_to_device)
            thread.start()
            thread.join()
        directions = [transfer.direction.value for transfer in recording.trace().transfers]
        _expect("copies in order", ["D2H", "H2D"], directions)

    def a_site_is_the_line_that_caused_the_event(self) -> None:
        """File and function of the planted action, and a line inside it."""
        code = getattr(self._actions.copy_to_host, "__code__", None)
        if code is None:
            raise ConformanceError(
                "copy_to_host must be a Python function for its site to be checked"
            )
        trace = self._record(self._actions.copy_to_host)
        _expect("copies", 1, len(trace.transfers))
        site = trace.transfers[0].site
        if site is None:
            raise ConformanceError("a copy has no site")
        _expect("file of the site", code.co_filename, site.file)
        _expect("function of the site", code.co_name, site.function)
        lines = {line for _, _, line in code.co_lines() if line is not None}
        _expect(f"line {site.line} in the planted action", True, site.line in lines)

    # --- the means -------------------------------------------------------------------------------------

    def _record(self, action: Callable[[], object]) -> Trace:
        with self._probe.record() as recording:
            action()
        return recording.trace()

    def _everything(self) -> None:
        actions = self._actions
        actions.copy_to_host()
        actions.copy_to_device()
        actions.pageable_copy()
        actions.wait()
        actions.work()


class _PlantedError(Exception):
    """Raised by the suite inside a recording."""


@contextmanager
def _planted_error() -> Iterator[None]:
    try:
        yield
    except _PlantedError:
        return
    raise ConformanceError("an exception raised inside a recording did not pass through")


def _nothing() -> None:
    """The action that does nothing."""


def _regions(trace: Trace) -> list[tuple[str, ...]]:
    return [copy.regions for copy in trace.transfers]


def _expect(what: str, planted: object, seen: object) -> None:
    if planted != seen:
        raise ConformanceError(f"{what}: planted {planted!r}, the probe reports {seen!r}")
