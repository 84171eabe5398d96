"""What a picture of two calls is made of: bars, shapes, lines and words at places, nothing left to decide."""

from __future__ import annotations

from dataclasses import dataclass

from harness.report.view.axis import Tick
from harness.report.view.timeline_words import Row

__all__ = [
    "Band",
    "Bar",
    "Entry",
    "Lane",
    "Legend",
    "Line",
    "Picture",
    "Symbol",
    "Text",
    "TimelineView",
]

_MOST_PRINTED = 120
"""Rows of events that are printed unasked: two pages."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle: from where and how far in percent, from what height and how high in pixels."""

    at: float
    width: float
    y: float
    height: float
    style: str = ""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A shape of ``KINDS`` around a point."""

    name: str
    at: float
    y: float


@dataclass(frozen=True, slots=True)
class Line:
    """From a point to another."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Text:
    """Words beside a point: to its right (``start``), on it (``middle``) or to its left (``end``)."""

    at: float
    y: float
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Band:
    """A region above what was launched in it."""

    at: float
    width: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Lane:
    """What a row of the picture is of, and where its middle is."""

    text: str
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What can be pointed at: one event, or several drawn as one, with all about it in words."""

    text: str
    reach: Bar
    bars: tuple[Bar, ...]
    lines: tuple[Line, ...]
    symbols: tuple[Symbol, ...]
    labels: tuple[Text, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One call. ``held`` shades where the host is blocked, ``gone`` and ``gone_symbols`` what only the other has."""

    word: str
    label: str
    summary: str
    undrawn: str
    bands: tuple[Band, ...]
    held: tuple[Bar, ...]
    gone: tuple[Bar, ...]
    gone_symbols: tuple[Symbol, ...]
    entries: tuple[Entry, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Legend:
    """A sign that occurs and what it stands for."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """Two calls one below the other, on the same axis and in the same lanes, ``height`` pixels each.

    ``room`` says how narrow it may get: any width, ``medium``, ``long``. ``ticks`` are those of an axis of time.
    """

    timed: bool
    caption: str
    room: str
    height: int
    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    pictures: tuple[Picture, Picture]
    legend: tuple[Legend, ...]

    @property
    def long_tables(self) -> bool:
        """Whether the tables of events would fill pages of paper."""
        return sum(len(picture.rows) for picture in self.pictures) > _MOST_PRINTED
