"""A change of speed as the page draws it: the ratio, its interval against the margin, every process, and the drift."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from harness.model.measurement import Sample, SpeedChange
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Verdict
from harness.report.view.axis import Axis, Place, axis_alone
from harness.report.view.mark import Mark
from harness.report.wording import shortened
from harness.units import count_text, duration_text, percent_text, ratio_text

__all__ = ["Drift", "SpeedView", "speed_view"]

_UNDECIDED, _NOT_JUDGED, _NOT_SLOWER, _WAIVED = "inconclusive", "not judged", "not slower", "waived"
"""Not judged: raw times nobody vouches for. Not slower: an interval that leaves the margin on the fast side alone."""

_MOST_NAMED = 12
"""Processes told one by one; of more, the slowest and the fastest."""

_WIDTH = 400
"""Of the field of pair ratios, in whole numbers as fine as pixels: a page of 1,000 cases is half a megabyte smaller."""

_MOST_POINTS = 100
"""Six pixels each on a wide page; of more pairs, each point is the median of some that follow each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Pair ratios in the order they were taken.

    ``dots`` is an SVG path over a field of 400 by 100 with slow at the top, ``band`` the heights of the margin (top,
    bottom), ``middle`` that of 1 (``None`` where it is not in sight), ``boundaries`` where another process begins.
    ``highest`` and ``lowest`` label the edges.
    """

    dots: str
    band: tuple[float, float]
    middle: float | None
    boundaries: tuple[int, ...]
    highest: str
    lowest: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An interval with its middle, the band of the margin, and the processes it rests on, all on one axis."""

    low: Place
    at: Place
    high: Place
    band: tuple[Place, Place]
    processes: tuple[Place, ...]
    axis: Axis


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedView:
    """One case against a baseline.

    ``value`` is what the table is sorted by. ``shared`` is drawn on the axis of all cases, ``alone`` on one of its own
    with the processes of a comparison in the order they ran (none where the case has no pairs). ``text`` says the
    whole picture in words.
    """

    mark: Mark
    value: float
    ratio: str
    interval: str
    decision: str
    baseline: str
    against: str
    margin: str
    text: str
    shared: Bar
    alone: Bar
    processes_text: str
    drift: Drift | None


def speed_view(verdict: Verdict, axis: Axis | None, *, paired: bool) -> SpeedView | None:
    """The change of a case; ``paired`` says that its sample was taken beside the version compared with.

    ``None`` where nothing was compared. Raises nothing: a sample that is no list of pairs is not drawn.
    """
    result = next((each for each in verdict.checks if each.change is not None), None)
    if result is None or result.change is None or axis is None or not _drawable(result.change):
        return None
    change, ratio = result.change, result.change.ratio
    pairs = _pairs(verdict.sample) if paired else ()
    processes = tuple(median(process) for process in pairs)  # near what enters the interval
    own = axis_alone((ratio.low, ratio.high, *processes), change.margin)
    return SpeedView(
        mark=Mark.of(result.outcome),
        value=ratio.value,
        ratio=ratio_text(ratio.value),
        interval=_interval(change),
        decision=_decision(result, change),
        baseline=duration_text(change.baseline_ns) if _positive(change.baseline_ns) else "unknown",
        against=shortened(change.against),
        margin=percent_text(change.margin),
        text=_text(result, change),
        shared=_bar(change, axis),
        alone=_bar(change, own, processes),
        processes_text=_processes_text(processes),
        drift=_drift(pairs, change.margin),
    )


def _bar(change: SpeedChange, axis: Axis, processes: Sequence[float] = ()) -> Bar:
    upper = 1 + change.margin
    return Bar(
        low=axis.place(change.ratio.low),
        at=axis.place(change.ratio.value),
        high=axis.place(change.ratio.high),
        band=(axis.place(1 / upper), axis.place(upper)),
        processes=tuple(map(axis.place, processes)),
        axis=axis,
    )


def _drawable(change: SpeedChange) -> bool:
    ratio = change.ratio
    return (
        all(map(_positive, (ratio.low, ratio.value, ratio.high))) and 0 <= change.margin < math.inf
    )


def _positive(value: float) -> bool:
    return 0 < value < math.inf


def _decision(result: CheckResult, change: SpeedChange) -> str:
    """The decision as far as the outcome lets it stand: an unchanged that might hide a slowdown is not told as such."""
    outcome = result.outcome
    if result.waiver is not None:
        return _WAIVED
    if outcome is Outcome.SKIPPED:
        return _NOT_JUDGED
    if outcome is Outcome.INCONCLUSIVE:
        return _UNDECIDED
    within = change.ratio.high <= 1 + change.margin
    if outcome is Outcome.PASSED and change.decision == _UNDECIDED and within:
        return _NOT_SLOWER
    return shortened(change.decision)


