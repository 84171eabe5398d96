"""Files that are there whole or not at all, whatever happens to the process or the disk."""

from __future__ import annotations

import errno
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

__all__ = [
    "flush_folder",
    "not_a_folder",
    "reason_of",
    "remedy_of",
    "remove_abandoned",
    "write_whole",
]

_UNFINISHED = ".unfinished"
_SQLITE_START = b"SQLite format 3\0"
_DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")

_REMEDIES = {
    errno.ENOSPC: "free space on the disk",
    errno.EDQUOT: "free space within the quota of this user",
    errno.EFBIG: "free space, or raise the limit on the size of files (ulimit -f)",
    errno.EACCES: "make it and its folder writable, or name another store (--store)",
    errno.EPERM: "make it and its folder writable, or name another store (--store)",
    errno.EROFS: "name a store on a disk that can be written (--store)",
}

_LONGEST_START = 50
"""Characters of a name, four bytes each at most: a file system takes 255, and the hidden file's name is longer."""

_ABANDONED_AFTER_S = 3600.0
"""A save takes milliseconds; an unfinished file this old belongs to a process that was killed."""


def write_whole(target: Path, data: bytes, *, replace: bool) -> None:
    """Put the bytes at ``target`` through a hidden file beside it, flushed to the disk.

    Raises ``FileExistsError`` when the file is there and ``replace`` is false, ``OSError`` when it cannot be
    written; nothing is left behind then. Costs two flushes to the disk.
    """
    start = target.name[:_LONGEST_START]
    unfinished = target.with_name(f".{start}.{secrets.token_hex(8)}{_UNFINISHED}")
    try:
        with unfinished.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if replace:
            os.replace(unfinished, target)
        else:
            _link(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
    flush_folder(target.parent)


def flush_folder(folder: Path) -> None:
    """Make a new name survive a power cut, where a folder can be flushed (POSIX, local disks)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def remove_abandoned(folder: Path) -> None:
    """Sweep what killed processes left; another process may be sweeping too."""
    before = time.time() - _ABANDONED_AFTER_S
    for file in folder.glob(f".*{_UNFINISHED}"):
        with suppress(OSError):  # someone else's file may not be ours to remove; the save goes on
            if file.stat().st_mtime < before:
                file.unlink()


def reason_of(error: OSError) -> str:
    """Why the system refused, in its own words."""
    return error.strerror or str(error)


def remedy_of(error: OSError) -> str:
    """What lets a write succeed that the system refused."""
    return _REMEDIES.get(error.errno or 0, "put that right")


def not_a_folder(folder: Path) -> str | None:
    """One line where a file lies in the place of a folder, or of one above it; ``None`` where none does."""
    for place in (folder, *folder.parents):
        if place.is_dir():
            return None
        if place.exists():
            return f"{place} is a file, and a store is a folder{_or_a_database(place)}"
    return None


def _or_a_database(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            database = stream.read(len(_SQLITE_START)) == _SQLITE_START
    except OSError:
        database = False
    if database or file.suffix in _DATABASE_SUFFIXES:
        return f"; a SQLite database is named as sqlite:///{file}"
    return "; name a folder, or move the file away"


def _link(unfinished: Path, target: Path) -> None:
    """Give the file its name unless that is taken; a rename would replace what is there."""
    try:
        os.link(unfinished, target)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise OSError(
                error.errno,
                "this file system has no hard links, which keep two first saves of one name apart; "
                "save with --replace",
            ) from None
        raise
