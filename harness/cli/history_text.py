"""A history as lines of text: a line per key, or a table of its runs with the commits that changed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.baseline.trend import Trend
from harness.model.history import HistoryRecord
from harness.report.layout import cell_width, padded
from harness.units import count_text, duration_text, percent_text, ratio_text

__all__ = ["list_lines", "show_lines", "sparkline"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN_BLOCKS = "_.-=+*%#"
"""As many steps for terminals of few signs, emptier to fuller."""

_MOST_BLOCKS = 40
"""Half a line of a terminal."""

_LEAST_P = 1e-4
"""Smaller ones say nothing more to a reader."""

_COMMIT_DIGITS = 12
"""As git abbreviates the commits of its largest repositories."""


def list_lines(trends: Sequence[Trend], *, encoding: str) -> Iterator[str]:
    """A line per trend: newest time, its change to the run before and to the first, and the course."""
    rows = [("key", "runs", "time", "to previous", "to first", "changes", "trend")]
    for trend in trends:
        newest = len(trend.values) - 1
        rows.append(
            (
                trend.key,
                f"{len(trend.records):,}",
                duration_text(trend.times_ns()[-1]),
                _change(trend.values, newest, newest - 1),
                _change(trend.values, newest, 0),
                str(len(trend.changes) or ""),
                sparkline(trend.values, encoding=encoding),
            )
        )
    yield from _aligned(rows, numbers=(1, 2, 3, 4, 5))


def show_lines(trend: Trend, *, encoding: str) -> Iterator[str]:
    """A table of the runs of one trend, each change named at the first run after it."""
    basis = "ratio to its frozen peer" if trend.relative else "time per call, without a frozen peer"
    timer = trend.records[0].speed.timer
    runs = count_text(len(trend.records), "run")
    yield f"{trend.key}  {runs}, {timer}, compared by {basis} (series {trend.comparable[:8]})"
    if trend.values[1:]:
        yield f"  trend  {sparkline(trend.values, encoding=encoding)}"
    notes = {
        change.index: _note(trend, change.before, change.after, change.p)
        for change in trend.changes
    }
    rows = [("created", "commit", "time", "ratio", "to previous", "to first", "")]
    times = trend.times_ns()
    for index, record in enumerate(trend.records):
        rows.append(
            (
                record.created,
                _commit(record),
                duration_text(times[index]),
                ratio_text(trend.values[index]) if trend.relative else "",
                _change(trend.values, index, index - 1),
                _change(trend.values, index, 0),
                notes.get(index, ""),
            )
        )
    yield from (f"  {line}" for line in _aligned(rows, numbers=(2, 3, 4, 5)))


def sparkline(values: Sequence[float], *, encoding: str) -> str:
    """The newest values as blocks from the smallest to the largest, with what the encoding can write."""
    shown = values[-_MOST_BLOCKS:]
    low, high = min(shown), max(shown)
    steps = len(_BLOCKS) - 1
    heights = [round((value - low) / (high - low) * steps) if high > low else 0 for value in shown]
    return "".join(_blocks(encoding)[height] for height in heights)


def _blocks(encoding: str) -> str:
    try:
        _BLOCKS.encode(encoding)
    except UnicodeEncodeError:
        return _PLAIN_BLOCKS
    return _BLOCKS


def _note(trend: Trend, before: float, after: float, p: float) -> str:
    change = after / before - 1
    word = "slower" if change > 0 else "faster"
    chance = f"p {p:.1g}" if p >= _LEAST_P else f"p < {_LEAST_P:g}"
    return f"<- {word} from here on: {percent_text(change, signed=True)} ({chance})"


def _commit(record: HistoryRecord) -> str:
    commit = (record.commit or "no commit")[:_COMMIT_DIGITS]
    return f"{commit}+" if record.dirty else commit


def _change(values: Sequence[float], now: int, then: int) -> str:
    """The change from an earlier value; nothing where there is none."""
    if not 0 <= then < now:
        return ""
    change = round(values[now] / values[then] - 1, 3)
    return percent_text(change + 0.0, signed=True)  # no minus before a zero


def _aligned(rows: Sequence[tuple[str, ...]], *, numbers: Sequence[int]) -> Iterator[str]:
    """Columns as wide as their widest cell, numbers to the right; empty ones are left out."""
    kept = [index for index in range(len(rows[0])) if any(row[index] for row in rows[1:])]
    widths = {index: max(cell_width(row[index]) for row in rows) for index in kept}
    for row in rows:
        cells = [
            row[index].rjust(widths[index])
            if index in numbers
            else padded(row[index], widths[index])
            for index in kept
        ]
        yield "  ".join(cells).rstrip()
