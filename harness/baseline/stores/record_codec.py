"""A record of history as one line of JSON, and what every store asks of a record.

A line is UTF-8 without line breaks, begins with ``{"schema_version":N,"run_id":`` and has floats as the shortest
text that reads back as the same number. The raw sample is not in it.
"""

from __future__ import annotations

import gc
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from harness.baseline.validation import Problem, quoted
from harness.errors import FileFormatError, OutputError
from harness.model.history import HistoryRecord
from harness.model.measurement import SPEED_PROBABILITIES, Sample, Speed

__all__ = [
    "LINE_START",
    "SCHEMA_VERSION",
    "UPGRADE",
    "checked",
    "collection_paused",
    "created_us",
    "decode_lines",
    "decode_speeds",
    "encode_line",
    "encode_speed",
    "is_run_id",
]

SCHEMA_VERSION = 1
"""Of the history in every store. Raised whenever a field changes meaning or disappears."""

UPGRADE = "upgrade with: python -m pip install --upgrade ondevice-harness"

LINE_START = b'{"schema_version":%d,"run_id":' % SCHEMA_VERSION
"""JSON escapes the quotes in a text, so this stands nowhere but at the start of a record."""

LONGEST_KEY_BYTES = 1000
"""PostgreSQL indexes rows of up to 2,704 bytes; key, run and comparable stand in one together."""

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""What every file system takes as one name: raw samples lie in a file named by the run."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LINE = msgspec.json.Decoder(HistoryRecord)
_SPEED = msgspec.json.Decoder(Speed)


def checked(records: Sequence[HistoryRecord]) -> tuple[HistoryRecord, ...]:
    """The records, each ``(run_id, key)`` once, when every store could give them back; else ``OutputError``."""
    for record in records:
        for path, problem in _problems(record):
            name = f"{quoted(record.key)} of run {quoted(record.run_id)}"
            raise OutputError(f"{name} was not added to the history: {path} {problem}")
    first = {(record.run_id, record.key): record for record in reversed(records)}
    return tuple(reversed(first.values()))


def encode_line(record: HistoryRecord) -> bytes:
    """The record as a line with its newline, without the raw sample."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "run_id": record.run_id,
        "key": record.key,
        "created": record.created,
        "commit": record.commit,
        "dirty": record.dirty,
        "comparable": record.comparable,
        "speed": _plain(record.speed),
    }
    return msgspec.json.encode(content) + b"\n"


def decode_lines(data: bytes, *, source: str) -> list[HistoryRecord]:
    """The records of whole lines; ``source`` is what messages call the file.

    Raises ``FileFormatError`` naming the line. Costs 10 us per record.
    """
    try:
        with collection_paused():
            records = _LINE.decode_lines(data)
    except msgspec.DecodeError as error:
        raise _first_bad_line(data, source) or FileFormatError(f"{source}: {error}") from None
    if data.count(LINE_START) != len(records) and (bad := _first_bad_line(data, source)):
        raise bad
    if not _shaped(record.speed for record in records):
        raise _first_bad_line(data, source) or AssertionError(source)
    return records


def encode_speed(speed: Speed) -> str:
    """The speed as JSON text."""
    return msgspec.json.encode(_plain(speed)).decode()


def decode_speeds(texts: Sequence[str], *, source: str) -> list[Speed]:
    """The speeds in JSON texts, all at once; raises ``FileFormatError`` when one of them is none."""
    try:
        speeds = _SPEED.decode_lines("\n".join(texts))
    except msgspec.DecodeError as error:
        raise FileFormatError(f"{source} holds a damaged speed: {_one_line(error)}") from None
    if len(speeds) != len(texts) or not _shaped(speeds):
        raise FileFormatError(f"{source} holds a damaged speed: not all quantiles are there")
    return speeds


def created_us(created: str) -> int:
    """Microseconds from 1970 to an ISO 8601 time; raises ``ValueError`` when it is none."""
    return (datetime.fromisoformat(created) - _EPOCH) // timedelta(microseconds=1)


@contextmanager
def collection_paused() -> Iterator[None]:
    """No garbage collection meanwhile: 100,000 new records are no garbage, and looking costs as much as reading."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def is_run_id(text: str) -> bool:
    """Whether a run can be called this: letters, digits, ``.``, ``_`` and ``-``, at most 128."""
    return _RUN_ID.fullmatch(text) is not None


