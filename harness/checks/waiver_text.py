"""Waivers as text: TOML, read strictly, since a slip of the pen must not turn a gate off or leave it shut."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NoReturn

from harness.checks.waivers import NEVER_WAIVED, WAIVABLE, day_text
from harness.errors import FileFormatError
from harness.model.waiver import Waiver
from harness.units import count_text

__all__ = ["parse_waivers"]

_NEEDED = ("case", "check", "reason", "since")
_KNOWN = (*_NEEDED, "until")

_SHORTEST_REASON = 10
"""``see #1234`` has nine: enough for a word and what it is about, too few for `ok` and `flaky`."""

_WORD = re.compile(r"[^\W\d_]{2}|[^\W\d_\x00-\u02ff]")
"""Two letters side by side, or one of a script whose words may be a single sign; `.....` and `#######` have neither."""

_WHY = "say why the finding is accepted"

_AHEAD = timedelta(days=1)
"""It is tomorrow already somewhere, where somebody may have written this file."""

_LONGEST_SHOWN = 60
"""Of a case, in a message of one line."""


def parse_waivers(text: str, *, source: str, today: date) -> tuple[Waiver, ...]:
    """The waivers of a file in its order; ``source`` is what messages call it.

    ::

        [[waiver]]
        case = "softmax*/4096*"
        check = "traffic"
        reason = "cuBLAS workspace copy, fixed in 13.2"
        since = 2026-01-03
        until = 2026-12-31

    ``until`` may be left out. Line breaks within a reason become spaces. Raises ``FileFormatError`` in one line naming
    the file, the entry and what to do: not TOML, unknown or missing keys, wrong types, a check that cannot be waived,
    a reason of less than ten characters or without a word, dates that make no sense, the same case and check twice.
    """
    entries = _entries(_document(text, source), source)
    waivers: dict[tuple[str, str], Waiver] = {}
    numbers: dict[tuple[str, str], int] = {}
    for number, entry in enumerate(entries, start=1):
        waiver = _Entry(entry, _place(source, number, entry), today).waiver()
        name = (waiver.case, waiver.check)
        if name in waivers:
            first = numbers[name]
            _refuse(
                _place(source, number, entry),
                f"waives the same case and check as waiver {first}; change that one",
            )
        waivers[name], numbers[name] = waiver, number
    return tuple(waivers.values())


def _document(text: str, source: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _refuse(source, f"is not TOML: {_one_line(str(error))}")
    except RecursionError:
        _refuse(source, "is not a list of waivers: it nests too deep")


def _entries(document: Mapping[str, Any], source: str) -> Sequence[Mapping[str, Any]]:
    others = [name for name in document if name != "waiver"]
    if others:
        _refuse(source, f"has the unknown name {_quoted(others[0])}; every entry is a [[waiver]]")
    entries = document.get("waiver", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        _refuse(source, "has a waiver that is no table; write [[waiver]], with double brackets")
    return entries


class _Entry:
    """One table, and its place in the file for messages."""

    def __init__(self, content: Mapping[str, Any], place: str, today: date) -> None:
        self._content, self._place, self._today = content, place, today

    def waiver(self) -> Waiver:
        """Read it; raises ``FileFormatError`` for the first thing wrong."""
        for problem in self._names():
            self._refuse(problem)
        case, check = self._text("case"), self._check()
        reason, since, until = self._reason(), self._date("since"), None
        if since > self._today + _AHEAD:
            self._refuse(f"since is {day_text(since)}, which lies in the future")
        if "until" in self._content:
            until = self._date("until")
            if until < since:
                self._refuse(f"until is {day_text(until)}, before since, {day_text(since)}")
        return Waiver(
            case=case,
            check=check,
            reason=reason,
            since=since.isoformat(),
            until=until.isoformat() if until is not None else "",
        )

    def _names(self) -> Iterator[str]:
        for name in self._content:
            if name not in _KNOWN:
                yield f"has the unknown key {_quoted(name)}; {_known(name, _KNOWN)}"
        for name in _NEEDED:
            if name not in self._content:
                yield f"has no {name}; every waiver has {', '.join(_NEEDED)}"

    def _text(self, name: str) -> str:
        value = self._content[name]
        if not isinstance(value, str):
            self._refuse(f"{name} is {_quoted(value)}; write it as text, in quotes")
        text = " ".join(value.split())
        if not text:
            self._refuse(f"{name} is empty")
        return text

    def _check(self) -> str:
        check = self._text("check")
        if check in NEVER_WAIVED:
            self._refuse(f"check {_quoted(check)} cannot be waived: {NEVER_WAIVED[check]}")
        if check not in WAIVABLE:
            self._refuse(f"check {_quoted(check)} is unknown; {_known(check, WAIVABLE)}")
        return check

    def _reason(self) -> str:
        reason = self._text("reason")
        if len(reason) < _SHORTEST_REASON:
            self._refuse(
                f"reason {_quoted(reason)} has {count_text(len(reason), 'character')}, at least {_SHORTEST_REASON} "
                f"are needed; {_WHY}"
            )
        if not _WORD.search(reason):
            self._refuse(f"reason {_quoted(reason)} has no word; {_WHY}")
        return reason

    def _date(self, name: str) -> date:
        value = self._content[name]
        if not isinstance(value, date) or isinstance(value, datetime):
            self._refuse(
                f"{name} is {_quoted(value)}; write a date without quotes: {name} = 2026-01-31"
            )
        return value

    def _refuse(self, problem: str) -> NoReturn:
        _refuse(self._place, problem)


def _place(source: str, number: int, entry: Mapping[str, Any]) -> str:
    case = entry.get("case")
    named = f" ({_quoted(case)})" if isinstance(case, str) and case else ""
    return f"{source}, waiver {number}{named}"


def _known(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    return f"{guess}known: {', '.join(known)}"


def _quoted(value: object) -> str:
    """On one line, whatever it holds."""
    text = ascii(value) if isinstance(value, str) else _one_line(str(value))
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _one_line(text: str) -> str:
    return ascii(" ".join(text.split()))[1:-1]


def _refuse(place: str, problem: str) -> NoReturn:
    raise FileFormatError(f"{place}: {problem}")
