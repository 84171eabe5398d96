"""What the user chose: options of the command line, which win, and of the ini file."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

import pytest

__all__ = [
    "MARK",
    "SETTINGS",
    "Inconclusive",
    "Settings",
    "add_options",
    "check_writable",
    "chosen",
    "device_name_is_known",
    "read_settings",
    "refuse_foreign",
]

MARK = "limit_transfers"

_DEVICES = re.compile(r"auto|simulated|cpu|cuda:\d+")
"""The names ``harness.devices.registry`` knows, without importing it (and NumPy) before a test needs it."""

_REPORT_SUFFIXES = (".html", ".htm")


class Inconclusive(Enum):
    """What becomes of a test whose limits were neither kept nor exceeded for sure; it never passes."""

    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of one session. ``report`` is absolute, ``None`` when no report is wanted."""

    device: str
    inconclusive: Inconclusive
    report: Path | None


SETTINGS = pytest.StashKey[Settings]()
"""Where the session's config keeps them."""


def add_options(parser: pytest.Parser) -> None:
    """Declare the options, each with an ini option of the same name."""
    group = parser.getgroup("harness", "harness: host/device traffic of GPU code")
    device = "Device that tests run on: auto (the GPU when there is one, else simulated), simulated, cpu or cuda:N"
    inconclusive = "What a test becomes when its limits could not be checked: fail (default) or skip; it never passes"
    report = "Write one HTML report of all traced tests to this file"
    group.addoption("--harness-device", metavar="NAME", help=f"{device}.")
    group.addoption("--harness-inconclusive", metavar="fail|skip", help=f"{inconclusive}.")
    group.addoption("--harness-report", metavar="FILE.html", help=f"{report}.")
    parser.addini("harness_device", f"{device}.", default="auto")
    parser.addini("harness_inconclusive", f"{inconclusive}.", default="")
    parser.addini("harness_report", f"{report}, relative to the root folder.", default="")


def read_settings(config: pytest.Config) -> Settings:
    """The options of this session, checked.

    Raises ``pytest.UsageError`` for an unknown device or policy and, except in an xdist worker (which never
    writes), for a report that cannot be written; folders on the way to the report are created.
    """
    return Settings(
        device=_device(config),
        inconclusive=_inconclusive(config),
        report=_report(config),
    )


def device_name_is_known(name: str) -> bool:
    """Whether a device of this name may exist; whether this machine has it, its first user finds out."""
    return _DEVICES.fullmatch(name) is not None


def _device(config: pytest.Config) -> str:
    name, source = chosen(config, "device")
    if not device_name_is_known(name):
        raise pytest.UsageError(
            f"{source}: unknown device {name!r}; use auto, simulated, cpu or cuda:N"
        )
    return name


def _inconclusive(config: pytest.Config) -> Inconclusive:
    name, source = chosen(config, "inconclusive")
    if not name and not source.startswith("--"):
        return Inconclusive.FAIL
    try:
        return Inconclusive(name)
    except ValueError:
        known = " or ".join(policy.value for policy in Inconclusive)
        raise pytest.UsageError(f"{source}: unknown policy {name!r}; use {known}") from None


def _report(config: pytest.Config) -> Path | None:
    name, source = chosen(config, "report")
    if not name:
        return None
    if not name.lower().endswith(_REPORT_SUFFIXES):
        # above all `--harness-report tests/test_op.py`, which must not overwrite that test
        raise pytest.UsageError(f"{source}: {name!r} does not end in .html; name the file to write")
    on_command_line = source.startswith("--")
    folder = config.invocation_params.dir if on_command_line else config.rootpath
    path = Path(os.path.abspath(folder / name))
    if not hasattr(config, "workerinput"):
        check_writable(path, source)
        refuse_foreign(path, source, form="PAGE")
    return path


def refuse_foreign(path: Path, source: str, *, form: Literal["PAGE", "BENCHMARKS"]) -> None:
    """``pytest.UsageError`` where there is a file of another form than this one of ``harness.report.recognition``."""
    if not path.exists():
        return
    from harness.errors import UsageError
    from harness.report import recognition

    try:
        recognition.refuse_foreign(path, getattr(recognition, form))
    except UsageError as error:
        raise pytest.UsageError(f"{source}: {error}") from None


def check_writable(path: Path, source: str) -> None:
    """See that a file can be written, before hours of tests go into it; ``pytest.UsageError`` when not."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        # permissions do not tell for root, read-only mounts and full disks: only writing does
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            probe.write(b"\0")
    except OSError as error:
        reason = error.strerror or str(error)
        raise pytest.UsageError(
            f"{source}: {path} cannot be written: {reason}; name another file"
        ) from None


def chosen(config: pytest.Config, name: str) -> tuple[str, str]:
    """The value of an option and where it was given, for the error message."""
    on_command_line = config.getoption(f"harness_{name}")
    if on_command_line is not None:
        return str(on_command_line), f"--harness-{name.replace('_', '-')}"
    return str(config.getini(f"harness_{name}")), f"ini option harness_{name}"