def _plain(speed: Speed) -> dict[str, Any]:
    """Plain numbers, also where the speed holds those of NumPy."""
    return {
        "timer": speed.timer,
        "rounds": int(speed.rounds),
        "calls_per_value": int(speed.calls_per_value),
        "seed": int(speed.seed),
        "call_ns": list(map(float, speed.call_ns)),
        "worth": float(speed.worth),
        "relative": list(map(float, speed.relative)),
        "relative_worth": float(speed.relative_worth),
        "commit": speed.commit,
        "created": speed.created,
    }


def _shaped(speeds: Iterator[Speed] | Sequence[Speed]) -> bool:
    whole = len(SPEED_PROBABILITIES)
    return all(
        len(speed.call_ns) == whole and len(speed.relative) in (0, whole) for speed in speeds
    )


def _first_bad_line(data: bytes, source: str) -> FileFormatError | None:
    """What is wrong with the first line that cannot be read; found line by line, since this is rare."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip() and (problem := _line_problem(line)):
            return FileFormatError(f"{source} line {number} {problem}")
    return None


def _line_problem(line: bytes) -> str:
    restore = "restore the file from version control, or take the line out"
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        return "is a conflict of git; keep the records of both sides and take out the markers"
    try:
        version = msgspec.json.decode(line, type=dict[str, Any]).get("schema_version")
        if isinstance(version, bool) or not isinstance(version, int):
            return f"has the schema_version {quoted(version)}, not a whole number; {restore}"
        if version != SCHEMA_VERSION:
            step = UPGRADE if version > SCHEMA_VERSION else restore
            return f"has schema_version {version}, this harness reads {SCHEMA_VERSION}; {step}"
        record = _LINE.decode(line)
    except msgspec.DecodeError as error:
        return f"is no record of history ({_one_line(error)}); {restore}"
    problem = next(_problems(record), None)
    return f"is no record of history ({' '.join(problem)}); {restore}" if problem else ""


def _problems(record: HistoryRecord) -> Iterator[Problem]:
    if not is_run_id(record.run_id):
        yield "run_id", f"is {quoted(record.run_id)}, not letters, digits, '.', '_' and '-'"
    for name in ("key", "comparable", "commit"):
        text = getattr(record, name)
        if text is not None and (problem := _text_problem(text)):
            yield name, problem
    try:
        offset = datetime.fromisoformat(record.created).utcoffset()
    except ValueError:
        offset = None
    if offset != timedelta(0):
        yield "created", f"is {quoted(record.created)}, not an ISO 8601 time in UTC"
    yield from _speed_problems(record.speed)
    if record.sample is not None:
        yield from _sample_problems(record.sample)


def _text_problem(text: str) -> str:
    if not text.strip() or _UNPRINTABLE.search(text):
        return f"is {quoted(text)}, not one line of text"
    if len(text.encode()) > LONGEST_KEY_BYTES:
        return f"has {len(text.encode()):,} bytes, the most is {LONGEST_KEY_BYTES:,}"
    return ""


def _speed_problems(speed: Speed) -> Iterator[Problem]:
    if not _shaped([speed]):
        found = f"{len(speed.call_ns)} and {len(speed.relative)}"
        yield (
            "speed",
            f"has {found} quantiles, not {len(SPEED_PROBABILITIES)} and as many or none",
        )
    for name in ("call_ns", "relative"):
        for value in getattr(speed, name):
            if not 0 < value < math.inf:
                yield f"speed.{name}", f"holds {float(value)}, must be finite and above 0"
                break
    for name in ("worth", "relative_worth"):
        value = getattr(speed, name)
        if not 0 <= value < math.inf:
            yield f"speed.{name}", f"is {float(value)}, must be finite and at least 0"
    yield from _count_problems(speed, ("rounds", "calls_per_value", "seed"), "speed")


def _sample_problems(sample: Sample) -> Iterator[Problem]:
    yield from _count_problems(sample, ("calls_per_value", "warmup_calls", "seed"), "sample")
    if any(not 0 <= start < 2**63 for start in sample.process_starts):
        yield "sample.process_starts", "holds what is no index"


def _count_problems(holder: Speed | Sample, names: Sequence[str], path: str) -> Iterator[Problem]:
    for name in names:
        if abs(getattr(holder, name)) >= 2**63:
            yield f"{path}.{name}", "does not fit 64 bits"
    if _UNPRINTABLE.search(holder.timer):
        yield f"{path}.timer", f"is {quoted(holder.timer)}, not one line of text"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).replace("`", "").split())
