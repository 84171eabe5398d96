"""The words every report shares: outcome marks, source lines, and foreign text made safe to show."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from harness.model.event import Site
from harness.model.outcome import Outcome

__all__ = [
    "LONGEST_LABEL",
    "LONGEST_REASON",
    "LONGEST_UNIT",
    "MARKS",
    "NO_SITE",
    "cut",
    "encodable",
    "shortened",
    "site_text",
    "visible",
    "working_folder",
]

MARKS = {
    Outcome.PASSED: "✓",
    Outcome.SKIPPED: "○",
    Outcome.INCONCLUSIVE: "?",
    Outcome.FAILED: "✗",
}
"""A shape for each outcome, so that none is told by its colour alone."""

_PLAIN = str.maketrans({"✓": "+", "✗": "x", "○": "o", "·": "-", "…": "...", "→": "->"})
"""Stand-ins for the few signs of our own that an old terminal lacks."""

NO_SITE = "no Python line known"

LONGEST_LABEL = 120
"""Twice the longest built-in case name: longer ones are cut in headings and tables, never in run.json."""

LONGEST_UNIT = 16
"""``samples`` twice over, which a narrow column of rates still holds on one line."""

LONGEST_REASON = 400
"""Five lines of a page: why a limit is what it is, of which the budget in the code has all."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that show nothing, break the line or turn the text around."""


def visible(text: str) -> str:
    """``text`` with everything that would hide, break or reorder it written as its escape.

    Control characters, line breaks, zero-width and bidirectional marks, terminal escapes and lone
    surrogates come out as ``\\x1b`` or ``\\u202e``; the result is one line that any encoder of Unicode takes.
    """
    if text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode("ascii")


def shortened(text: str, *, limit: int = LONGEST_LABEL) -> str:
    """``text`` made visible and, where longer than ``limit``, cut in the middle.

    The length is told where more than half is left out.
    """
    safe = visible(text)
    if len(safe) <= limit:
        return safe
    note = f" … ({len(safe):,} characters) … " if len(safe) > 2 * limit else "…"
    head = (limit * 2) // 3
    return f"{safe[:head]}{note}{safe[head - limit :]}"


def cut(text: str, limit: int) -> str:
    """``text`` up to about ``limit`` characters, ended before an open bracket or between words."""
    if len(text) <= limit:
        return text
    start = text[: limit + 1]
    bracket, space = start.rfind(" ("), start.rfind(" ")
    opened = bracket > start.rfind(")")
    end = bracket if opened and bracket > limit // 2 else space
    if end < limit // 2:  # one long word, such as a path
        end = limit
    return f"{text[:end].rstrip(' ,;:')} …"


def encodable(text: str, encoding: str) -> str:
    """``text`` with what ``encoding`` cannot write replaced: our own signs by look-alikes, the rest by escapes."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text


def site_text(site: Site | None, *, relative_to: Path | None) -> str:
    """``ops/softmax.py:31 in forward``: the file as seen from ``relative_to`` where it lies below it."""
    if site is None:
        return NO_SITE
    file = site.file
    if relative_to is not None:
        path = Path(file)
        if path.is_absolute() and path.is_relative_to(relative_to):
            file = str(path.relative_to(relative_to))
    return visible(f"{file}:{site.line} in {site.function}")


def working_folder() -> Path | None:
    """The folder that source lines are shown relative to; ``None`` when it was deleted meanwhile."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None
