"""What crossed the boundary, as rows of observed and allowed per region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.model.budget import WHOLE_RUN, Limit, Quantity
from harness.model.event import Direction
from harness.model.outcome import Outcome
from harness.model.trace import TrafficCounts
from harness.model.traffic import TrafficLine
from harness.model.verdict import TrafficRecord
from harness.report.lines import JoinedLine, joined_lines
from harness.report.view.mark import Mark
from harness.report.wording import MARKS, shortened, site_text, visible
from harness.units import bytes_text, count_text

__all__ = [
    "COLUMNS",
    "Cell",
    "LimitRow",
    "LineRow",
    "RecordView",
    "RegionRow",
    "counts_text",
    "limit_rows",
    "record_view",
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

_ALWAYS_BRIEF = (Quantity.D2H, Quantity.H2D, Quantity.SYNCS)
"""Shown in the overview even when zero and unlimited: the three questions everybody asks."""

_NEVER_RAN = "never ran"
_NOTHING = frozenset({"0", "0 B", _NEVER_RAN})


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRow:
    """Quantities of one region in the order of ``COLUMNS``: all of them, or those worth an overview."""

    region: str
    cells: tuple[Cell, ...]

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
class LimitRow:
    """One limit with its reason."""

    region: str
    limit: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """The traffic of one implementation: a warm call, the cold call before it, and the lines of code.

    ``overview`` has the regions that did the same under the same limits in one row. ``first_rows`` is empty where the cold call showed the same counts as the warm ones. ``total`` sums up
    a warm call in a few words, ``first_total`` the cold one.
    """

    label: str
    mark: Mark
    watched: str
    rows: tuple[RegionRow, ...]
    overview: tuple[RegionRow, ...]
    first_rows: tuple[RegionRow, ...]
    total: str
    first_total: str
    lines: tuple[LineRow, ...]

    @property
    def without_lines(self) -> str:
        """What an empty ``lines`` means."""
        still = all(cell.observed in _NOTHING for row in self.rows for cell in row.cells)
        return "no copy, no wait" if still else "no line of code is known for these"


def record_view(record: TrafficRecord, *, relative_to: Path | None) -> RecordView:
    """Rows for one record, source lines relative to ``relative_to``."""
    rows = _rows(record.regions, record.limits)
    same = all(record.regions.get(region) == counts for region, counts in record.first_call.items())
    runs = count_text(record.runs, "warm call")
    probe = f", watched by {shortened(record.probe)}" if record.probe != record.device else ""
    return RecordView(
        label=shortened(record.label),
        mark=_mark(rows, record.limits),
        watched=f"{record.evidence.value}: {runs} on {shortened(record.device)}{probe}",
        rows=rows,
        overview=_overview(record.regions, record.limits),
        first_rows=() if same else _rows(record.first_call, record.limits),
        total=_total(record.regions),
        first_total=_total(record.first_call),
        lines=line_rows(record.lines, relative_to=relative_to),
    )


def _mark(rows: tuple[RegionRow, ...], limits: Mapping[str, tuple[Limit, ...]]) -> Mark:
    """Against its budget alone; other checks may still have something to say."""
    if any(row.exceeded for row in rows):
        return Mark(MARKS[Outcome.FAILED], "over budget", Outcome.FAILED.value)
    if not any(limits.values()):
        return Mark(MARKS[Outcome.SKIPPED], "no budget", Outcome.SKIPPED.value)
    if any(cell.allowed and cell.observed == _NEVER_RAN for row in rows for cell in row.cells):
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


def limit_rows(limits: Mapping[str, tuple[Limit, ...]]) -> tuple[LimitRow, ...]:
    """Every limit of a budget with its reason."""
    return tuple(
        LimitRow(
            region=_region(region),
            limit=f"{COLUMNS[limit.quantity]} at most {_number(limit.quantity, limit.at_most)}",
            because=visible(limit.because),
        )
        for region, entries in limits.items()
        for limit in entries
    )


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
            region=_region(name),
            cells=_cells(tuple(COLUMNS), regions.get(name), limits.get(name, ())),
        )
        for name in _names(regions, limits)
    )


def _names(
    regions: Mapping[str, TrafficCounts], limits: Mapping[str, tuple[Limit, ...]]
) -> list[str]:
    """Regions in the order they ran, those with a budget that never ran after them, the whole call last."""
    names = [name for name in dict.fromkeys((*regions, *limits)) if name != WHOLE_RUN]
    return [*names, WHOLE_RUN] if WHOLE_RUN in regions or WHOLE_RUN in limits else names


def _overview(
    regions: Mapping[str, TrafficCounts], limits: Mapping[str, tuple[Limit, ...]]
) -> tuple[RegionRow, ...]:
    """Copies, waits and whatever else is limited; regions that look the same share a row."""
    alike: dict[tuple[Cell, ...], list[str]] = {}
    for name in _names(regions, limits):
        limited = {limit.quantity for limit in limits.get(name, ())}
        shown = tuple(each for each in COLUMNS if each in _ALWAYS_BRIEF or each in limited)
        cells = _cells(shown, regions.get(name), limits.get(name, ()))
        alike.setdefault(cells, []).append(_region(name))
    return tuple(RegionRow(region=", ".join(names), cells=cells) for cells, names in alike.items())


def _cells(
    quantities: tuple[Quantity, ...], counts: TrafficCounts | None, limits: tuple[Limit, ...]
) -> tuple[Cell, ...]:
    at_most = {limit.quantity: limit.at_most for limit in limits}
    return tuple(_cell(quantity, counts, at_most.get(quantity)) for quantity in quantities)


def _cell(quantity: Quantity, counts: TrafficCounts | None, at_most: int | None) -> Cell:
    allowed = "" if at_most is None else _number(quantity, at_most)
    if counts is None:
        return Cell(label=COLUMNS[quantity], observed=_NEVER_RAN, allowed=allowed, exceeded=False)
    observed = getattr(counts, quantity.value)
    return Cell(
        label=COLUMNS[quantity],
        observed=_number(quantity, observed),
        allowed=allowed,
        exceeded=at_most is not None and observed > at_most,
    )


def _number(quantity: Quantity, count: int) -> str:
    in_bytes = quantity in (Quantity.D2H_BYTES, Quantity.H2D_BYTES)
    return bytes_text(count) if in_bytes else f"{count:,}"


def _region(region: str) -> str:
    return "whole call" if region == WHOLE_RUN else shortened(region)
