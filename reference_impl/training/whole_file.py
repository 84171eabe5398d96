"""Files that are there whole or as they were, and nobody else's.

``reference_impl`` imports nothing of ``harness``, so these few lines are its own.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from reference_impl.training.errors import InputError

__all__ = ["check_replaceable", "replace_file"]


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill the file in one step, flushed to the disk; raises ``OSError``, and the file is as before.

    A link stays one and its target is replaced; a device or a pipe is written to.
    """
    if not _replaceable(path):
        with path.open("wb") as stream:
            write(stream)
        return
    target = Path(os.path.realpath(path))
    unfinished = target.with_name(
        f".{target.name[:_LONGEST_START]}.{secrets.token_hex(8)}.unfinished"
    )
    try:
        with unfinished.open("xb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(unfinished, target)
        _flush_folder(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def check_replaceable(path: Path, mark: bytes, *, what: str) -> None:
    """See before hours of work that ``path`` can be written, and is free, empty, or holds ``mark`` near its start.

    Raises ``InputError`` otherwise, and leaves what is there.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise InputError(f"{path} is a folder; name a file for the {what}")
        if not _replaceable(path):
            return
        if not target.parent.is_dir():
            raise InputError(
                f"{what} {path} could not be written: {target.parent} is no folder; "
                "make it, or name another file"
            )
        if target.exists():
            with target.open("rb") as stream:
                start = stream.read(_START_BYTES)
            if start and mark not in start:
                raise InputError(f"{path} exists and is no {what}; remove it or name another file")
        trial = target.with_name(f".{secrets.token_hex(8)}.trial")
        try:
            trial.touch(exist_ok=False)
        finally:
            trial.unlink(missing_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{what} {path} could not be written: {why}; name another file") from error


def _replaceable(path: Path) -> bool:
    """Whether it is a regular file, or nothing yet; ``OSError`` where no such name can be."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


_LONGEST_START = 50
"""Characters of a name, four bytes each at most: with what is added, a file system takes 255."""

_START_BYTES = 4096
"""A record names its format in its first line, a checkpoint in its first entry."""


def _flush_folder(folder: Path) -> None:
    # The new name is on the disk once its folder is.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
