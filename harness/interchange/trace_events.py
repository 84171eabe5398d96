"""Timelines as Chrome trace events, the JSON that ui.perfetto.dev and chrome://tracing open.

Written are the phases ``M`` (names), ``X`` (complete events with ``ts`` and ``dur`` in microseconds) and, from a call to
the work it launched, the flows ``s`` and ``f``. Each call of each implementation is a process, its host and each of its
streams a thread.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from harness.model.event import EventType
from harness.model.timeline import Timeline, TimelineEvent
from harness.model.verdict import Run, TrafficRecord, Verdict

__all__ = ["FORMAT", "encode_trace", "is_trace", "traced"]

FORMAT = "ondevice-harness trace"
"""Marks the file as ours, so that nobody else's is replaced."""

_REGIONS, _HOST, _FIRST_STREAM = 0, 1, 2
"""Rows of a process from the top."""

_SLOT_NS = 1_000
"""What an event gets where only the order is known: a microsecond, after which the next one begins."""

_ON_DEVICE = (EventType.KERNEL, EventType.TRANSFER, EventType.MEMSET)


@dataclass(frozen=True, slots=True)
class _Span:
    """From when for how long, in nanoseconds since the start of the call."""

    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of the interface and the events it is behind; without a span where nobody saw it."""

    span: _Span | None
    events: tuple[tuple[TimelineEvent, _Span | None], ...]


class _Process:
    """The trace events of one process. What overlaps gets threads of its own, since viewers nest what shares one."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._threads: dict[int, list[tuple[int, int]]] = {}
        self._count = 0
        self.events: list[dict[str, Any]] = []

    def name(self, kind: str, value: Mapping[str, Any], *, tid: int = 0) -> None:
        """A metadata event."""
        self._add("M", kind, tid, args=dict(value))

    def slice(
        self, row: int, span: _Span, name: str, *, category: str, of: str, args: Mapping[str, Any]
    ) -> int:
        """A complete event on the first free thread of ``row``, which is called ``of``; returns the thread."""
        threads = self._threads.setdefault(row, [])
        free = (place for place, (_, end) in enumerate(threads) if end <= span.start)
        place = next(free, len(threads))
        if place == len(threads):
            self._count += 1
            threads.append((self._count, 0))
            self.name(
                "thread_name", {"name": f"{of} ({place + 1})" if place else of}, tid=self._count
            )
            self.name("thread_sort_index", {"sort_index": row}, tid=self._count)
        tid = threads[place][0]
        threads[place] = (tid, span.end)
        times = {"ts": span.start / 1e3, "dur": span.size / 1e3}
        self._add("X", name, tid, cat=category, **times, args=dict(args))
        return tid

    def flow(self, number: int, start: tuple[int, int], end: tuple[int, int]) -> None:
        """An arrow from a thread and a time to another; ``bp`` binds its end to the slice around it."""
        for phase, (tid, at), more in (("s", start, {}), ("f", end, {"bp": "e"})):
            self._add(phase, "launch", tid, cat="flow", ts=at / 1e3, id=number, **more)

    def _add(self, phase: str, name: str, tid: int, **fields: Any) -> None:
        self.events.append({"ph": phase, "name": name, "pid": self._pid, "tid": tid, **fields})


def traced(verdict: Verdict) -> tuple[tuple[str, Timeline], ...]:
    """The timelines of a case with a name each, those of its known defects first; empty where nobody watched."""
    records: list[tuple[str, TrafficRecord | None]] = [
        (f"{verdict.key}, {control.label}", control) for control in verdict.controls
    ]
    records.append((verdict.key, verdict.traffic))
    return tuple(
        (name, record.timeline)
        for name, record in records
        if record is not None and record.timeline is not None and record.timeline.events
    )


def is_trace(data: bytes) -> bool:
    """Whether a file that begins with these bytes was written by ``encode_trace``."""
    return data.startswith(f'{{"otherData":{{"format":"{FORMAT}"'.encode())


def encode_trace(run: Run, verdicts: Iterable[Verdict]) -> bytes:
    """The timelines of these cases of a run as the bytes of a trace file.

    Where events were not timed each has a microsecond, in order, and the process is named so. Cost: linear in events.
    """
    timelines = [timeline for verdict in verdicts for timeline in traced(verdict)]
    flows = iter(range(1, 1 + sum(len(timeline.events) for _, timeline in timelines)))
    document = {
        "otherData": {
            "format": FORMAT,
            "run": run.run_id,
            "created": run.created,
            "command": run.command,
            "harness": run.harness_version,
        },
        "displayTimeUnit": "ns",
        "traceEvents": [
            event
            for pid, (name, timeline) in enumerate(timelines, start=1)
            for event in _process_events(pid, name, timeline, flows)
        ],
    }
    return f"{json.dumps(document, separators=(',', ':'))}\n".encode("ascii")


