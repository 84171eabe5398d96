"""What crossed the boundary, as rows of observed and allowed per region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from harness.model.budget import WHOLE_RUN, Limit, Quantity
from harness.model.event import Direction
from harness.model.outcome import Outcome
from harness.model.trace import TrafficCounts
from harness.model.traffic import TrafficLine
from harness.model.verdict import TrafficRecord
from harness.report.lines import JoinedLine, joined_lines
from harness.report.view.mark import Mark
from harness.report.wording import MARKS, shortened, site_text
from harness.units import bytes_text, count_text

__all__ = [
    "COLUMNS",
    "Cell",
    "LineRow",
    "RecordView",
    "RegionRow",
    "cells_of",
    "counts_text",
    "record_view",
    "region_name",
    "region_names",
    "runs_text",
]

COLUMNS: Mapping[Quantity, str] = {
    Quantity.D2H: "D2H",
    Quantity.H2D: "H2D",
    Quantity.D2H_BYTES: "D2H bytes",
    Quantity.H2D_BYTES: "H2D bytes",
    Quantity.SYNCS: "syncs",
    Quantity.BLOCKING_COPIES: "blocking copies",
}
"""The columns of every traffic table, in order."""

_UNCOUNTED = "-"
_ZERO = frozenset({"0", "0 B"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One quantity of one region; ``allowed`` is empty without a limit, ``limited`` is the pair as text."""

    label: str
    observed: str
    allowed: str
    exceeded: bool

    @property
    def limited(self) -> str:
        """``1 / 0`` observed over allowed, or what was observed where nothing limits it."""
        return f"{self.observed} / {self.allowed}" if self.allowed else self.observed

    @property
    def still(self) -> bool:
        """Whether it was counted and nothing was there."""
        return self.observed in _ZERO

    @property
    def forbidden(self) -> bool:
        """Whether nothing may be there."""
        return self.allowed in _ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRow:
    """Quantities of one region in the order of ``COLUMNS``: all of them, or those worth an overview.

    A region that has a budget and never ``ran`` has no counts.
    """

    region: str
    cells: tuple[Cell, ...]
    ran: bool = True

    @property
    def exceeded(self) -> bool:
        """Whether any limit of this region is exceeded."""
        return any(cell.exceeded for cell in self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRow:
    """One numbered line of traffic: what happened how often, in which region, at which line of code."""

    text: str
    region: str
    site: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """The traffic of one implementation: a recorded call, the cold call before it, and the lines of code.

    ``counted`` says what one set of counts is of. ``first_rows`` is empty where the cold call showed the same
    counts as the warm ones, or was not recorded (no ``first_known``). ``total`` sums up a recorded call in a
    few words, ``first_total`` the cold one.
    """

    label: str
    mark: Mark
    watched: str
    counted: str
    rows: tuple[RegionRow, ...]
    first_known: bool
    first_rows: tuple[RegionRow, ...]
    total: str
    first_total: str
    lines: tuple[LineRow, ...]

    @property
    def still(self) -> bool:
        """Whether nothing at all was there, in any region and also in the cold call."""
        return not self.first_rows and all(
            row.ran and cell.still for row in self.rows for cell in row.cells
        )

    @property
    def without_lines(self) -> str:
        """What an empty ``lines`` means."""
        seen = any(not cell.still for row in self.rows if row.ran for cell in row.cells)
        return "no line of code is known for these" if seen else "no copy, no wait"


def record_view(record: TrafficRecord, *, relative_to: Path | None) -> RecordView:
    """Rows for one record, source lines relative to ``relative_to``."""
    rows = _rows(record.regions, record.limits)
    differs = record.first_call and record.first_call != record.regions
    first_rows = _rows(record.first_call, record.limits) if differs else ()
    return RecordView(
        label=shortened(record.label),
        mark=_mark(rows, record.limits),
        watched=_watched(record),
        counted=runs_text(record),
        rows=rows,
        first_known=bool(record.first_call),
        first_rows=() if first_rows == rows else first_rows,
        total=_total(record.regions),
        first_total=_total(record.first_call),
        lines=line_rows(record.lines, relative_to=relative_to),
    )


def runs_text(record: TrafficRecord) -> str:
    """What the counts of a record are of: a test body is recorded once, and no call before it was cold."""
    if record.first_call:
        return "per warm call"
    return "in the one recorded run" if record.runs == 1 else "per recorded run"


def _watched(record: TrafficRecord) -> str:
    runs = count_text(record.runs, "warm call" if record.first_call else "recorded run")
    probe = f", watched by {shortened(record.probe)}" if record.probe != record.device else ""
    return f"{record.evidence.value}: {runs} on {shortened(record.device)}{probe}"


def _mark(rows: tuple[RegionRow, ...], limits: Mapping[str, tuple[Limit, ...]]) -> Mark:
    """Against its budget alone; other checks may still have something to say."""
    if any(row.exceeded for row in rows):
        return Mark(MARKS[Outcome.FAILED], "over budget", Outcome.FAILED.value)
    if not any(limits.values()):
        return Mark(MARKS[Outcome.SKIPPED], "no budget", Outcome.SKIPPED.value)
    if any(cell.allowed for row in rows if not row.ran for cell in row.cells):
        return Mark(MARKS[Outcome.INCONCLUSIVE], "a region never ran", Outcome.INCONCLUSIVE.value)
    return Mark(MARKS[Outcome.PASSED], "within budget", Outcome.PASSED.value)


def line_rows(lines: tuple[TrafficLine, ...], *, relative_to: Path | None) -> tuple[LineRow, ...]:
    """Traffic lines in words, a copy and its wait on one; copies within the device come last."""
    return tuple(
        LineRow(
            text=line.text,
            region=shortened(" > ".join(line.regions)),
            site=site_text(line.site, relative_to=relative_to),
        )
        for line in sorted(joined_lines(lines), key=_stays_on_the_device)
    )


def _stays_on_the_device(line: JoinedLine) -> bool:
    within = (Direction.DEVICE_TO_DEVICE, Direction.PEER_TO_PEER)
    return line.copy is not None and line.copy.direction in within and line.wait is None


def counts_text(counts: TrafficCounts) -> str:
    """``1 D2H (4 B), 0 H2D, 1 sync``: the traffic of one call in a few words."""
    return ", ".join(
        (
            _copies_text(counts.d2h, "D2H", counts.d2h_bytes),
            _copies_text(counts.h2d, "H2D", counts.h2d_bytes),
            count_text(counts.syncs, "sync"),
        )
    )


def _copies_text(count: int, direction: str, size_bytes: int) -> str:
    return f"{count:,} {direction} ({bytes_text(size_bytes)})" if count else f"0 {direction}"


def _total(regions: Mapping[str, TrafficCounts]) -> str:
    whole = regions.get(WHOLE_RUN)
    return counts_text(whole) if whole is not None else ""


def _rows(
    regions: Mapping[str, TrafficCounts], limits: Mapping[str, tuple[Limit, ...]]
) -> tuple[RegionRow, ...]:
    return tuple(
        RegionRow(
            region=region_name(name),
            cells=cells_of(tuple(COLUMNS), regions.get(name), limits.get(name, ())),
            ran=name in regions,
        )
        for name in region_names(regions, limits)
    )


def region_names(
    regions: Mapping[str, TrafficCounts], limits: Mapping[str, tuple[Limit, ...]]
) -> list[str]:
    """Regions in the order they ran, those with a budget that never ran after them, the whole call last."""
    names = [name for name in dict.fromkeys((*regions, *limits)) if name != WHOLE_RUN]
    return [*names, WHOLE_RUN] if WHOLE_RUN in regions or WHOLE_RUN in limits else names


def cells_of(
    quantities: tuple[Quantity, ...], counts: TrafficCounts | None, limits: tuple[Limit, ...]
) -> tuple[Cell, ...]:
    """One cell per quantity; without counts the region never ran, and nothing is known of it."""
    at_most = {limit.quantity: limit.at_most for limit in limits}
    return tuple(
        _cell(
            quantity,
            None if counts is None else getattr(counts, quantity.value),
            at_most.get(quantity),
        )
        for quantity in quantities
    )


@lru_cache(maxsize=1024)  # most cells of most reports are the same few zeros
def _cell(quantity: Quantity, observed: int | None, at_most: int | None) -> Cell:
    return Cell(
        label=COLUMNS[quantity],
        observed=_UNCOUNTED if observed is None else _number(quantity, observed),
        allowed="" if at_most is None else _number(quantity, at_most),
        exceeded=observed is not None and at_most is not None and observed > at_most,
    )


def _number(quantity: Quantity, count: int) -> str:
    in_bytes = quantity in (Quantity.D2H_BYTES, Quantity.H2D_BYTES)
    return bytes_text(count) if in_bytes else f"{count:,}"


def region_name(region: str) -> str:
    """The region as tables call it."""
    return "whole call" if region == WHOLE_RUN else shortened(region)
