"""Which calls the program made itself: a runtime call and the driver calls inside it are one.

A runtime call usually makes a driver call, and CUPTI records both. What counts is the outermost call of each
thread, found by the nesting of their times; the calls inside only say what it did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.probes.cupti.calls import Call, CallClass
from harness.probes.cupti.kinds import ActivityKind
from harness.probes.cupti.records import ApiRecord

__all__ = [
    "CallOf",
    "Launch",
    "calls_under_capture",
    "index_by_correlation",
    "outermost_calls",
]

CallOf = Callable[[ApiRecord], Call]
"""Looks up the call behind a record."""


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """One call a thread made itself, with those made inside it.

    ``correlations`` are the ids under which CUPTI's other records may refer to any of them, its own first.
    """

    call: Call
    record: ApiRecord
    inside: tuple[Call, ...]
    correlations: tuple[int, ...]

    @property
    def classes(self) -> frozenset[CallClass]:
        """What it and the calls inside it are."""
        return frozenset({self.call.kind, *(call.kind for call in self.inside)})

    def within(self, start_ns: int, end_ns: int) -> bool:
        """Whether the host launched it between the two times, both included."""
        return start_ns <= self.record.start <= end_ns


def outermost_calls(records: Iterable[ApiRecord], call_of: CallOf) -> tuple[Launch, ...]:
    """The outermost calls of all threads, in order of their start.

    Records without times cannot be nested and are left out. Cost: one sort.
    """
    by_thread: defaultdict[int, list[ApiRecord]] = defaultdict(list)
    for record in records:
        if record.start and record.end:
            by_thread[record.thread].append(record)
    launches = [
        _launch(group, call_of) for of_thread in by_thread.values() for group in _nested(of_thread)
    ]
    return tuple(sorted(launches, key=lambda launch: launch.record.start))


def index_by_correlation(launches: Iterable[Launch]) -> dict[int, Launch]:
    """Correlation id to the outermost call it belongs to."""
    return {number: launch for launch in launches for number in launch.correlations}


def calls_under_capture(launches: Iterable[Launch]) -> frozenset[Launch]:
    """The calls made in a thread between the begin and the end of a stream capture there.

    They go into a graph instead of the device and leave no record of their own. ``launches`` must be in order.
    """
    capturing: set[int] = set()
    captured = []
    for launch in launches:
        thread = launch.record.thread
        if launch.call.kind is CallClass.BEGIN_CAPTURE and not launch.record.returned:
            capturing.add(thread)
        elif launch.call.kind is CallClass.END_CAPTURE:
            capturing.discard(thread)
        elif thread in capturing:
            captured.append(launch)
    return frozenset(captured)


def _nested(records: Iterable[ApiRecord]) -> Iterator[list[ApiRecord]]:
    """Groups of one outermost call and all calls inside it."""
    group: list[ApiRecord] = []
    for record in sorted(records, key=_outermost_first):
        if group and _inside(record, group[0]):
            group.append(record)
            continue
        if group:
            yield group
        group = [record]
    if group:
        yield group


def _outermost_first(record: ApiRecord) -> tuple[int, int, bool]:
    return (record.start, -record.end, record.kind == ActivityKind.DRIVER)


def _inside(record: ApiRecord, outer: ApiRecord) -> bool:
    same_times = (record.start, record.end) == (outer.start, outer.end)
    if same_times:
        # Two calls shorter than CUPTI's clock: a driver call in a runtime call, else one after the other.
        return record.kind != outer.kind
    return outer.start <= record.start < outer.end and record.end <= outer.end


def _launch(group: Sequence[ApiRecord], call_of: CallOf) -> Launch:
    outer, *inner = group
    return Launch(
        call=call_of(outer),
        record=outer,
        inside=tuple(call_of(record) for record in inner),
        correlations=tuple(dict.fromkeys(record.correlation for record in group)),
    )
