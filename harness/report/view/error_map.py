"""Where an output stands against its tolerance as the page draws it: a grid on a log scale, and all of it in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.model.error_map import ERROR_PROBABILITIES, ErrorMap
from harness.report.wording import shortened
from harness.units import count_text, percent_text

__all__ = ["ErrorMapView", "Level", "Picture", "error_map_views"]

_UP_TO = (0.01, 0.1, 0.5, 1.0, 10.0, math.inf)
"""Where one level of error over allowed ends and the next begins; NaN is the level above all."""

_WORDS = (
    "up to 0.01 of the allowed error",
    "up to 0.1",
    "up to 0.5",
    "up to all of it",
    "wrong, up to 10 times the allowed error",
    "wrong by more",
    "NaN on one side only",
)
_WRONG, _NOT_A_NUMBER = 4, 6

_ROW_HEIGHT, _LEAST_HEIGHT = 13, 26
"""Pixels: a block is then about as high as it is wide on a page of two columns, and a single row can be seen."""

_TOLD = (0.5, 0.9, 0.99)
"""The quantiles told in words; the largest is the worst entry."""


@dataclass(frozen=True, slots=True)
class Level:
    """The blocks of one level as an SVG path over the grid; ``hatch`` crosses out those that are wrong."""

    number: int
    path: str
    hatch: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A grid of ``rows`` and ``columns`` blocks, ``height`` pixels high; ``worst`` is a place in percent from the top left.

    ``first_row`` to ``last_column`` label the edges with the indices of the real output.
    """

    rows: int
    columns: int
    height: int
    levels: tuple[Level, ...]
    worst: tuple[float, float]
    first_row: str
    last_row: str
    first_column: str
    last_column: str
    text: str
    axes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMapView:
    """One output: ``style`` names its outcome, the texts say what the picture shows and name the worst entry."""

    output: str
    style: str
    sign: str
    about: str
    summary: str
    worst: str
    quantiles: str
    picture: Picture | None


def error_map_views(maps: Iterable[ErrorMap]) -> tuple[ErrorMapView, ...]:
    """Every map, those with something wrong first; one without two blocks to compare is told and not drawn."""
    views = [_view(each) for each in maps]
    return tuple(sorted(views, key=lambda view: view.style == "passed"))


def _view(found: ErrorMap) -> ErrorMapView:
    size = math.prod(found.shape)
    return ErrorMapView(
        output=shortened(found.output),
        style="failed" if found.wrong else "passed",
        sign="✗" if found.wrong else "✓",
        about=f"{_shape_text(found.shape)} {shortened(found.dtype)}".strip(),
        summary=_summary(found, size),
        worst=_worst_text(found) if size else "",
        quantiles=_quantiles_text(found.quantiles) if size > 1 else "",
        picture=_picture(found),
    )


def _summary(found: ErrorMap, size: int) -> str:
    if not size:
        return "no entries"
    entries = count_text(size, "entry", plural="entries")
    if not found.wrong:
        return f"{entries} within the tolerance"
    beside = ""
    if found.not_finite:
        beside = f", {found.not_finite:,} of them NaN or infinite where the other side is not"
    return f"{found.wrong:,} of {entries} wrong{beside}"


def _worst_text(found: ErrorMap) -> str:
    """``worst at [3, 17]: got 0.25, expected 0.5; error 0.25, 12 times the allowed 0.0208``."""
    allowed = found.absolute + found.relative * abs(found.expected)
    error = abs(found.got - found.expected)
    where = (
        f"worst at [{', '.join(f'{at:,}' for at in found.worst_index)}]: "
        if found.worst_index
        else ""
    )
    figures = f"{where}got {found.got:.9g}, expected {found.expected:.9g}"
    if not (math.isfinite(found.got) and math.isfinite(found.expected)):
        return figures
    if not allowed:
        return f"{figures}; error {error:.3g}, and nothing is allowed"
    return f"{figures}; error {error:.3g}, {_times(found.worst)} the allowed {allowed:.3g}"


