"""A lock between processes that the system takes away from one that is killed."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import OutputError, UnavailableError

__all__ = ["locked"]

_POLL_S = 0.005
"""A writer holds the lock for some 10 ms, so this wastes half of that at most."""


@contextmanager
def locked(path: Path, *, wait_s: float) -> Iterator[None]:
    """Hold the lock of ``path``, a folder, or a file that appears when needed, against processes and threads.

    Raises ``OutputError`` when others hold it for ``wait_s`` or the file system has no locks, and ``OSError`` when
    the file cannot be opened.
    """
    if sys.platform == "win32":
        raise UnavailableError(
            f"{path}: several writers of one folder need POSIX file locks; use --store sqlite:///FILE.db"
        )
    mode = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, mode | os.O_CLOEXEC, 0o666)
    try:
        deadline = time.monotonic() + wait_s
        while not _taken(descriptor, path):
            if time.monotonic() > deadline:
                raise OutputError(
                    f"{path} was held by another process for {wait_s:g} s; "
                    f"see who has it (lsof {path}), end that one and try again"
                )
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)  # gives the lock up


def _taken(descriptor: int, path: Path) -> bool:
    import fcntl  # not on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
            return False
        raise OutputError(
            f"{path} cannot be locked: {error.strerror}; keep the store on a local disk, "
            "or in --store sqlite:///FILE.db or postgresql://..."
        ) from None
    return True
