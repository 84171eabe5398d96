"""One file, there whole or as it was."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from harness.errors import OutputError
from harness.report.wording import shortened

__all__ = ["check_replaceable", "replace_file"]


def replace_file(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` in one step, in the place of a file of that name; folders are created.

    A link stays one and its target is replaced; a device or a pipe is written to. Raises ``OutputError`` where that
    cannot be; the file is then as it was.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.unfinished")
        try:
            with unfinished.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(unfinished, target)
        finally:
            unfinished.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a path with NUL
        raise _refusal(path, error) from None


def check_replaceable(path: Path) -> None:
    """See that ``path`` can be written before hours of work go into it, and create its folder.

    Raises ``OutputError`` as ``replace_file`` would; what is there stays as it is.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            if target.is_dir():
                raise IsADirectoryError(None, "it is a folder")
            return
        trial = target.with_name(f".{secrets.token_hex(8)}.trial")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            trial.touch(exist_ok=False)
        finally:
            trial.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise _refusal(path, error) from None


def _refusal(path: Path, error: Exception) -> OutputError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    shown = shortened(str(path), limit=400)
    return OutputError(f"{shown} cannot be written: {reason}; choose another file")
