"""Where reports go: a folder per run, there whole or not at all, and never one on top of another."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from pathlib import Path

from harness.errors import OutputError
from harness.model.verdict import Run
from harness.report.html import render_html
from harness.report.json import encode_run
from harness.report.wording import shortened

__all__ = ["HTML_FILE", "JSON_FILE", "cannot_write", "check_writable", "write_report"]

HTML_FILE = "report.html"
JSON_FILE = "run.json"

_STEPS = {
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.ENOSPC: "free space there, or choose another folder with --output",
    errno.EDQUOT: "free space there, or choose another folder with --output",
}
"""What to do about an error of the system; whatever else it is, another folder may not have it."""

_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""What every file system takes as one name, and what can lead nowhere else."""


def write_report(run: Run, folder: Path) -> Path:
    """Write ``report.html`` and ``run.json`` into ``folder/<run_id>`` and return that folder.

    The run's folder appears in one step with both files flushed to the disk in it. Raises ``OutputError``
    when it exists already, cannot be written or does not fit; then nothing of this run is left behind.
    """
    data = encode_run(run)
    files = {HTML_FILE: render_html(run, data=data).encode(), JSON_FILE: data}
    target = folder / _folder_name(run)
    if os.path.lexists(target):
        raise OutputError(
            f"{target} exists and was left as it is; remove it or choose another folder"
        )
    unfinished = folder / f".{target.name}.{secrets.token_hex(8)}.unfinished"
    try:
        unfinished.mkdir(parents=True)
        for name, data in files.items():
            _write(unfinished / name, data)
        os.rename(unfinished, target)
    except OSError as error:
        raise cannot_write(target, error) from None
    finally:
        shutil.rmtree(
            unfinished, ignore_errors=True
        )  # gone after success; else the error above is told
    return target


def check_writable(folder: Path) -> None:
    """Create ``folder`` and see that a file can be written in it, before hours of work go into one.

    Raises ``OutputError`` with the reason when it cannot.
    """
    trial = folder / f".{secrets.token_hex(8)}.trial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _write(trial, b"can this be written?\n")
        finally:
            trial.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a path with NUL
        raise cannot_write(folder, error) from None


def _folder_name(run: Run) -> str:
    if _FOLDER_NAME.fullmatch(run.run_id):
        return run.run_id
    raise OutputError(
        f"run id {shortened(run.run_id)!r} cannot name a folder; use letters, digits, '.', '_' and '-'"
    )


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def cannot_write(path: Path, error: Exception) -> OutputError:
    """What to raise where ``path`` cannot be written: the system's reason, and what to do about it."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    number = error.errno if isinstance(error, OSError) else None
    step = _STEPS.get(number or 0, "choose another folder with --output")
    return OutputError(f"{shortened(str(path), limit=400)} cannot be written: {reason}; {step}")
