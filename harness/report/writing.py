"""One file, there whole or as it was."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from harness.baseline.stores.whole_file import write_whole
from harness.errors import OutputError
from harness.report.wording import shortened

__all__ = ["check_replaceable", "put", "replace_file"]


def replace_file(path: Path, data: bytes) -> None:
    """As ``put``, for a file a person named: raises ``OutputError`` where it cannot be, and the file is as it was."""
    try:
        put(path, data)
    except (OSError, ValueError) as error:  # ValueError: a path with NUL
        raise _refusal(path, error) from None


def put(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` in one step, in the place of a file of that name; folders are created.

    A link stays one and its target is replaced; a device or a pipe is written to. Raises what the system raises.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, data, replace=True)


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
