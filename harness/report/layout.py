"""Lines of a terminal: styled pieces, wide characters, and sentences wrapped where a terminal ends."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Line", "Span", "cell_width", "fitted", "padded", "sentence", "wrapped"]

_WORD = re.compile(r"(?:\S+:\d+ in \S+|\S+)\s*")
"""What is never broken: a word, and a line of code with its function."""

_BEFORE_SITE = "   "

_NARROWEST = 24
"""Columns a wrapped sentence needs to stay readable; in less it is left to the terminal."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line and its rich style."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """Pieces of one line; ``hanging`` is where its last piece goes on when wrapped, ``None`` for never.

    ``site`` is the line of code it ends with: on a line of its own where it does not fit, and never broken.
    """

    spans: tuple[Span, ...] = ()
    hanging: int | None = None
    site: str = ""

    @property
    def text(self) -> str:
        """The line without its styles."""
        return "".join(span.text for span in self.spans) + (
            _BEFORE_SITE + self.site if self.site else ""
        )


def sentence(indent: str, text: str, style: str = "") -> Line:
    """A line that may be wrapped, and goes on below its first word."""
    return Line((Span(indent), Span(text, style)), cell_width(indent))


def wrapped(line: Line, width: int | None) -> Iterator[Line]:
    """The line in as many as ``width`` columns make necessary; as it is without a width."""
    if line.site:
        yield from _before_its_site(line, width)
        return
    if line.hanging is None or width is None or width - line.hanging < _NARROWEST:
        yield line
        return
    *before, last = line.spans
    start = sum(cell_width(span.text) for span in before)
    for text in _filled(last.text, first=width - start, then=width - line.hanging):
        yield Line((*before, Span(text, last.style)))
        before = [Span(" " * line.hanging)]


def _before_its_site(line: Line, width: int | None) -> Iterator[Line]:
    """Joined with its line of code, or that below it, as far to the right as it fits."""
    if width is None or cell_width(line.text) <= width:
        yield Line((*line.spans, Span(_BEFORE_SITE + line.site)))
        return
    yield Line((*line.spans[:-1], Span(line.spans[-1].text.rstrip(), line.spans[-1].style)))
    indent = max(0, min(line.hanging or 0, width - cell_width(line.site)))
    yield Line((Span(" " * indent + line.site),))


def _filled(text: str, *, first: int, then: int) -> Iterator[str]:
    """Words of ``text`` in lines of at most ``first`` columns, later ones of at most ``then``."""
    room, filled = first, ""
    for word in _WORD.findall(text):
        if filled and cell_width(f"{filled}{word.rstrip()}") > room:
            yield filled.rstrip()
            room, filled = then, ""
        filled += word
    yield filled.rstrip()


def fitted(text: str, width: int) -> str:
    """``text`` in exactly ``width`` columns: filled with blanks, or cut in the middle."""
    if cell_width(text) <= width:
        return padded(text, width)
    tail = _start_of(text[::-1], width // 3)[::-1]
    head = _start_of(text, width - 1 - cell_width(tail))
    return padded(f"{head}…{tail}", width)


def _start_of(text: str, width: int) -> str:
    end = 0
    while end < len(text) and cell_width(text[: end + 1]) <= width:
        end += 1
    return text[:end]


def padded(text: str, width: int) -> str:
    """``text`` filled with blanks to ``width`` columns."""
    return text + " " * (width - cell_width(text))


def cell_width(text: str) -> int:
    """Terminal columns: two for East Asian wide characters, none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(character)
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )
