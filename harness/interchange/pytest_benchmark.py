"""pytest-benchmark's JSON: read as a baseline, and written so that its own commands read it.

The format is that of version 3.1 and later: ``machine_info``, ``commit_info``, ``datetime``, ``version`` and
``benchmarks``, each with ``fullname`` (the test's node id), ``options.timer`` and ``stats``, whose ``data`` are seconds per
call. What is ours stands under the key ``harness`` of ``machine_info`` and of ``extra_info``, where every tool that reads
this format leaves it alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import msgspec

from harness.baseline.foreign import foreign_document, foreign_text
from harness.baseline.validation import quoted
from harness.errors import FileFormatError
from harness.interchange.seal import DIGEST_KEY, digest_of, digest_of_fields
from harness.model.environment import Environment
from harness.model.measurement import Sample, Speed, Throughput
from harness.stats.speed import speed_of
from harness.units import bytes_text

__all__ = [
    "EXTRA_KEY",
    "LARGEST_FILE_BYTES",
    "SCHEMA_VERSION",
    "BenchmarkFile",
    "StoredBenchmark",
    "decode_benchmarks",
    "timer_label",
]

EXTRA_KEY = "harness"
"""Where our own fields stand in the objects of this format."""

SCHEMA_VERSION = 1
"""Of those fields; raised whenever one changes meaning or disappears."""

LARGEST_FILE_BYTES = 256 * 2**20
"""A benchmark of 200 timings is 14 kB as pytest-benchmark indents it, so this is 18,000 of them."""

_LONGEST_S = 1e6
"""Eleven days for one call; beyond is a damaged file."""

_SAVE_AGAIN = "save it again with: pytest --harness-benchmark-json FILE"
_UPGRADE = "upgrade with: python -m pip install --upgrade ondevice-harness"


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBenchmark:
    """One test as the file has it.

    ``speeds`` holds that of the raw timings and, where it was timed beside a frozen peer, that of the pair;
    ``why_none`` says why there is neither. ``throughput`` is the work of one call, where it was declared. ``sealed``
    says that a digest vouches for what the file says being what was measured.
    """

    fullname: str
    speeds: tuple[Speed, ...] = ()
    throughput: Throughput | None = None
    why_none: str = ""
    sealed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkFile:
    """What the file says, by node id of the test.

    ``environment`` is ours, ``None`` where the file was written without the harness; ``machine`` holds what
    pytest-benchmark itself knows of the machine, by dotted name.
    """

    benchmarks: Mapping[str, StoredBenchmark]
    created: str
    commit: str | None
    environment: Environment | None
    machine: Mapping[str, str]


def timer_label(timer: str) -> str:
    """What a sample of pytest-benchmark's own rounds says it was taken with; never equal to a timer of ours."""
    return f"pytest-benchmark {timer}"


def decode_benchmarks(data: bytes, *, source: str) -> BenchmarkFile:
    """The benchmarks in a file's bytes; ``source`` is what messages call the file.

    Raises ``FileFormatError``, and nothing else, where it is empty, cut off, another tool's, or holds timings that
    are none or were edited after they were written; its one line names the file, the place and the next step. A benchmark saved without its timings, or
    standing twice, is kept and says so. Costs about 0.1 s per 10 MB.
    """
    document = _document(_parsed(data, source), source)
    machine = _object(document.get("machine_info", {}), "$.machine_info", source)
    commit = _object(document.get("commit_info", {}), "$.commit_info", source)
    found: dict[str, StoredBenchmark] = {}
    for index, plain in enumerate(_list(document["benchmarks"], "$.benchmarks", source)):
        stored = _benchmark(plain, f"$.benchmarks[{index}]", source)
        if stored.fullname in found:
            stored = StoredBenchmark(fullname=stored.fullname, why_none="stands twice in the file")
        found[stored.fullname] = stored
    return BenchmarkFile(
        benchmarks=found,
        created=_text_of(document.get("datetime")),
        commit=_text_of(commit.get("id")) or None,
        environment=_environment(machine, commit, source),
        machine=_machine(machine),
    )


def _benchmark(plain: Any, path: str, source: str) -> StoredBenchmark:
    entry = _object(plain, path, source)
    fullname = entry.get("fullname")
    if not isinstance(fullname, str) or not fullname:
        _refuse(source, f"{path}.fullname", f"is {quoted(fullname)}, must be the id of a test")
    stats = _object(entry.get("stats", {}), f"{path}.stats", source)
    ours = _ours(entry.get("extra_info"), f"{path}.extra_info", source)
    options = _object(entry.get("options") or {}, f"{path}.options", source)
    place = f"{path}.extra_info.{EXTRA_KEY}"
    speeds = []
    data = stats.get("data")
    if data is not None:
        timer = ours.get("data_timer") or timer_label(_text_of(options.get("timer")))
        calls = stats.get("iterations", 1)
        speeds.append(_speed(data, _text_of(timer), calls, f"{path}.stats", source))
    if "speed" in ours:
        speeds.append(_converted(ours["speed"], Speed, f"{place}.speed", source))
    throughput = None
    if "throughput" in ours:
        throughput = _converted(ours["throughput"], Throughput, f"{place}.throughput", source)
    why_none = "" if speeds else "was saved without its timings; add --benchmark-save-data"
    return StoredBenchmark(
        fullname=fullname,
        speeds=tuple(speeds),
        throughput=throughput,
        why_none=why_none,
        sealed=_is_sealed(entry, ours, place, source),
    )


