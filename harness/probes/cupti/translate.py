"""CUPTI's records to the harness' events: pure, and the same on synthetic records as on real ones.

An event belongs to the recording, and to a region, by the time its call was launched on the host and by the
thread that made it, never by the time the device got round to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.model.event import Event, Site
from harness.probes.cupti.calls import Call, CallClass, call_named
from harness.probes.cupti.doubts import Doubt, Notebook
from harness.probes.cupti.kinds import ActivityKind, CallbackDomain
from harness.probes.cupti.launches import (
    Launch,
    calls_under_capture,
    index_by_correlation,
    outermost_calls,
)
from harness.probes.cupti.migrations import migration_events
from harness.probes.cupti.records import (
    ApiRecord,
    CopyRecord,
    GraphTraceRecord,
    HostNodeRecord,
    KernelRecord,
    MemsetRecord,
    MigrationRecord,
    Record,
)
from harness.probes.cupti.regions import RegionLog
from harness.probes.cupti.work import Origin, Work, events_of, orphan_events, touches_managed

__all__ = ["Gathered", "Translation", "translate"]

_WORTH_TELLING = frozenset(
    {CallClass.POLL, CallClass.ORDER, CallClass.ALLOCATE, CallClass.LOAD, CallClass.MAP_HOST}
)
"""Classes that are neither copy nor wait, and that a reader of a slow step may want to know of."""

_RAN = (CopyRecord, MemsetRecord, KernelRecord, HostNodeRecord)
"""What the launch of a graph leaves behind, one record per node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Everything gathered about one recording.

    ``calls`` names the calls by callback domain and number; ``sites`` holds the user's line by correlation id
    of an outermost call, taken on entry, and ``inside`` leads there from the calls within it. ``start_ns`` and ``end_ns`` bound the recording on CUPTI's clock.
    """

    records: Sequence[Record]
    calls: Mapping[tuple[int, int], Call]
    sites: Mapping[int, Site | None]
    inside: Mapping[int, int]
    regions: RegionLog
    start_ns: int
    end_ns: int
    watches_migrations: bool = False
    sees_host_nodes: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """The events in order of their launch, what casts doubt on them, and facts nobody judges."""

    events: tuple[Event, ...]
    doubts: tuple[str, ...]
    facts: tuple[str, ...]


def translate(gathered: Gathered) -> Translation:
    """Turn one recording's records into events.

    Each copy record becomes as many transfers as it stands for; each outermost call that held the host one
    wait, unless it was the call of a copy, which then is blocking. Cost: one sort of the calls.
    """
    notebook = Notebook()
    apis = [record for record in gathered.records if isinstance(record, ApiRecord)]
    launches = outermost_calls(apis, lambda record: _call_of(record, gathered.calls))
    work, orphans = _by_launch(gathered, launches)
    captured = calls_under_capture(launches)
    events: list[Event] = []
    for launch in launches:
        if launch.within(gathered.start_ns, gathered.end_ns):
            caused, origin = work[launch], _origin(launch, gathered)
            events += events_of(launch, caused, origin, notebook, captured=launch in captured)
            _examine_launch(launch, caused, gathered, notebook, captured=launch in captured)
    for record in orphans:
        events += orphan_events(record, _own_origin(record, gathered), notebook)
    events += migration_events(
        _migrations(gathered), lambda record: _own_origin(record, gathered), notebook
    )
    _examine_records(gathered, notebook)
    events.sort(key=lambda event: event.start_ns or 0)
    return Translation(events=tuple(events), doubts=notebook.doubts(), facts=notebook.facts())


def _call_of(record: ApiRecord, calls: Mapping[tuple[int, int], Call]) -> Call:
    runtime = record.kind == ActivityKind.RUNTIME
    domain = CallbackDomain.RUNTIME_API if runtime else CallbackDomain.DRIVER_API
    known = calls.get((domain, record.cbid))
    # "reserved" is how CUPTI calls a number without a name, and classed the same: unknown.
    return known or call_named(f"reserved{record.cbid}")


def _by_launch(
    gathered: Gathered, launches: Sequence[Launch]
) -> tuple[defaultdict[Launch, list[Work]], list[Work]]:
    """What each outermost call caused, and what no recorded call explains."""
    index = index_by_correlation(launches)
    for number, outer in gathered.inside.items():
        if outer in index:
            index.setdefault(number, index[outer])
    work: defaultdict[Launch, list[Work]] = defaultdict(list)
    orphans: list[Work] = []
    for record in gathered.records:
        if isinstance(record, ApiRecord | MigrationRecord | GraphTraceRecord):
            continue
        found = next((index[n] for n in record.correlations if n in index), None)
        if found is None:
            orphans.append(record)
        else:
            work[found].append(record)
    return work, orphans


def _origin(launch: Launch, gathered: Gathered) -> Origin:
    record = launch.record
    site = next(
        (gathered.sites[n] for n in launch.correlations if gathered.sites.get(n) is not None), None
    )
    return Origin(
        api=launch.call.name,
        regions=gathered.regions.open_at(record.start, thread=record.thread),
        site=site,
        start_ns=record.start - gathered.start_ns,
        host_ns=record.end - record.start,
        zero_ns=gathered.start_ns,
    )


def _own_origin(record: Work | MigrationRecord, gathered: Gathered) -> Origin:
    """For what no call explains: the device's own time, in the thread that records."""
    return Origin(
        api="",
        regions=gathered.regions.open_at(record.start),
        site=None,
        start_ns=max(0, record.start - gathered.start_ns),
        host_ns=None,
        zero_ns=gathered.start_ns,
    )


def _migrations(gathered: Gathered) -> Iterator[MigrationRecord]:
    for record in gathered.records:
        inside = gathered.start_ns <= record.start <= gathered.end_ns
        if isinstance(record, MigrationRecord) and inside:
            yield record


def _examine_records(gathered: Gathered, notebook: Notebook) -> None:
    for record in gathered.records:
        if isinstance(record, GraphTraceRecord):
            notebook.doubt(Doubt.GRAPH_TRACE)
        elif isinstance(record, ApiRecord) and not (record.start and record.end):
            notebook.doubt(Doubt.UNTIMED, about=_call_of(record, gathered.calls).name)


def _examine_launch(
    launch: Launch,
    work: Sequence[Work],
    gathered: Gathered,
    notebook: Notebook,
    *,
    captured: bool,
) -> None:
    """Whether a call and its records explain one another, and what else a reader should know of it."""
    name, kind = launch.call.name, launch.call.kind
    if kind in _WORTH_TELLING:
        notebook.fact(kind.value, name)
    if captured or launch.record.returned:
        return
    site = _origin(launch, gathered).site
    unknown = [call for call in (launch.call, *launch.inside) if call.kind is CallClass.UNKNOWN]
    if unknown and not work:
        notebook.doubt(Doubt.UNKNOWN_CALL, about=unknown[0].name, site=site)
    if kind is CallClass.COPY and not any(isinstance(record, CopyRecord) for record in work):
        notebook.doubt(Doubt.NO_COPY_RECORD, about=name, site=site)
    if kind is CallClass.GRAPH_LAUNCH and not any(isinstance(record, _RAN) for record in work):
        notebook.doubt(Doubt.BLIND_GRAPH, about=name, site=site)
    if kind is CallClass.GRAPH_LAUNCH and not gathered.sees_host_nodes:
        notebook.fact("graph launch, host functions in it not recorded by this CUPTI", name)
    managed = kind is CallClass.MIGRATE or any(map(touches_managed, work))
    if managed and not gathered.watches_migrations:
        notebook.doubt(Doubt.MANAGED, about=name, site=site)
