"""The traffic of a case in one cell of the case table: what there was, and that there was nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.model.budget import Quantity
from harness.model.verdict import TrafficRecord
from harness.report.view.crossings import (
    COLUMNS,
    Cell,
    RegionRow,
    cells_of,
    region_name,
    region_names,
)

__all__ = ["Overview", "overview"]

_ALWAYS = (Quantity.D2H, Quantity.H2D, Quantity.SYNCS)
"""Shown even when zero and unlimited: the three questions everybody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """``rows`` are the regions that need words, those alike in one row; ``rest`` speaks for all others.

    ``first_call`` are the quantities that only the cold call had more of than a warm call may.
    """

    rows: tuple[RegionRow, ...]
    rest: str
    first_call: tuple[RegionRow, ...]


def overview(record: TrafficRecord) -> Overview:
    """Join the regions of a record that did the same under the same limits.

    What did not happen is not listed one by one, unless only some of a region's quantities are limited:
    then those are what somebody asked about.
    """
    every = [
        RegionRow(region=name, cells=_cells(record, name), ran=name in record.regions)
        for name in region_names(record.regions, record.limits)
    ]
    told = [replace(row, cells=_worth_telling(row.cells)) for row in every]
    rows = _joined(row for row in told if row.cells)
    untold = [
        cell
        for row, short in zip(every, told, strict=True)
        for cell in row.cells
        if cell not in short.cells
    ]
    return Overview(
        rows=rows,
        rest=_rest(untold, "elsewhere" if rows else "everywhere"),
        first_call=_joined(_cold_excess(record)),
    )


def _worth_telling(cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    seen = tuple(cell for cell in cells if not cell.still)
    limited = tuple(cell for cell in cells if cell.allowed)
    if not seen and (not limited or all(cell.forbidden for cell in cells)):
        return ()
    allowance = tuple(cell for cell in limited if not cell.forbidden)
    return tuple(cell for cell in cells if cell in (seen or limited) or cell in allowance)


def _rest(untold: Sequence[Cell], where: str) -> str:
    """``0 / 0 elsewhere``, without the allowed zero where not all of it is limited."""
    if not untold:
        return ""
    return f"0 / 0 {where}" if all(cell.forbidden for cell in untold) else f"0 {where}"


def _cells(record: TrafficRecord, name: str) -> tuple[Cell, ...]:
    limits = record.limits.get(name, ())
    limited = {limit.quantity for limit in limits}
    shown = tuple(each for each in COLUMNS if each in _ALWAYS or each in limited)
    return cells_of(shown, record.regions.get(name), limits)


def _cold_excess(record: TrafficRecord) -> Iterator[RegionRow]:
    for name in region_names(record.first_call, {}):
        limits = record.limits.get(name, ())
        cold = cells_of(tuple(COLUMNS), record.first_call[name], limits)
        warm = cells_of(tuple(COLUMNS), record.regions.get(name), limits)
        only_cold = tuple(
            first
            for first, later in zip(cold, warm, strict=True)
            if first.exceeded and not later.exceeded
        )
        if only_cold:
            yield RegionRow(region=name, cells=only_cold)


def _joined(rows: Iterable[RegionRow]) -> tuple[RegionRow, ...]:
    alike: dict[tuple[tuple[Cell, ...], bool], list[str]] = {}
    for row in rows:
        alike.setdefault((row.cells, row.ran), []).append(region_name(row.region))
    return tuple(
        RegionRow(region=", ".join(names), cells=cells, ran=ran)
        for (cells, ran), names in alike.items()
    )