def _quantiles_text(quantiles: Sequence[float]) -> str:
    """``half of the entries are within 0.016 times the allowed error, 99 % within 0.047 times``."""
    known = dict(zip(ERROR_PROBABILITIES, quantiles, strict=False))
    told = []
    for share in _TOLD:
        quotient = known.get(share, math.nan)
        if not math.isfinite(quotient):
            told += (
                [f"at least {_percent(1 - share)} are beyond any multiple"]
                if share in known
                else []
            )
            break
        within = f"within {_times(quotient)}" if quotient else "without error"
        told.append(f"{_percent(share)} {within}" if told else f"half of the entries are {within}")
        if len(told) == 1 and quotient:
            told[0] += " the allowed error"
    return ", ".join(told)


def _percent(share: float) -> str:
    return percent_text(share).replace(".0 %", " %")


def _times(quotient: float) -> str:
    return "infinitely many times" if math.isinf(quotient) else f"{quotient:,.3g} times"


def _picture(found: ErrorMap) -> Picture | None:
    rows, columns = len(found.grid), len(found.grid[0]) if found.grid else 0
    drawable = columns and all(len(row) == columns for row in found.grid) and min(found.block) > 0
    if not drawable or rows * columns < 2:
        return None
    last = found.shape[-1] if found.shape else 1
    flat_rows = math.prod(found.shape[:-1])
    at = _flat(found.worst_index, found.shape)
    row, column = divmod(at, last) if last else (0, 0)
    levels = tuple(_levels(found.grid))
    return Picture(
        rows=rows,
        columns=columns,
        height=max(_LEAST_HEIGHT, _ROW_HEIGHT * rows),
        levels=levels,
        worst=(
            round(100 * (column // found.block[1] + 0.5) / columns, 1),
            round(100 * (row // found.block[0] + 0.5) / rows, 1),
        ),
        first_row="0" if rows > 1 else "",
        last_row=f"{flat_rows - 1:,}" if rows > 1 else "",
        first_column="0" if columns > 1 else "",
        last_column=f"{last - 1:,}" if columns > 1 else "",
        text=f"error over allowed, {rows} by {columns} blocks: {_counted(found.grid)}",
        axes=_axes_text(found, flat_rows, last),
    )


def _axes_text(found: ErrorMap, rows: int, columns: int) -> str:
    height, width = found.block
    stands = f"a block is the worst of {height:,} x {width:,}"
    each = f"{stands} entries" if height * width > 1 else "a block is an entry"
    if len(found.shape) < 2:
        return f"{columns:,} entries from left to right, {each}"
    flattened = " (all axes but the last, flattened)" if len(found.shape) > 2 else ""
    return f"{rows:,} rows down{flattened}, {columns:,} columns across, {each}"


def _levels(grid: Sequence[Sequence[float]]) -> Iterable[Level]:
    """Neighbours of one level in a row are one rectangle: a map without news is a few of them."""
    paths: dict[int, list[str]] = {}
    hatches: dict[int, list[str]] = {}
    for y, row in enumerate(grid):
        x = 0
        while x < len(row):
            level, start = _level(row[x]), x
            while x < len(row) and _level(row[x]) == level:
                x += 1
            paths.setdefault(level, []).append(f"M{start} {y}h{x - start}v1h{start - x}z")
            if level >= _WRONG:
                hatches.setdefault(level, []).extend(_hatch(at, y, level) for at in range(start, x))
    for level in sorted(paths):
        yield Level(level, "".join(paths[level]), "".join(hatches.get(level, ())), _WORDS[level])


def _hatch(x: int, y: int, level: int) -> str:
    """One stroke through a wrong block, two where it is more than ten times, a cross where it is NaN."""
    if level == _WRONG:
        return f"M{x} {y + 1}l1-1"
    if level == _NOT_A_NUMBER:
        return f"M{x} {y}l1 1m-1 0l1-1"
    return f"M{x} {y + 0.6}l.6-.6m.4.4l-.6.6"


def _level(quotient: float) -> int:
    if math.isnan(quotient):
        return _NOT_A_NUMBER
    return next(level for level, end in enumerate(_UP_TO) if quotient <= end)


def _counted(grid: Sequence[Sequence[float]]) -> str:
    levels = [_level(quotient) for row in grid for quotient in row]
    return ", ".join(f"{levels.count(level)} {_WORDS[level]}" for level in sorted(set(levels)))


def _flat(index: Sequence[int], shape: Sequence[int]) -> int:
    flat = 0
    for at, size in zip(index, shape, strict=False):
        flat = flat * size + at
    return flat


def _shape_text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) if shape else "one number,"
