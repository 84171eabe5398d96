"""From a file's bytes to the JSON object in it, with one line that says what is wrong where there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NoReturn

from harness.baseline.commands import at_store, password_note
from harness.baseline.foreign import foreign_document, foreign_text
from harness.baseline.layout import is_flat
from harness.baseline.naming import name_problem
from harness.baseline.validation import Problem, inside, quoted
from harness.errors import FileFormatError
from harness.units import bytes_text

__all__ = ["FORMAT", "LARGEST_FILE_BYTES", "document_in", "refuse"]

FORMAT = "ondevice-harness baseline"
"""Marks the file as ours, so that another tool's JSON is told from a damaged baseline."""

LARGEST_FILE_BYTES = 64 * 2**20
"""1,000 cases with a full history of eleven speeds are 8 MB, and were as much with raw timings; eight times that
still loads in seconds, and anything larger was not written by the harness."""

_OF_DATABASE = re.compile(r"(?P<where>.+), baseline '(?P<name>[^']+)'")
"""What a database calls a baseline; a folder names the file."""


def document_in(data: bytes, *, source: str) -> dict[str, Any]:
    """The object that is the file, known to be marked as ours and free of repeated keys.

    Raises ``FileFormatError`` where the bytes are empty, not text, cut off, no JSON, or another tool's.
    """
    parsed = _parse(_text(data, source), source)
    if not isinstance(parsed, dict):
        kind = "list" if isinstance(parsed, list) else "single value"
        refuse(source, "$", f"is a {kind}, not a baseline")
    if parsed.get("format") != FORMAT:
        tool = foreign_document(parsed)
        what = f"was written by {tool}" if tool else "is not marked as a baseline"
        where = f'its "format" is {quoted(parsed.get("format"))}, not {FORMAT!r}'
        step = f"name a baseline's file, or {_saved_anew(source)}"
        refuse(source, "", f"{what} ({where})", step)
    for path, problem in _repetitions(parsed):
        refuse(source, path, problem)
    return parsed


def refuse(source: str, path: str, problem: str, step: str = "") -> NoReturn:
    """Raise the one line on a file: what it is called, the place in it, what is wrong, what to do.

    Without a ``step`` that is to get it back, or to save it anew.
    """
    place = f"{path} " if path else ""
    step = step or f"restore it from version control, or {_saved_anew(source)}"
    raise FileFormatError(f"{source}: {place}{problem}; {step}")


def _saved_anew(source: str) -> str:
    """The command that puts the latest run in the place of a baseline that cannot be read, and so not be gone on from."""
    stored = _OF_DATABASE.fullmatch(source)
    file = PurePath(source)
    where, name = (stored["where"], stored["name"]) if stored else (str(file.parent), file.stem)
    if name_problem(name):
        return "save one with: harness baseline save main"
    command = f"harness baseline save {name} --replace --new-anchor --drop{at_store(where)}"
    return f"save it anew{password_note(where)}: {command}"


def _text(data: bytes, source: str) -> str:
    if len(data) > LARGEST_FILE_BYTES:
        limit = bytes_text(LARGEST_FILE_BYTES)
        refuse(source, "", f"is larger than {limit}, the most a baseline may have")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        refuse(source, "", f"is not UTF-8 text ({byte}), so not a baseline")
    if not text.strip():
        refuse(source, "", f"is empty ({bytes_text(len(data))})")
    if not text.strip("\0\t\n\r "):
        refuse(
            source,
            "",
            f"holds no text, only {bytes_text(len(data))} of zeros, as a crash leaves them",
        )
    return text


def _parse(text: str, source: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        if known := foreign_text(text):
            raise FileFormatError(f"{source}: {known}") from None
        place = f"line {error.lineno} column {error.colno}"
        what = "is cut off" if _is_cut(text.rstrip(), error) else f"is not JSON ({error.msg})"
        refuse(source, "", f"{what} at {place}")
    except RecursionError:
        refuse(source, "", "nests deeper than any baseline")
    except ValueError:  # Python refuses to read integers of more than 4,300 digits
        refuse(source, "", "holds a whole number of thousands of digits")


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Whether parsing failed because the text ends, maybe inside ``false`` or a ``\\u00e9``."""
    left = len(text) - error.pos
    unfinished = left < len(r"\u00e9") and not text.endswith("}")
    return left <= 0 or unfinished or error.msg.startswith("Unterminated string")


class _Repeating(dict[str, Any]):
    """An object of the file in which a key stands twice."""

    repeated: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    found = _Repeating(plain)
    keys = [key for key, _ in pairs]
    found.repeated = next(key for key in keys if keys.count(key) > 1)
    return found


def _repetitions(parsed: Any) -> Iterator[Problem]:
    """Objects with a repeated key, found without recursion since the nesting is not checked yet."""
    waiting: list[tuple[str, Any]] = [("$", parsed)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, _Repeating):
            yield path, f"has the key {quoted(value.repeated)} twice"
        if isinstance(value, dict):
            waiting += [(inside(path, key), item) for key, item in value.items()]
        elif isinstance(value, list) and not is_flat(value):
            waiting += [(f"{path}[{index}]", item) for index, item in enumerate(value)]
