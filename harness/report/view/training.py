"""What training programs did: curves over published bands, and where an iteration's time went, as pictures and in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.model.training import Curve, Stage, StageTimes, Training
from harness.model.verdict import Run
from harness.report.wording import shortened
from harness.units import count_text, duration_text, percent_text, rate_text

__all__ = ["CurveView", "StageRow", "TimingView", "TrainingView", "training_view", "training_views"]

_WIDTH, _HEIGHT = 400, 140
"""Of the field of a curve."""

_MOST_POINTS = 200
"""Two pixels each; of more, every so many-th and the last."""

_MOST_ROWS = 25
"""Of a table; run.json has every point."""

_LONGEST_SOURCE = 300
"""Three lines of a page: it may name a dozen places."""

_ROOM = 0.06
"""Above and below what is drawn, of its height."""

_TOTAL = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRow:
    """One point in words: its x, its value, and the published interval there with whether it lies within."""

    x: str
    value: str
    band: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveView:
    """One curve on a field of 400 by 140.

    ``line``, ``dots`` and ``band`` are SVG paths, ``highest`` to ``last_x`` label the edges, ``text`` says what is
    seen, ``within`` how it lies in the ``source``'s band. ``rows`` are the points; ``omitted`` says which are not there.
    """

    name: str
    line: str
    dots: str
    band: str
    highest: str
    lowest: str
    first_x: str
    last_x: str
    text: str
    within: str
    source: str
    rows: tuple[PointRow, ...]
    omitted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """One stage, here and as published: times, and shares of the whole iteration in percent of the width."""

    name: str
    time: str
    share: float
    share_text: str
    published_time: str
    published_share: float | None
    published_share_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingView:
    """One way of timing an iteration."""

    label: str
    total: str
    rate: str
    waits: str
    reads: str
    stages: tuple[StageRow, ...]
    published_total: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingView:
    """One training program; ``anchor`` leads to the case it belongs to, empty where there is none."""

    anchor: str
    label: str
    program: str
    data: str
    curves: tuple[CurveView, ...]
    timings: tuple[TimingView, ...]
    published: str
    notes: tuple[str, ...]


def training_views(run: Run, anchors: Sequence[str]) -> tuple[TrainingView, ...]:
    """What programs recorded that ran by themselves, then the cases that trained something, in their order."""
    recorded = (training_view(training, label=training.program) for training in run.training)
    offered = (
        training_view(verdict.training, label=verdict.key, anchor=anchor)
        for verdict, anchor in zip(run.verdicts, anchors, strict=True)
        if verdict.training is not None
    )
    return (*recorded, *offered)


def training_view(training: Training, *, label: str, anchor: str = "") -> TrainingView:
    """One of them; ``label`` names its case."""
    return TrainingView(
        anchor=anchor,
        label=shortened(label),
        program=shortened(training.program),
        data=shortened(training.data, limit=_LONGEST_SOURCE),
        curves=tuple(_curve(curve) for curve in training.curves if curve.points),
        timings=tuple(_timing(timing) for timing in training.timings),
        published=shortened(training.published),
        notes=tuple(map(shortened, training.notes)),
    )


@dataclass(frozen=True, slots=True)
class _Field:
    """From x ``left`` to ``right`` and from value ``low`` at the bottom to ``high`` at the top."""

    left: float
    right: float
    low: float
    high: float

    def at(self, x: float, value: float) -> str:
        """``x y`` of a path."""
        across = _WIDTH * (x - self.left) / (self.right - self.left)
        down = _HEIGHT * (self.high - value) / (self.high - self.low)
        return f"{across:.1f} {down:.1f}"


def _curve(curve: Curve) -> CurveView:
    band = curve.band.points if curve.band is not None else ()
    field = _field(curve.points, band)
    drawn = [field.at(x, value) for x, value in _thinned(curve.points, _MOST_POINTS)]
    few = len(curve.points) <= _MOST_ROWS
    shown = _thinned(curve.points, _MOST_ROWS)
    by_x = {x: (low, high) for x, low, high in band}
    unit = f" ({shortened(curve.unit)})" if curve.unit else ""
    name = shortened(curve.name) + unit
    return CurveView(
        name=name,
        line="M" + "L".join(drawn),
        dots="".join(f"M{place}h0" for place in drawn) if few else "",
        band=_band_path(band, field),
        highest=_rough(field.high),
        lowest=_rough(field.low),
        first_x=f"{shortened(curve.x_unit)} {_number(field.left)}",
        last_x=f"{shortened(curve.x_unit)} {_number(field.right)}",
        text=_curve_text(name, curve),
        within=_within(curve.points, by_x),
        source=shortened(curve.band.source, limit=_LONGEST_SOURCE)
        if curve.band is not None
        else "",
        rows=tuple(_point_row(x, value, by_x.get(x)) for x, value in shown),
        omitted="" if few else f"{len(shown)} of {count_text(len(curve.points), 'point')}",
    )


def _field(
    points: Sequence[tuple[float, float]], band: Sequence[tuple[float, float, float]]
) -> _Field:
    xs = [x for x, _ in points]
    left, right = min(xs), max(xs)
    seen = [edge for x, low, high in band if left <= x <= right for edge in (low, high)]
    values = [value for _, value in points] + seen
    low, high = min(values), max(values)
    room = _ROOM * (high - low) or abs(high) * _ROOM or 1.0
    if left == right:  # one point stands in the middle
        left, right = left - 1.0, right + 1.0
    return _Field(left, right, low - room, high + room)


def _band_path(band: Sequence[tuple[float, float, float]], field: _Field) -> str:
    inside = [point for point in band if field.left <= point[0] <= field.right]
    if len(inside) < 2:
        return ""
    above = [field.at(x, high) for x, _, high in inside]
    below = [field.at(x, low) for x, low, _ in reversed(inside)]
    return "M" + "L".join([*above, *below]) + "Z"


def _thinned(points: Sequence[tuple[float, float]], most: int) -> Sequence[tuple[float, float]]:
    if len(points) <= most:
        return points
    step = (len(points) - 1) / (most - 1)
    return [points[round(i * step)] for i in range(most)]


def _curve_text(name: str, curve: Curve) -> str:
    (first_x, first), (last_x, last) = curve.points[0], curve.points[-1]
    unit = shortened(curve.x_unit)
    if len(curve.points) == 1:
        return f"{name}: {_number(first)} at {unit} {_number(first_x)}"
    return (
        f"{name}: from {_number(first)} at {unit} {_number(first_x)} "
        f"to {_number(last)} at {unit} {_number(last_x)}"
    )


def _within(points: Iterable[tuple[float, float]], band: dict[float, tuple[float, float]]) -> str:
    places = [band[x][0] <= value <= band[x][1] for x, value in points if x in band]
    if not places:
        return ""
    return f"{sum(places)} of {count_text(len(places), 'point')} within the published band"


def _point_row(x: float, value: float, band: tuple[float, float] | None) -> PointRow:
    if band is None:
        return PointRow(x=_number(x), value=_number(value), band="", place="")
    low, high = band
    place = "below" if value < low else "above" if value > high else "within"
    return PointRow(
        x=_number(x), value=_number(value), band=f"{_number(low)} to {_number(high)}", place=place
    )


def _timing(timing: StageTimes) -> TimingView:
    stages = {stage.name: stage for stage in timing.stages}
    whole = stages.get(_TOTAL)
    rows = tuple(
        _stage_row(stage, whole) for stage in timing.stages if whole and stage is not whole
    )
    published = whole.published_s if whole is not None else None
    rate = rate_text(timing.per_second, shortened(timing.unit))
    total = _seconds(whole.seconds) if whole is not None else ""
    told = ", ".join(f"{row.name} {row.time} ({row.share_text})" for row in rows)
    return TimingView(
        label=shortened(timing.label),
        total=total,
        rate=rate,
        waits="not counted" if timing.syncs is None else f"{timing.syncs:,}",
        reads="not counted" if timing.reads is None else f"{timing.reads:,}",
        stages=rows,
        published_total=_seconds(published) if published is not None else "",
        text=f"{shortened(timing.label)}: {total} per iteration" + (f"; {told}" if told else ""),
    )


def _stage_row(stage: Stage, whole: Stage) -> StageRow:
    share = _share(stage.seconds, whole.seconds)
    published = None
    if stage.published_s is not None and whole.published_s is not None:
        published = _share(stage.published_s, whole.published_s)
    return StageRow(
        name=shortened(stage.name),
        time=_seconds(stage.seconds),
        share=round(100 * share, 1),
        share_text=percent_text(share),
        published_time=_seconds(stage.published_s) if stage.published_s is not None else "",
        published_share=round(100 * published, 1) if published is not None else None,
        published_share_text=percent_text(published) if published is not None else "",
    )


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0


def _seconds(value: float) -> str:
    return duration_text(value * 1e9)


def _rough(value: float) -> str:
    return f"{value:.3g}"


def _number(value: float) -> str:
    return f"{value:.5g}"
