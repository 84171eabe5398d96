"""What the case table is sorted by: per column one number of each case."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from harness.model.budget import WHOLE_RUN
from harness.model.measurement import Rates
from harness.model.verdict import TrafficRecord, Verdict
from harness.report.view.brief import worst_error

__all__ = ["sort_figures"]

_BEYOND_ALL = 1e300
"""Stands for infinity, which no attribute of a page can be read back from."""


def sort_figures(verdict: Verdict, rates: Rates | None) -> Mapping[str, str]:
    """By column the figure of a case: worst error over allowed, copies and waits of a call, ns, ratio, bytes per second.

    A column without a figure is missing: such a case comes last whichever way the column is sorted.
    """
    change = next((check.change for check in verdict.checks if check.change is not None), None)
    figures = {
        "values": _error(verdict),
        "traffic": _crossings(verdict.traffic),
        "baseline": change.baseline_ns if change is not None else None,
        "now": verdict.call_time.value if verdict.call_time is not None else None,
        "ratio": change.ratio.value if change is not None else None,
        "throughput": _work(rates),
    }
    figures["call time"] = figures["now"]
    return {
        column: f"{min(figure, _BEYOND_ALL):.5g}"
        for column, figure in figures.items()
        if figure is not None and not math.isnan(figure)
    }


def _error(verdict: Verdict) -> float | None:
    """The worst of the error maps, else what the summaries say."""
    mapped = [math.inf if math.isnan(each.worst) else each.worst for each in verdict.errors]
    return max(mapped, default=None) if mapped else _told(check.summary for check in verdict.checks)


def _told(summaries: Iterable[str]) -> float | None:
    return max(
        (found for text in summaries if (found := worst_error(text)) is not None), default=None
    )


def _crossings(record: TrafficRecord | None) -> float | None:
    if record is None or not record.regions:
        return None
    whole = record.regions.get(WHOLE_RUN)
    counted = [whole] if whole is not None else list(record.regions.values())
    return float(sum(each.d2h + each.h2d + each.syncs for each in counted))


def _work(rates: Rates | None) -> float | None:
    """Bytes per second, which cases of different units share; else units per second."""
    if rates is None:
        return None
    return rates.bytes_per_second if rates.bytes_per_second is not None else rates.units_per_second