def _is_sealed(entry: Mapping[str, Any], ours: Mapping[str, Any], place: str, source: str) -> bool:
    """Whether the benchmark has the digest of its content; one with another was edited, one without may have been."""
    if DIGEST_KEY not in ours:
        return False
    if ours[DIGEST_KEY] != digest_of(entry, ours):
        problem = f"does not fit {quoted(entry['fullname'])}, which was edited after it was timed"
        _refuse(source, f"{place}.{DIGEST_KEY}", problem)
    return True


def _speed(data: Any, timer: str, calls: Any, path: str, source: str) -> Speed:
    values = _list(data, f"{path}.data", source)
    if not values:
        _refuse(source, f"{path}.data", "holds no timing")
    for index, value in enumerate(values):
        number = isinstance(value, float | int) and not isinstance(value, bool)
        if not number or not 0 < value <= _LONGEST_S:
            _refuse(
                source, f"{path}.data[{index}]", f"is {quoted(value)}, not the seconds of a call"
            )
    if not isinstance(calls, int) or calls < 1:
        _refuse(source, f"{path}.iterations", f"is {quoted(calls)}, must be at least 1")
    return speed_of(
        Sample(
            call_ns=tuple(value * 1e9 for value in values),
            calls_per_value=calls,
            warmup_calls=0,
            timer=timer,
            seed=0,
        )
    )


def _environment(
    machine: Mapping[str, Any], commit: Mapping[str, Any], source: str
) -> Environment | None:
    ours = _ours(machine, "$.machine_info", source)
    if not ours:
        return None
    place = f"$.machine_info.{EXTRA_KEY}"
    found = _converted(ours.get("environment"), Environment, f"{place}.environment", source)
    if ours.get(DIGEST_KEY, digest_of_fields(ours)) != digest_of_fields(ours):
        problem = "does not fit the machine's facts, which were edited after they were written"
        _refuse(source, f"{place}.{DIGEST_KEY}", problem)
    dirty = commit.get("dirty")
    return replace(
        found,
        commit=_text_of(commit.get("id")) or None,
        dirty=dirty if isinstance(dirty, bool) else None,
    )


def _machine(plain: Mapping[str, Any]) -> dict[str, str]:
    """The few facts of pytest-benchmark that decide whether timings may be compared."""
    cpu = plain.get("cpu")
    facts = {
        "system": plain.get("system"),
        "machine": plain.get("machine"),
        "python_implementation": plain.get("python_implementation"),
        "python_version": plain.get("python_version"),
        "cpu.brand_raw": cpu.get("brand_raw") if isinstance(cpu, dict) else None,
        "cpu.count": cpu.get("count") if isinstance(cpu, dict) else None,
    }
    return {name: str(value) for name, value in facts.items() if isinstance(value, str | int)}


def _ours(holder: Any, path: str, source: str) -> Mapping[str, Any]:
    """Our own fields in an object of the format; empty where there are none."""
    if not isinstance(holder, dict) or EXTRA_KEY not in holder:
        return {}
    ours = _object(holder[EXTRA_KEY], f"{path}.{EXTRA_KEY}", source)
    version = ours.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        _refuse(source, f"{path}.{EXTRA_KEY}.schema_version", f"is {quoted(version)}")
    if version > SCHEMA_VERSION:
        problem = f"is {version}, this harness reads up to {SCHEMA_VERSION}"
        _refuse(source, f"{path}.{EXTRA_KEY}.schema_version", problem, _UPGRADE)
    return ours


def _converted(value: Any, kind: type[_T], path: str, source: str) -> _T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        complaint, _, inner = str(error).partition(" - at ")
        where = inner.strip("`").removeprefix("$")
        _refuse(source, f"{path}{where}", f"is wrong: {complaint.replace('`', '')}")


def _document(parsed: Any, source: str) -> dict[str, Any]:
    document = _object(parsed, "$", source)
    tool = foreign_document(document)
    if tool not in (None, "pytest-benchmark"):
        _refuse(source, "", f"was written by {tool}, not by pytest-benchmark")
    if "benchmarks" not in document:
        _refuse(source, "", "holds no benchmarks, so it is not pytest-benchmark's")
    return document


def _parsed(data: bytes, source: str) -> Any:
    if len(data) > LARGEST_FILE_BYTES:
        limit = bytes_text(LARGEST_FILE_BYTES)
        _refuse(source, "", f"is larger than {limit}, the most such a file may have")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse(source, "", f"is not UTF-8 text (byte 0x{data[error.start]:02x})")
    if not text.strip():
        _refuse(source, "", "is empty")
    try:
        return json.loads(text, parse_constant=_constant)
    except json.JSONDecodeError as error:
        if known := foreign_text(text):
            raise FileFormatError(f"{source}: {known}") from None
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        what = "is cut off" if cut else f"is not JSON ({error.msg})"
        _refuse(source, "", f"{what} at line {error.lineno} column {error.colno}")
    except RecursionError:
        _refuse(source, "", "nests deeper than any such file")
    except ValueError:  # Python refuses to read whole numbers of more than 4,300 digits
        _refuse(source, "", "holds a whole number of thousands of digits")


def _constant(name: str) -> float:
    """pytest-benchmark writes what JSON lacks as Python does; none of it is a time, which is checked later."""
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}[name]


def _object(value: Any, path: str, source: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(source, path, f"is {quoted(value)}, must be an object")
    return value


def _list(value: Any, path: str, source: str) -> list[Any]:
    if not isinstance(value, list):
        _refuse(source, path, f"is {quoted(value)}, must be a list")
    return value


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _refuse(source: str, path: str, problem: str, step: str = _SAVE_AGAIN) -> NoReturn:
    place = f"{path} " if path else ""
    raise FileFormatError(f"{source}: {place}{problem}; {step}")
