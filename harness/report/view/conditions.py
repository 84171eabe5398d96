"""What a GPU's sensors said while a case was timed: three lines on one axis of time, and where the clocks were held."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from harness.model.conditions import ConditionSample
from harness.model.verdict import Verdict
from harness.report.wording import shortened
from harness.units import count_text, duration_text

__all__ = ["ConditionsView", "Limited", "Strip", "conditions_view"]

_WIDTH, _HEIGHT = 400, 100

_MOST_NAMED = 6
"""Limited stretches told one by one."""

_FLAT = 0.05
"""Of the value, the least height of a strip: a clock that moves by a step must not look like an earthquake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One sensor: ``path`` over a field of 400 by 100, its edges labelled, all of it in words."""

    name: str
    path: str
    highest: str
    lowest: str
    text: str


@dataclass(frozen=True, slots=True)
class Limited:
    """A stretch in which something held the clocks back: where it begins, how wide it is, of 400."""

    at: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionsView:
    """The strips that were read, one above the other, of two readings or more; ``text`` says all, also that nothing was read."""

    strips: tuple[Strip, ...]
    limited: tuple[Limited, ...]
    lasted: str
    text: str


def conditions_view(verdict: Verdict) -> ConditionsView | None:
    """The conditions of a case timed on a CUDA device; ``None`` for all others, which have no such sensors."""
    samples = [sample for sample in verdict.conditions if math.isfinite(sample.at_s)]
    timed = verdict.sample is not None or verdict.call_time is not None
    if not samples:
        if not (timed and verdict.timing_device.startswith("cuda")):
            return None
        text = f"no sensor of {shortened(verdict.timing_device)} was read while it was timed"
        return ConditionsView(strips=(), limited=(), lasted="", text=text)
    lasted = max(samples[-1].at_s - samples[0].at_s, 0.0)
    strips = tuple(_strips(samples, lasted))
    stretches = _stretches(samples)
    words = [
        f"{count_text(len(samples), 'reading')} within {duration_text(lasted * 1e9)}"
        if lasted
        else "1 reading",
        *(strip.text for strip in strips),
        _limited_text(samples, stretches),
    ]
    return ConditionsView(
        strips=strips if lasted else (),
        limited=tuple(_placed(samples, stretch, lasted) for stretch in stretches),
        lasted=duration_text(lasted * 1e9),
        text="; ".join(words),
    )


def _strips(samples: Sequence[ConditionSample], lasted: float) -> Iterable[Strip]:
    times = [sample.at_s - samples[0].at_s for sample in samples]
    columns = (
        ("SM clock", "MHz", [_finite(sample.sm_clock_mhz) for sample in samples]),
        ("power", "W", [_finite(sample.power_w) for sample in samples]),
        ("temperature", "°C", [_finite(sample.temperature_c) for sample in samples]),
    )
    for name, unit, column in columns:
        known = [value for value in column if value is not None]
        if not known:
            continue
        low, high = min(known), max(known)
        middle, room = (low + high) / 2, max(high - low, _FLAT * high, 1.0) / 2
        span = f"{low:,.0f} {unit}" if low == high else f"{low:,.0f} to {high:,.0f} {unit}"
        yield Strip(
            name=name,
            path=_path(times, column, lasted, (middle - room, middle + room)),
            highest=f"{high:,.0f} {unit}",
            lowest=f"{low:,.0f}" if low < high else "",
            text=f"{name} {span}" + (f", median {median(known):,.0f}" if low < high else ""),
        )


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _path(
    times: Sequence[float],
    column: Sequence[float | None],
    lasted: float,
    edges: tuple[float, float],
) -> str:
    """A line through the readings, broken where one is missing; a reading alone is a dot."""
    low, high = edges
    path, pen_down = [], False
    for at, value in zip(times, column, strict=True):
        if value is None:
            pen_down = False
            continue
        x = round(_WIDTH * at / lasted) if lasted else _WIDTH // 2
        y = round(_HEIGHT * (high - value) / (high - low))
        path.append(f"L{x} {y}" if pen_down else f"M{x} {y}h0")
        pen_down = True
    return "".join(path)


def _stretches(samples: Sequence[ConditionSample]) -> list[tuple[int, int]]:
    """The first and the last of readings in a row that name the same limits."""
    stretches: list[tuple[int, int]] = []
    for place, sample in enumerate(samples):
        if not sample.limited:
            continue
        follows = stretches and stretches[-1][1] == place - 1
        if follows and samples[place - 1].limited == sample.limited:
            stretches[-1] = (stretches[-1][0], place)
        else:
            stretches.append((place, place))
    return stretches


def _placed(samples: Sequence[ConditionSample], stretch: tuple[int, int], lasted: float) -> Limited:
    """From half way after the reading before to half way before the one after."""
    times = [sample.at_s - samples[0].at_s for sample in samples]
    edges = [0.0, *((one + other) / 2 for one, other in pairwise(times)), lasted]
    first, last = stretch
    start, end = edges[first], edges[last + 1]
    if not lasted:
        return Limited(0, _WIDTH)
    at = round(_WIDTH * start / lasted)
    return Limited(at, max(3, round(_WIDTH * end / lasted) - at))


def _limited_text(samples: Sequence[ConditionSample], stretches: Sequence[tuple[int, int]]) -> str:
    """``held back from 0.21 to 0.36 s by the power cap``."""
    if not stretches:
        return "nothing held the clocks back"
    told = [
        f"{_span(samples, stretch)} by {shortened(' and '.join(samples[stretch[0]].limited))}"
        for stretch in stretches[:_MOST_NAMED]
    ]
    more = len(stretches) - len(told)
    rest = [f"in {count_text(more, 'more stretch', plural='more stretches')}"] if more else []
    return f"clocks held back (dashed): {', '.join([*told, *rest])}"


def _span(samples: Sequence[ConditionSample], stretch: tuple[int, int]) -> str:
    first, last = (samples[place].at_s for place in stretch)
    return f"at {first:.2f} s" if first == last else f"{first:.2f} to {last:.2f} s"