def _interval(change: SpeedChange) -> str:
    return f"{change.ratio.low:.3f} to {change.ratio.high:.3f}"


def _text(result: CheckResult, change: SpeedChange) -> str:
    figures = f"{ratio_text(change.ratio.value)} the time, {percent_text(change.ratio.confidence)} interval"
    margin = f"the margin reaches to {ratio_text(1 + change.margin)}"
    decision = _decision(result, change)
    return f"{decision}, {result.outcome.value}: {figures} {_interval(change)}; {margin}"


def _pairs(sample: Sample | None) -> tuple[tuple[float, ...], ...]:
    """Ratios of the pairs of each process, in order; none where the sample is no list of pairs."""
    if sample is None or not sample.peer_ns or len(sample.call_ns) != len(sample.peer_ns):
        return ()
    if not all(map(_positive, (*sample.call_ns, *sample.peer_ns))):
        return ()
    bounds = [*sample.process_starts, len(sample.call_ns)]
    if bounds[0] != 0 or any(end <= start for start, end in itertools.pairwise(bounds)):
        return ()
    ratios = [call / peer for call, peer in zip(sample.call_ns, sample.peer_ns, strict=True)]
    return tuple(tuple(ratios[start:end]) for start, end in itertools.pairwise(bounds))


def _processes_text(ratios: Sequence[float]) -> str:
    """``1.010x, 1.012x, 1.240x``; of many, their number and both ends."""
    if len(ratios) < 2:
        return ""
    if len(ratios) <= _MOST_NAMED:
        return ", ".join(map(ratio_text, ratios))
    ends = f"{ratio_text(min(ratios))} to {ratio_text(max(ratios))}"
    return f"{count_text(len(ratios), 'process', plural='processes')}, {ends}"


def _drift(pairs: Sequence[Sequence[float]], margin: float) -> Drift | None:
    count = sum(map(len, pairs))
    if count < 2:
        return None
    size = -(-count // _MOST_POINTS)
    points: list[tuple[float, float]] = []
    boundaries, start = [], 0
    for process in pairs:
        for first in range(0, len(process), size):
            block = process[first : first + size]
            points.append((start + first + len(block) / 2, median(block)))
        boundaries.append(round(_WIDTH * start / count))
        start += len(process)
    field = _field([ratio for _, ratio in points], margin)
    each = f"each point is the median of {size} pairs" if size > 1 else "each point is a pair"
    return Drift(
        dots="".join(
            f"M{_WIDTH * when / count:.0f} {field.height(ratio):.0f}h0" for when, ratio in points
        ),
        band=(field.height(1 + margin), field.height(1 / (1 + margin))),
        middle=field.height(1.0) if field.low <= 0.0 <= field.high else None,
        boundaries=tuple(boundaries[1:]),
        highest=ratio_text(math.exp(field.high)),
        lowest=ratio_text(math.exp(field.low)),
        text=_drift_text(pairs, each),
    )


@dataclass(frozen=True, slots=True)
class _Field:
    """From one log ratio at the bottom to another at the top."""

    low: float
    high: float

    def height(self, ratio: float) -> float:
        """Percent from the top; what lies outside is drawn at the edge."""
        share = (self.high - math.log(ratio)) / (self.high - self.low)
        return round(100 * max(0.0, min(1.0, share)), 1)


def _field(ratios: Sequence[float], margin: float) -> _Field:
    """Room for all but the wildest fortieth on either side, and never less than four margins high."""
    logs = sorted(map(math.log, ratios))
    aside = len(logs) // 40
    low, high = logs[aside], logs[-1 - aside]
    room = max(0.1 * (high - low), 2 * math.log1p(margin) - (high - low) / 2, 1e-6)
    return _Field(low - room, high + room)


def _drift_text(pairs: Sequence[Sequence[float]], each: str) -> str:
    ratios = [ratio for process in pairs for ratio in process]
    half = len(ratios) // 2
    first, second = median(ratios[:half]), median(ratios[half:])
    pairs_text = count_text(len(ratios), "pair ratio")
    halves = f"first half {ratio_text(first)}, second half {ratio_text(second)}"
    return f"{pairs_text} in the order they were taken, {each}; median of the {halves}"
