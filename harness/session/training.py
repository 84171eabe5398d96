"""What a training program did, from plain data: offered by a case, or in the record a program wrote."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import FileFormatError, HarnessError, UsageError, WorkloadError
from harness.model.training import Training
from harness.model.workload import Case
from harness.session.foreign import foreign

__all__ = [
    "RECORD_FORMAT",
    "offers_training",
    "read_record",
    "read_records",
    "training_of",
    "training_offered",
]

RECORD_FORMAT = "ondevice-harness training record"
"""Marks a file as one of ours."""

_SCHEMA_VERSION = 1

_LARGEST_FILE_BYTES = 16 * 2**20
"""A hundred thousand points of a curve with its band are 8 MB."""


def offers_training(case: Case) -> bool:
    """Whether it has ``training(inputs)``."""
    return _offer(case) is not None


def training_offered(case: Case, inputs: Mapping[str, Any]) -> Training | None:
    """What ``case.training(inputs)`` gives on host arrays of its own; ``None`` for a case that offers none.

    Raises ``WorkloadError`` with one line where it raises, or gives what is no training.
    """
    offer = _offer(case)
    if offer is None:
        return None
    with foreign(f"{case.name}: training()"):
        plain = offer({name: array.copy() for name, array in inputs.items()})
    return training_of(plain, where=f"{case.name}: training()", error=WorkloadError)


def _offer(case: Case) -> Callable[..., object] | None:
    offer = getattr(case, "training", None)
    return offer if callable(offer) else None


def read_records(paths: Sequence[Path]) -> tuple[Training, ...]:
    """The trainings in the files that programs' ``--record`` wrote; ``UsageError`` where two are the same."""
    read: dict[Path, Training] = {}
    for path in paths:
        training = read_record(path)
        for earlier, its in read.items():
            if training == its:
                same = "is given twice" if path == earlier else f"holds the same as {earlier}"
                raise UsageError(f"{path}: {same}; give each training record once")
        read[path] = training
    return tuple(read.values())


def read_record(path: Path) -> Training:
    """The training in the file a program's ``--record`` wrote.

    Raises ``UsageError`` where it cannot be read, ``FileFormatError`` where it is no record.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(data) > _LARGEST_FILE_BYTES:
        raise FileFormatError(
            f"{path}: is larger than any training record; name one --record wrote"
        )
    if not data.strip():
        raise FileFormatError(f"{path}: is empty; name a file that --record wrote")
    try:
        plain = json.loads(data)
    except (ValueError, RecursionError):
        raise FileFormatError(f"{path}: is no JSON; name a file that --record wrote") from None
    if not isinstance(plain, dict) or plain.get("format") != RECORD_FORMAT:
        raise FileFormatError(f"{path}: is no training record; name a file that --record wrote")
    if plain.get("schema_version") != _SCHEMA_VERSION:
        version = plain.get("schema_version")
        raise FileFormatError(
            f"{path}: is of schema version {version!r}, and {_SCHEMA_VERSION} is read; write it anew"
        )
    rest = {
        name: value for name, value in plain.items() if name not in ("format", "schema_version")
    }
    return training_of(rest, where=str(path), error=FileFormatError)


def training_of(
    plain: object, *, where: str, error: Callable[[str], HarnessError] = WorkloadError
) -> Training:
    """``plain`` as a ``Training``, its fields those of ``harness/model/training.py``.

    Raises ``error`` with one line that says where and what: a field that is unknown, missing or of the wrong kind, a
    number that is not finite, a band that is upside down, a program or a curve without a name, nothing to show.
    """
    try:
        training = msgspec.convert(plain, Training)
    except msgspec.ValidationError as problem:
        complaint, _, path = str(problem).partition(" - at ")
        raise error(f"{where}: {path.strip('`') or '$'} is wrong: {complaint}") from None
    known = msgspec.to_builtins(training)
    complaint = _unknown(plain, known, "$") or _unsound(training)
    if complaint:
        raise error(f"{where}: {complaint}")
    return training


def _unknown(plain: object, known: object, path: str) -> str:
    if isinstance(plain, Mapping) and isinstance(known, Mapping):
        for name, value in plain.items():
            if name not in known:
                return f"{path}.{name} is not a field of a training"
            if found := _unknown(value, known[name], f"{path}.{name}"):
                return found
    elif isinstance(plain, list | tuple) and isinstance(known, list | tuple):
        for i, (value, its) in enumerate(zip(plain, known, strict=True)):
            if found := _unknown(value, its, f"{path}[{i}]"):
                return found
    return ""


def _unsound(training: Training) -> str:
    if not training.program or not training.data:
        return "program and data must be named"
    if not training.curves and not training.timings:
        return "holds neither curves nor timings, so there is nothing to show"
    for curve in training.curves:
        band = curve.band.points if curve.band is not None else ()
        if not curve.name or not curve.points:
            return "a curve needs a name and points"
        if not all(
            map(math.isfinite, (value for point in (*curve.points, *band) for value in point))
        ):
            return f"curve {curve.name!r} holds a number that is not finite"
        if any(low > high for _, low, high in band):
            return f"the band of curve {curve.name!r} has its lowest above its highest"
    for timing in training.timings:
        if not timing.label or not timing.stages:
            return "a timing needs a label and stages"
        numbers = [timing.per_second, *(stage.seconds for stage in timing.stages)]
        numbers += [s.published_s for s in timing.stages if s.published_s is not None]
        if not all(math.isfinite(number) for number in numbers):
            return f"timing {timing.label!r} holds a number that is not finite"
        if any(count is not None and count < 0 for count in (timing.syncs, timing.reads)):
            return f"timing {timing.label!r} counts below 0"
    return ""
