"""The file format of a run: JSON of the model, strict to read.

Numbers that JSON does not have are the strings ``"nan"``, ``"inf"`` and ``"-inf"`` in the place of a
number. Text is escaped to ASCII, so that any string of Python survives. ``format`` and ``schema_version``
come first. Unknown fields and wrong types are refused; a missing field that has a default is filled in,
since a later version may add one. ``digest``, last, is the SHA-256 of all other values: a file edited by hand does not load.
"""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

import msgspec

from harness.baseline.codec import FORMAT as BASELINE_FORMAT
from harness.baseline.foreign import foreign_document, foreign_text
from harness.baseline.layout import value_digest
from harness.baseline.validation import quoted
from harness.errors import FileFormatError, UsageError
from harness.model.event import EventType
from harness.model.timeline import TimelineEvent
from harness.model.verdict import SCHEMA_VERSION, Run
from harness.report.embedding import extract, extract_all, is_page
from harness.units import bytes_text

__all__ = [
    "DIGEST",
    "FORMAT",
    "LARGEST_FILE_BYTES",
    "NOT_FINITE",
    "decode_run",
    "encode_run",
    "read_run",
    "read_runs",
]

FORMAT = "ondevice-harness run"
"""Marks the file as ours, so that another tool's JSON is told from a damaged run."""

DIGEST = "digest"
"""The field that vouches for all others."""

_RUN_AGAIN = "name an unchanged run.json, or make one with: harness run"
_UPGRADE = "upgrade with: python -m pip install --upgrade ondevice-harness"

LARGEST_FILE_BYTES = 256 * 2**20
"""1,000 cases of 400 timings at 20 characters, with 100 lines of traffic of 300 each, are 40 MB; six times
that still loads in a minute, and anything larger was not written by the harness."""

NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode_run(run: Run) -> bytes:
    """The run as a file's bytes: ASCII, each verdict on a line of its own, a newline at the end."""
    plain = msgspec.to_builtins(run, enc_hook=_builtin)
    for verdict in plain["verdicts"]:
        for record in (verdict["traffic"], *verdict["controls"]):
            _leave_out_defaults(record)
    content = {"format": FORMAT, "schema_version": plain.pop("schema_version"), **plain}
    sealed = {**content, DIGEST: value_digest(content)}
    lines = (f"{_json(name)}: {_block(value)}" for name, value in sealed.items())
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")


def decode_run(data: bytes, *, source: str) -> Run:
    """The run in a file's bytes; ``source`` is what messages call the file.

    Raises ``FileFormatError``, and nothing else, when the bytes are empty, not text, truncated, another
    tool's, of another schema version, or edited, into something a run cannot hold or otherwise; its one line names the
    file, the place in it and the next step. A file from before there was a digest is read without.
    """
    document = _document(_parsed(data, source), source)
    values = {name: value for name, value in document.items() if name != DIGEST}
    try:
        plain = _restored(values, Run, "$")
        run = msgspec.convert(plain, Run)
    except _UnknownFieldError as error:
        _refuse(source, f"{error} is not a field of this format")
    except msgspec.ValidationError as error:
        complaint, _, path = str(error).partition(" - at ")
        _refuse(source, f"{path.strip('`') or '$'} is wrong: {complaint.replace('`', '')}")
    if DIGEST in document and document[DIGEST] != value_digest({**values, "format": FORMAT}):
        _refuse(source, "was edited after it was written: its digest does not fit its values")
    return run


def read_run(path: Path) -> Run:
    """The run in a ``run.json`` or in the page made of it.

    Raises ``UsageError`` when the file cannot be read, ``FileFormatError`` when it holds no run, or several.
    """
    data, source = _content(path), str(path)
    if is_page(data):
        data = extract(data, source=source, largest=LARGEST_FILE_BYTES)
    return decode_run(data, source=source)


def read_runs(path: Path) -> tuple[Run, ...]:
    """The run in a ``run.json``, or all runs in a page, in its order; at least one, else it raises as ``read_run``."""
    data, source = _content(path), str(path)
    if not is_page(data):
        return (decode_run(data, source=source),)
    found = extract_all(data, source=source, largest=LARGEST_FILE_BYTES)
    return tuple(decode_run(each, source=source) for each in found)


