"""How fast each case was over the last runs, as a small picture and in words: since when, by how much, at which commit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from harness.model.history import CaseHistory, HistoryChange, HistoryPoint
from harness.model.verdict import Run
from harness.report.view.cases import anchors
from harness.report.wording import shortened
from harness.units import count_text, duration_text, percent_text

__all__ = ["Course", "HistoryView", "Sparkline", "Turn", "history_view"]

WIDTH, HEIGHT = 150, 30
"""Of the field a sparkline is drawn in: three units per run of fifty, and heights of at most two digits."""

_MOST_BANDED = 12
"""Places at which the band of quartiles is drawn; of more runs, each is the median of some that follow each other."""

_MOST_PICTURED = 100
"""Cases with a picture, the largest change first: half a kilobyte each, and nobody looks at more. All are told in words."""

_MOST_TOLD = 3
"""The latest changes: fifty runs of a level of three at least can have sixteen, in which nobody sees anything; run.json
has all of them."""

_LEAST_HEIGHT = 0.04
"""From the lowest to the highest a picture shows, as a fraction: noise of 0.6 % must not look like a mountain."""

_WILD = 25
"""Of so many runs, one at either end may lie outside of the picture, and is drawn at its edge."""

_COMMIT_DIGITS = 7
_DATE = len("2026-01-31")

_SLOWER, _FASTER = "▲", "▼"
"""Time per call went up, or down."""


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Paths over a field of 150 by 30 with slow at the top: ``band`` of the quartiles, ``line`` of the medians, ``marks`` of changes.

    ``last`` is where the newest run lies. ``text`` says what is seen.
    """

    band: str
    line: str
    marks: str
    last: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One change of speed: its ``sign``, ``style`` of it, and ``text``: ``3.1 % slower since 1a2b3c4 (2026-01-03), 12 runs ago``."""

    sign: str
    style: str
    change: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One case over its runs. ``turns`` are its latest changes, the newest first; ``steady`` says that there is none.

    ``anchor`` leads to its section, and is empty where the run has no such case. ``sparkline`` is drawn of the first hundred.
    """

    label: str
    anchor: str
    sparkline: Sparkline | None
    now: str
    turns: tuple[Turn, ...]
    more: str
    steady: str
    runs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """``changed`` are the cases whose speed changed, the largest latest change first, ``unchanged`` the others.

    ``alone`` names in a sentence those that have no earlier run, ``summary`` says all of it.
    """

    summary: str
    changed: tuple[Course, ...]
    unchanged: tuple[Course, ...]
    alone: str


def history_view(run: Run) -> HistoryView | None:
    """The history a run was given; ``None`` where it has none. Points that no time can have are left out."""
    known = {history.key: _usable(history) for history in run.history}
    if not known:
        return None
    links = dict(zip((verdict.key for verdict in run.verdicts), anchors(run.verdicts), strict=True))
    several = [history for history in known.values() if len(history.points) > 1]
    changed = sorted((each for each in several if each.changes), key=lambda each: -_size(each))
    unchanged = [history for history in several if not history.changes]
    courses = [
        _course(history, links, pictured=place < _MOST_PICTURED)
        for place, history in enumerate([*changed, *unchanged])
    ]
    return HistoryView(
        summary=_summary(changed, unchanged),
        changed=tuple(courses[: len(changed)]),
        unchanged=tuple(courses[len(changed) :]),
        alone=_alone([key for key, history in known.items() if len(history.points) < 2]),
    )


def _usable(history: CaseHistory) -> CaseHistory:
    """As it is, or without its changes where a point was no time: their places would be those of others."""
    points = tuple(point for point in history.points if _is_time(point))
    changes = tuple(
        change
        for change in history.changes
        if 0 < change.index < len(points) and 0 < change.ratio < math.inf
    )
    whole = len(points) == len(history.points)
    return CaseHistory(
        key=history.key,
        points=points,
        changes=changes if whole else (),
        earlier=max(0, history.earlier),
    )


def _is_time(point: HistoryPoint) -> bool:
    return all(0 < value < math.inf for value in (point.low_ns, point.call_ns, point.high_ns))


def _size(history: CaseHistory) -> float:
    """How large the last change is, up or down."""
    return abs(math.log(history.changes[-1].ratio))


def _summary(changed: Sequence[CaseHistory], unchanged: Sequence[CaseHistory]) -> str:
    if not changed and not unchanged:
        return ""
    latest = [history.changes[-1].ratio for history in changed]
    slower = sum(ratio > 1 for ratio in latest)
    told = [
        count_text(number, f"case {verb}", plural=f"cases {verb}")
        for number, verb in (
            (slower, "became slower"),
            (len(latest) - slower, "became faster"),
            (len(unchanged), "kept its pace" if len(unchanged) == 1 else "kept their pace"),
        )
        if number
    ]
    return ", ".join(told)


def _alone(keys: Sequence[str]) -> str:
    if not keys:
        return ""
    if len(keys) == 1:
        return f"{shortened(keys[0])} has no earlier run to be compared with."
    return f"{len(keys):,} cases have no earlier run to be compared with."


