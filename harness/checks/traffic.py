"""Is a budget kept: traces of repeated runs against the limits of each region."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.model.budget import WHOLE_RUN, Budget, Limit, Quantity, Violation
from harness.model.event import Event, EventType, Sync, Transfer
from harness.model.outcome import Outcome
from harness.model.trace import Trace, TrafficCounts
from harness.model.traffic import traffic_lines
from harness.model.verdict import CheckResult
from harness.units import count_text

__all__ = ["check_traffic", "region_counts"]


def check_traffic(
    traces: Sequence[Trace], budget: Budget, *, control: CheckResult | None
) -> CheckResult:
    """Hold the traces of repeated warm runs against ``budget``.

    An excess that was seen fails, however poor the view. Everything else that keeps the probe from being
    sure is inconclusive: a positive control that was not seen (or none at all), a quantity the probe
    cannot observe, dropped records, a region that never ran, counts that differ between the runs, a
    budget without limits. Cost: linear in the events.
    """
    if not traces:
        return _result(Outcome.INCONCLUSIVE, "no run was observed", "", ())
    crossings = [_crossings(trace) for trace in traces]
    evidence = _evidence(traces, control, same=len(set(crossings)) == 1)
    violations = _without_repetition(_worst_violations(traces, budget))
    if violations:
        return _result(Outcome.FAILED, _excess(violations), evidence, (), violations=violations)
    doubts = tuple(_doubts(traces, budget, control, same=len(set(crossings)) == 1))
    if doubts:
        return _result(Outcome.INCONCLUSIVE, doubts[0], evidence, doubts[1:])
    return _result(Outcome.PASSED, _kept(budget), evidence, ())


def region_counts(trace: Trace) -> dict[str, TrafficCounts]:
    """Counts of each region entered and, under ``WHOLE_RUN``, of the whole trace."""
    counts = {region: trace.within(region).counts() for region in trace.entered}
    return {WHOLE_RUN: trace.counts(), **counts}


def _evidence(traces: Sequence[Trace], control: CheckResult | None, *, same: bool) -> str:
    """What a traffic verdict rests on: level, probe, controls, dropped records, runs."""
    first = traces[0]
    dropped = sum(trace.dropped for trace in traces)
    adjective = "" if len(traces) == 1 else "identical " if same else "differing "
    runs = count_text(len(traces), f"{adjective}run")
    controls = control.evidence if control is not None else "no positive control"
    return f"{first.evidence.value} ({first.probe}, {controls}, {dropped:,} dropped, {runs})"


@dataclass(frozen=True, slots=True)
class _Crossings:
    """The part of the counts that must repeat exactly: what crosses and what waits."""

    region: str
    d2h: int
    h2d: int
    d2h_bytes: int
    h2d_bytes: int
    syncs: int
    blocking_copies: int


def _crossings(trace: Trace) -> tuple[_Crossings, ...]:
    return tuple(
        _Crossings(
            region=region,
            d2h=counts.d2h,
            h2d=counts.h2d,
            d2h_bytes=counts.d2h_bytes,
            h2d_bytes=counts.h2d_bytes,
            syncs=counts.syncs,
            blocking_copies=counts.blocking_copies,
        )
        for region, counts in sorted(region_counts(trace).items())
    )


def _worst_violations(traces: Sequence[Trace], budget: Budget) -> tuple[Violation, ...]:
    """Per limit exceeded, the run that exceeded it most."""
    # Kernels are most of a trace and never count, so they are left out once instead of once per limit.
    crossing = [
        replace(
            trace,
            events=tuple(event for event in trace.events if isinstance(event, Transfer | Sync)),
        )
        for trace in traces
    ]
    worst = []
    for region, limit in _limits(budget):
        found = [_violation(_part(trace, region), region, limit) for trace in crossing]
        exceeded = [violation for violation in found if violation is not None]
        if exceeded:
            worst.append(max(exceeded, key=lambda violation: violation.observed))
    return tuple(worst)


def _without_repetition(violations: tuple[Violation, ...]) -> tuple[Violation, ...]:
    """Drop what another violation already says of the same copies and waits.

    The whole run repeats its regions, and the size or blocking of a copy that was not allowed at all says
    nothing more.
    """
    return tuple(
        violation
        for violation in violations
        if not any(_says_more(other, violation) for other in violations if other is not violation)
    )


_IMPLIED = {
    Quantity.D2H_BYTES: {Quantity.D2H},
    Quantity.H2D_BYTES: {Quantity.H2D},
    Quantity.BLOCKING_COPIES: {Quantity.D2H, Quantity.H2D},
}


def _says_more(other: Violation, violation: Violation) -> bool:
    if not set(violation.lines) <= set(other.lines):
        return False
    if other.region == violation.region:
        return other.limit.quantity in _IMPLIED.get(violation.limit.quantity, ())
    same = other.limit.quantity is violation.limit.quantity
    implied = other.limit.quantity in _IMPLIED.get(violation.limit.quantity, ())
    return violation.region == WHOLE_RUN and (same or implied)


def _violation(part: Trace, region: str, limit: Limit) -> Violation | None:
    guilty: list[Event] = [event for event in part.events if limit.quantity.counts(event)]
    observed = sum(limit.quantity.counts(event) for event in guilty)
    if observed <= limit.at_most:
        return None
    lines = traffic_lines(_with_their_waits(part.events, guilty))
    return Violation(region=region, limit=limit, observed=observed, lines=lines)


def _with_their_waits(events: Sequence[Event], guilty: Sequence[Event]) -> list[Event]:
    """The guilty events and the waits of the same lines of code: what a reader must see to find the cause."""
    sites = {event.site for event in guilty if isinstance(event, Transfer) and event.site}
    counted = {id(event) for event in guilty}
    return [
        event
        for event in events
        if id(event) in counted or (isinstance(event, Sync) and event.site in sites)
    ]


def _doubts(
    traces: Sequence[Trace], budget: Budget, control: CheckResult | None, *, same: bool
) -> Iterator[str]:
    limits = list(_limits(budget))
    if not limits:
        yield "the budget has no limit, so nothing was checked"
    if control is None:
        yield "no positive control was run, so a zero may mean that the probe saw nothing"
    elif control.outcome is not Outcome.PASSED:
        yield control.summary
    for region in budget.regions:
        if region != WHOLE_RUN and any(not trace.entered.get(region) for trace in traces):
            yield f"region {region!r} has a budget but was never entered{_entered(traces, region)}"
    observes = frozenset.intersection(*(trace.observes for trace in traces))
    for quantity in {limit.quantity: None for _, limit in limits}:
        if quantity.requires not in observes:
            kind = quantity.requires.value
            yield f"{traces[0].probe} cannot see {kind} events, so {quantity.value} is unknown"
    dropped = sum(trace.dropped for trace in traces)
    if dropped:
        yield f"{traces[0].probe} lost {count_text(dropped, 'record')}, so counts are lower bounds"
    yield from dict.fromkeys(doubt for trace in traces for doubt in trace.doubts)
    if not same:
        yield f"counts differ between {len(traces)} runs of the same call: {_spread(traces)}"
    yield from _idle(traces, budget)


def _entered(traces: Sequence[Trace], region: str) -> str:
    """Which regions were entered instead, the one most alike first: mostly it is a slip of the pen."""
    entered = list(dict.fromkeys(name for trace in traces for name in trace.entered))
    close = difflib.get_close_matches(region, entered, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return (
        f"; entered were {', '.join(map(repr, entered))}" if entered else "; no region was entered"
    )


def _idle(traces: Sequence[Trace], budget: Budget) -> Iterator[str]:
    """Regions under a limit in which the device did nothing: zero copies of nothing prove nothing."""
    if not all(EventType.KERNEL in trace.observes for trace in traces):
        return
    for region in dict.fromkeys(region for region, _ in _limits(budget)):
        entered = region == WHOLE_RUN or all(trace.entered.get(region) for trace in traces)
        if entered and any(not _part(trace, region).events for trace in traces):
            where = "during the run" if region == WHOLE_RUN else f"within {region!r}"
            yield f"nothing ran on the device {where}: {traces[0].probe} saw no kernel, copy or wait"


def _spread(traces: Sequence[Trace]) -> str:
    counts = [trace.counts() for trace in traces]
    fields = ("d2h", "h2d", "d2h_bytes", "h2d_bytes", "syncs", "blocking_copies")
    rows = {name: [getattr(count, name) for count in counts] for name in fields}
    moving = [f"{name} {min(row)} to {max(row)}" for name, row in rows.items() if len(set(row)) > 1]
    return ", ".join(moving) or "the same totals in different regions"


def _limits(budget: Budget) -> Iterator[tuple[str, Limit]]:
    for region, limits in budget.regions.items():
        for limit in limits:
            yield region, limit


def _part(trace: Trace, region: str) -> Trace:
    return trace if region == WHOLE_RUN else trace.within(region)


def _excess(violations: Sequence[Violation]) -> str:
    """One clause per region and reason: ``1 D2H, 1 sync within 'forward', 0 D2H, 0 syncs allowed (...)``."""
    blocks: dict[tuple[str, str], list[Violation]] = {}
    for violation in violations:
        blocks.setdefault((violation.region, violation.limit.because), []).append(violation)
    clauses = []
    for (region, because), block in blocks.items():
        seen = [each.limit.quantity.amount_text(each.observed) for each in block]
        allowed = [each.limit.quantity.amount_text(each.limit.at_most) for each in block]
        clauses.append(
            f"{', '.join(seen)} within {region!r}, {', '.join(allowed)} allowed ({because})"
        )
    return "; ".join(clauses)


def _kept(budget: Budget) -> str:
    parts = []
    for region, limits in budget.regions.items():
        kept = ", ".join(f"{limit.quantity.value} <= {limit.at_most:,}" for limit in limits)
        if kept:
            parts.append(f"{region}: {kept}")
    return "; ".join(parts)


def _result(
    outcome: Outcome,
    summary: str,
    evidence: str,
    details: tuple[str, ...],
    *,
    violations: tuple[Violation, ...] = (),
) -> CheckResult:
    next_step = {
        Outcome.FAILED: "remove the copy or wait at the line shown, or budget it with its reason",
        Outcome.INCONCLUSIVE: "see `harness doctor` for what can be observed on this machine",
    }.get(outcome, "")
    return CheckResult(
        check="traffic",
        outcome=outcome,
        summary=summary,
        evidence=evidence,
        violations=violations,
        details=details,
        next_step=next_step,
    )
