"""``selfcheck.json``: the latest self-check of every op, by machine, in the folder of reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from harness.errors import FileFormatError
from harness.model.selfcheck import SCHEMA_VERSION, MachineChecks, SelfCheck
from harness.model.verdict import Run
from harness.report.files import cannot_write
from harness.report.wording import shortened
from harness.report.writing import put
from harness.units import bytes_text

__all__ = ["FORMAT", "SELF_CHECK_FILE", "read_self_checks", "save_self_checks", "with_self_checks"]

SELF_CHECK_FILE = "selfcheck.json"
FORMAT = "ondevice-harness self-check"
"""Marks the file as ours."""

_LARGEST_BYTES = 64 << 20
"""A check of one op has about 2 kB: 1,000 ops on 30 machines. What is larger was not written by the harness."""

_MOST_MACHINES = 30
"""The runners of a fleet that share one folder; the machine checked longest ago is forgotten."""

_DEVICES = "devices"
"""A comparison of two versions only times, a run also watches: the same machine, with other devices in use."""

_NEXT = "remove it and check again: harness selfcheck"


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    format: str
    schema_version: int
    machines: tuple[MachineChecks, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marks:
    """What says whether the rest can be read."""

    format: str = ""
    schema_version: int = 0


def read_self_checks(folder: Path) -> tuple[MachineChecks, ...]:
    """Every machine in the folder's file, the latest first; none where there is no file.

    Raises ``FileFormatError`` when the file cannot be read or holds something else.
    """
    path = folder / SELF_CHECK_FILE
    try:
        if path.exists() and not path.is_file():
            raise FileFormatError(f"{_shown(path)} is no regular file; {_NEXT}")
        with path.open("rb") as stream:
            data = stream.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:  # ValueError: a path with NUL
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise FileFormatError(f"{_shown(path)} cannot be read: {reason}; {_NEXT}") from None
    return _decoded(data, _shown(path))


def save_self_checks(hard: Mapping[str, str], checks: Sequence[SelfCheck], folder: Path) -> Path:
    """Keep the checks of the machine that these hard facts name; other machines and other ops of it stay.

    The file appears in one step. Raises ``OutputError`` when it cannot be written and ``FileFormatError`` when what
    is there cannot be read; whatever was there stays.
    """
    path = folder / SELF_CHECK_FILE
    machines = _merged(read_self_checks(folder), _machine(hard), checks)
    content = _File(format=FORMAT, schema_version=SCHEMA_VERSION, machines=machines)
    text = json.dumps(msgspec.to_builtins(content), indent=1, allow_nan=False)
    try:
        put(path, f"{text}\n".encode("ascii"))
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from None
    return path


def with_self_checks(run: Run, folder: Path) -> Run:
    """The run with the self-checks of its machine on the devices it timed on.

    A file that cannot be read becomes a note, for it fails no run.
    """
    try:
        machines = read_self_checks(folder)
    except FileFormatError as error:
        return replace(run, notes=(*run.notes, f"no self-check is shown: {error}"))
    hard = _machine(run.environment.hard)
    mine = next((machine.checks for machine in machines if machine.hard == hard), ())
    timed_on = {verdict.timing_device for verdict in run.verdicts if verdict.call_time is not None}
    shown = (check for check in mine if not timed_on or check.device in timed_on)
    return replace(run, self_checks=tuple(shown))


def _machine(hard: Mapping[str, str]) -> dict[str, str]:
    """The facts that name a machine: all but where arrays were; a check says itself what it was timed on."""
    return {name: value for name, value in hard.items() if name != _DEVICES}


def _merged(
    machines: Sequence[MachineChecks], hard: dict[str, str], checks: Sequence[SelfCheck]
) -> tuple[MachineChecks, ...]:
    others = [machine for machine in machines if machine.hard != hard]
    before = next((machine.checks for machine in machines if machine.hard == hard), ())
    latest = {(check.key, check.device): check for check in (*before, *checks)}
    mine = MachineChecks(hard=hard, checks=tuple(latest.values()))
    return (mine, *others)[:_MOST_MACHINES]


def _decoded(data: bytes, source: str) -> tuple[MachineChecks, ...]:
    if len(data) > _LARGEST_BYTES:
        raise FileFormatError(f"{source} is larger than {bytes_text(_LARGEST_BYTES)}; {_NEXT}")
    try:
        plain = json.loads(
            data.decode("utf-8")
        )  # unlike msgspec's own, takes what no encoding can hold
        marks = msgspec.convert(plain, _Marks)
        if marks.format != FORMAT:
            raise FileFormatError(f"{source} is no self-check of this harness; {_NEXT}")
        if marks.schema_version > SCHEMA_VERSION:
            raise FileFormatError(
                f"{source}: $.schema_version is {marks.schema_version}, this harness reads up to {SCHEMA_VERSION}; "
                "upgrade with: python -m pip install --upgrade ondevice-harness"
            )
        return msgspec.convert(plain, _File).machines
    except (ValueError, RecursionError) as error:  # of JSON, UTF-8 and msgspec alike
        problem = shortened(str(error).replace("`", "")) or "is damaged"
        raise FileFormatError(f"{source}: {problem}; {_NEXT}") from None


def _shown(path: Path) -> str:
    return shortened(str(path), limit=400)