def _course(history: CaseHistory, links: Mapping[str, str], *, pictured: bool) -> Course:
    newest_first = tuple(reversed(history.changes))
    turns = tuple(_turn(change, history.points) for change in newest_first[:_MOST_TOLD])
    more = len(newest_first) - len(turns)
    count = len(history.points)
    total = f" of {count + history.earlier:,}" if history.earlier else ""
    return Course(
        label=shortened(history.key),
        anchor=links.get(history.key, ""),
        sparkline=_sparkline(history, turns) if pictured else None,
        now=duration_text(history.points[-1].call_ns),
        turns=turns,
        more=f"and {count_text(more, 'change')} before" if more > 0 else "",
        steady="" if turns else f"no change in {count_text(count, 'run')}",
        runs=f"{count:,}{total}",
    )


def _turn(change: HistoryChange, points: Sequence[HistoryPoint]) -> Turn:
    slower = change.ratio > 1
    size = percent_text(abs(change.ratio - 1))
    ago = count_text(len(points) - 1 - change.index, "run")
    text = (
        f"{size} {'slower' if slower else 'faster'} since {_when(points[change.index])}, {ago} ago"
    )
    return Turn(
        sign=_SLOWER if slower else _FASTER,
        style="slower" if slower else "faster",
        change=percent_text(change.ratio - 1, signed=True),
        text=text,
    )


def _when(point: HistoryPoint) -> str:
    """``1a2b3c4 (2026-01-03)``, with a plus where the tree had changes."""
    day = shortened(point.created[:_DATE]) or "an unknown day"
    if not point.commit:
        return day
    return f"{shortened(point.commit[:_COMMIT_DIGITS])}{'+' if point.dirty else ''} ({day})"


def _sparkline(history: CaseHistory, turns: Sequence[Turn]) -> Sparkline:
    points = history.points
    field = _field([point.call_ns for point in points])
    places = _places(len(points))
    heights = [field.height(point.call_ns) for point in points]
    at = list(zip(places, heights, strict=True))
    marked = history.changes[-_MOST_TOLD:]
    return Sparkline(
        band=_band(points, places, field),
        line=_line(at),
        marks="".join(_mark(places[change.index], up=change.ratio > 1) for change in marked),
        last=at[-1],
        text=_text(points, turns),
    )


def _text(points: Sequence[HistoryPoint], turns: Sequence[Turn]) -> str:
    """The whole picture in a sentence."""
    times = [point.call_ns for point in points]
    ends = f"{duration_text(min(times))} to {duration_text(max(times))}"
    what = turns[0].text if turns else "no change"
    return f"{count_text(len(times), 'run')}, {ends}; {what}"


def _places(count: int) -> list[int]:
    return [round(WIDTH * number / (count - 1)) for number in range(count)]


@dataclass(frozen=True, slots=True)
class _Field:
    """From one log time at the bottom to another at the top."""

    low: float
    high: float

    def height(self, time: float) -> int:
        """Units from the top; what lies outside is drawn at the edge."""
        share = (self.high - math.log(time)) / (self.high - self.low)
        return round(HEIGHT * max(0.0, min(1.0, share)))


def _field(times: Sequence[float]) -> _Field:
    logs = sorted(map(math.log, times))
    aside = len(logs) // _WILD
    low, high = logs[aside], logs[-1 - aside]
    room = max(0.15 * (high - low), (math.log1p(_LEAST_HEIGHT) - (high - low)) / 2)
    return _Field(low - room, high + room)


def _line(at: Sequence[tuple[int, int]]) -> str:
    """A path through whole numbers, each relative to the one before: four bytes a point."""
    (x, y), *others = at
    return f"M{x} {y}l{_steps([(x, y), *others])}"


def _steps(at: Sequence[tuple[int, int]]) -> str:
    """``3-1 3 0``: pairs of differences, without the blanks a minus makes needless."""
    texts = []
    for (x, y), (to_x, to_y) in itertools.pairwise(at):
        texts += [str(to_x - x), str(to_y - y)]
    return " ".join(texts).replace(" -", "-")


def _band(points: Sequence[HistoryPoint], places: Sequence[int], field: _Field) -> str:
    """The area between the quartiles: forth along the upper ones, back along the lower."""
    size = -(-len(points) // _MOST_BANDED)
    upper, lower = [], []
    for start in range(0, len(points), size):
        block = points[start : start + size]
        last = start + len(block) == len(points)
        place = places[-1] if last else places[start] if not start else _middle(places, start, size)
        upper.append((place, field.height(median(point.high_ns for point in block))))
        lower.append((place, field.height(median(point.low_ns for point in block))))
    return f"{_line([*upper, *reversed(lower)])}z"


def _middle(places: Sequence[int], start: int, size: int) -> int:
    return places[min(start + size // 2, len(places) - 1)]


def _mark(place: int, *, up: bool) -> str:
    """A line through the picture from a triangle at its edge: on top and pointing up for slower, else below."""
    if up:
        return f"M{place} {HEIGHT}V0l-4 6h8l-4-6"
    return f"M{place} 0v{HEIGHT}l-4-6h8l-4 6"