def _process_events(
    pid: int, name: str, timeline: Timeline, flows: Iterator[int]
) -> list[dict[str, Any]]:
    timed = all(event.start_ns is not None for event in timeline.events)
    process = _Process(pid)
    process.name("process_name", {"name": name if timed else f"{name} (order, not time)"})
    process.name("process_sort_index", {"sort_index": pid})
    if timeline.omitted:
        shown = len(timeline.events)
        label = f"the first {shown:,} of {shown + timeline.omitted:,} events"
        process.name("process_labels", {"labels": label})
    calls = tuple(_timed_calls(timeline.events) if timed else _ordered_calls(timeline.events))
    for region, span in _regions(calls):
        process.slice(_REGIONS, span, region, category="region", of="regions", args={})
    for call in calls:
        _add_call(process, call, flows, timed=timed)
    return process.events


def _add_call(process: _Process, call: _Call, flows: Iterator[int], *, timed: bool) -> None:
    """The call on the host, its work on the device, and arrows between them where both have their time."""
    first, host = call.events[0][0], None
    if call.span is not None:
        held = "blocking " if first.blocking else ""
        kernel = first.type is EventType.KERNEL
        name = f"launch {first.api}" if kernel else f"{held}{first.api}"
        told = _args(first) | ({"events": len(call.events)} if len(call.events) > 1 else {})
        host = process.slice(_HOST, call.span, name, category="host", of="host", args=told)
    for event, span in call.events:
        if span is None:
            continue
        row, of = _FIRST_STREAM + event.stream, f"stream {event.stream}"
        category, name = event.type.value, _work_name(event)
        tid = process.slice(row, span, name, category=category, of=of, args=_args(event))
        if timed and host is not None and call.span is not None:
            process.flow(next(flows), (host, call.span.start), (tid, span.start))


def _ordered_calls(events: Sequence[TimelineEvent]) -> Iterator[_Call]:
    for number, event in enumerate(events):
        slot = _Span(number * _SLOT_NS, _SLOT_NS)
        yield _Call(slot, ((event, slot if event.type in _ON_DEVICE else None),))


def _timed_calls(events: Sequence[TimelineEvent]) -> Iterator[_Call]:
    """Events that follow each other and began with one call are of that call, as the kernels of a graph are."""
    for (start, size), group in groupby(events, lambda event: (event.start_ns, event.host_ns)):
        work = tuple((event, _span(event.device_start_ns, event.device_ns)) for event in group)
        yield _Call(_span(start, size), work)


def _span(start: int | None, size: int | None) -> _Span | None:
    return None if start is None or size is None else _Span(max(0, start), size)


def _regions(calls: Sequence[_Call]) -> Iterator[tuple[str, _Span]]:
    """Every region as long as calls within it follow each other, those of the outermost depth first."""
    seen = [(call, call.span) for call in calls if call.span is not None]
    starts = [span.start for _, span in seen[1:]]
    depth = 1
    while any(len(_within(call, depth)) == depth for call, _ in seen):
        place = 0
        for path, group in groupby((call for call, _ in seen), partial(_within, depth=depth)):
            count = sum(1 for _ in group)
            spans = [span for _, span in seen[place : place + count]]
            place += count
            until = starts[place - 1] if place <= len(starts) else max(s.end for s in spans)
            end = min(until, max(span.end for span in spans))
            if len(path) == depth:
                yield path[-1], _Span(spans[0].start, end - spans[0].start)
        depth += 1


def _within(call: _Call, depth: int) -> tuple[str, ...]:
    return call.events[0][0].regions[:depth]


def _work_name(event: TimelineEvent) -> str:
    if event.type is EventType.TRANSFER:
        return f"{event.direction.value if event.direction else ''} copy".strip()
    return event.api


def _args(event: TimelineEvent) -> dict[str, Any]:
    """What viewers show of a selected event; nothing that is not known."""
    told: dict[str, Any] = {"api": event.api}
    if event.site is not None:
        told["site"] = str(event.site)
    if event.regions:
        told["region"] = " > ".join(event.regions)
    if event.type not in (EventType.KERNEL, EventType.SYNC):
        told["bytes"] = event.size_bytes
    if event.sync is not None:
        told["waits"] = event.sync.value
    return told | ({"blocking": True} if event.blocking else {})
