"""The history of one key as a series of numbers, and where it changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.model.history import HistoryRecord
from harness.model.measurement import SPEED_PROBABILITIES
from harness.stats.changepoints import ChangePoint, change_points

__all__ = ["Trend", "trend_of", "trends"]

_MEDIAN = SPEED_PROBABILITIES.index(0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Records of one key that may be compared, oldest first.

    ``values`` are their medians, of the ratio to the frozen peer where every record has one (``relative``), else
    of the nanoseconds per call. ``changes`` are indices into them.
    """

    key: str
    comparable: str
    records: tuple[HistoryRecord, ...]
    relative: bool
    values: tuple[float, ...]
    changes: tuple[ChangePoint, ...]

    def times_ns(self) -> tuple[float, ...]:
        """The median nanoseconds per call of every record."""
        return tuple(record.speed.call_ns[_MEDIAN] for record in self.records)


def trends(records: Iterable[HistoryRecord], *, last: int | None = None) -> tuple[Trend, ...]:
    """One trend per key and ``comparable``, by key and then by age; of each, the ``last`` records alone.

    Raw times follow the machine as much as the code; ratios to a frozen peer follow the code.
    """
    series: dict[tuple[str, str], list[HistoryRecord]] = {}
    for record in records:
        series.setdefault((record.key, record.comparable), []).append(record)
    in_order = sorted(series.values(), key=lambda found: found[0].key)
    return tuple(trend_of(found if last is None else found[-last:]) for found in in_order)


def trend_of(records: Sequence[HistoryRecord]) -> Trend:
    """The trend of at least one record, all of which may be compared, in their order."""
    relative = all(record.speed.relative for record in records)
    values = tuple(
        (record.speed.relative if relative else record.speed.call_ns)[_MEDIAN] for record in records
    )
    return Trend(
        key=records[0].key,
        comparable=records[0].comparable,
        records=tuple(records),
        relative=relative,
        values=values,
        changes=tuple(change_points(values)),
    )