def _content(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):  # opening a named pipe would wait for someone to write into it
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise UsageError(f"{path} is {kind}; {_RUN_AGAIN}")
        with path.open("rb") as stream:
            return stream.read(LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with NUL
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{path} cannot be read: {reason}; {_RUN_AGAIN}") from None


_EVENT_DEFAULTS = msgspec.to_builtins(TimelineEvent(type=EventType.KERNEL, api=""))
"""An event is mostly what most events are: without that, a timeline takes half the bytes."""


def _leave_out_defaults(record: dict[str, Any] | None) -> None:
    """Shorten the events of a record's timeline, in place; reading fills in what is missing."""
    timeline = record["timeline"] if record is not None else None
    if timeline is not None:
        timeline["events"] = [
            {
                name: value
                for name, value in event.items()
                if name in ("type", "api") or value != _EVENT_DEFAULTS[name]
            }
            for event in timeline["events"]
        ]


def _builtin(value: object) -> Any:
    """What msgspec does not write itself: NumPy's numbers, and mappings other than dict."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a run cannot hold {type(value).__name__} {quoted(value)}")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _block(value: Any) -> str:
    """A top-level value; a list of objects has one per line, so that a change shows as one."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(map(_json, value)) + "\n]"
    return _json(value)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:  # some number in it is not finite, which is rare
        return json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)


def _refuse(source: str, problem: str, step: str = _RUN_AGAIN) -> NoReturn:
    raise FileFormatError(f"{source}: {problem}; {step}")


def _parsed(data: bytes, source: str) -> Any:
    if len(data) > LARGEST_FILE_BYTES:
        _refuse(source, f"is larger than {bytes_text(LARGEST_FILE_BYTES)}, the most a run may have")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse(source, f"is not UTF-8 text (byte 0x{data[error.start]:02x} at {error.start:,})")
    if not text.strip():
        _refuse(source, "is empty")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except _MalformedError as error:
        _refuse(source, str(error))
    except json.JSONDecodeError as error:
        if known := foreign_text(text):
            raise FileFormatError(f"{source}: {known}") from None
        if "\0" in text:
            _refuse(source, f"holds NUL bytes (the first at {text.index(chr(0)):,})")
        if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
            first = text.strip().partition("\n")[0]
            _refuse(
                source,
                f"is neither a run nor a page of the harness: it begins with {quoted(first)}",
            )
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        what = "is cut off" if cut else f"is not JSON ({error.msg})"
        _refuse(source, f"{what} at line {error.lineno} column {error.colno}")
    except RecursionError:
        _refuse(source, "nests deeper than any run")
    except ValueError:  # Python refuses to read whole numbers of more than 4,300 digits
        _refuse(source, "holds a whole number of thousands of digits")


class _MalformedError(ValueError):
    """JSON that Python would read and that means nothing here."""


class _UnknownFieldError(ValueError):
    """The path of a field that the model does not have."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _MalformedError(f"has the key {quoted(twice)} twice in one object")
    return plain


def _constant(name: str) -> NoReturn:
    raise _MalformedError(f"holds {name}, which JSON does not have")


def _document(parsed: Any, source: str) -> dict[str, Any]:
    """The top-level object, known to be ours and of our version, without its ``format``."""
    if not isinstance(parsed, dict):
        _refuse(source, "$ is no object, so not a run")
    marked = parsed.pop("format", None)
    if marked != FORMAT:
        tool = foreign_document(parsed)
        what = f"was written by {tool}" if tool else "is not marked as a run"
        what = "is a baseline, not a run" if marked == BASELINE_FORMAT else what
        _refuse(source, f'{what} (its "format" is {quoted(marked)}, not {FORMAT!r})')
    version = parsed.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        _refuse(source, f"$.schema_version is {quoted(version)}, must be a whole number")
    if version > SCHEMA_VERSION:
        problem = (
            f"$.schema_version is {quoted(version)}, this harness reads up to {SCHEMA_VERSION}"
        )
        _refuse(source, problem, _UPGRADE)
    if version < SCHEMA_VERSION:
        _refuse(
            source,
            f"$.schema_version is {quoted(version)}, this harness reads from {SCHEMA_VERSION}",
        )
    return parsed


def _restored(value: Any, kind: Any, path: str) -> Any:
    """``value`` with the numbers that JSON lacks back in place, where ``kind`` wants a number.

    Raises ``_UnknownFieldError`` for a field ``kind`` has not; everything else wrong is left to msgspec.
    """
    if kind is float:
        return NOT_FINITE.get(value, value) if isinstance(value, str) else value
    if isinstance(value, dict) and isinstance(kind, type) and is_dataclass(kind):
        fields = _fields(kind)
        for name in value:
            if name not in fields:
                raise _UnknownFieldError(f"{path}.{quoted(name)[1:-1]}")
        return {
            name: _restored(item, fields[name], f"{path}.{name}") for name, item in value.items()
        }
    arguments = get_args(kind)
    if isinstance(value, dict) and get_origin(kind) is Mapping:
        return {
            name: _restored(item, arguments[1], f"{path}.{quoted(name)[1:-1]}")
            for name, item in value.items()
        }
    if isinstance(value, list) and get_origin(kind) is tuple:
        return [
            _restored(item, arguments[0], f"{path}[{index}]") for index, item in enumerate(value)
        ]
    return _restored(value, arguments[0], path) if type(None) in arguments else value


@cache
def _fields(kind: Any) -> Mapping[str, Any]:
    """Field names to types of a dataclass of the model."""
    return get_type_hints(kind)
