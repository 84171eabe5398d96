"""Where baselines are kept: one interface, and the store that is a folder of reviewed files."""

from __future__ import annotations

import difflib
import errno
import os
import secrets
import stat
import time
from contextlib import suppress
from dataclasses import replace as replaced
from pathlib import Path
from typing import Protocol

from harness.baseline.codec import LARGEST_FILE_BYTES, decode, encode
from harness.baseline.naming import name_problem, portable_name
from harness.errors import FileFormatError, OutputError, UsageError
from harness.model.baseline import Baseline

__all__ = ["SUFFIX", "BaselineStore", "DirectoryStore", "read_file"]

SUFFIX = ".json"
_UNFINISHED = ".unfinished"
_ABANDONED_AFTER_S = 3600.0
"""A save takes milliseconds; an unfinished file this old belongs to a process that was killed."""

_MOST_LISTED = 20
"""Names in one message: a folder of reviewed files has a handful, a line should stay readable."""


class BaselineStore(Protocol):
    """Keeps baselines by name, whole or not at all, for any number of processes at once."""

    def save(self, baseline: Baseline, *, replace: bool = False) -> str:
        """Keep the baseline under its own name and return where, in words for a person.

        Raises ``UsageError`` when the name is not allowed or, without ``replace``, already taken, and
        ``OutputError`` when it cannot be written; whatever was kept before is then still there.
        """
        ...

    def load(self, name: str) -> Baseline:
        """The baseline of that name.

        Raises ``UsageError`` listing the known names when there is none, ``FileFormatError`` when what is
        kept is damaged, foreign, edited or of another schema version.
        """
        ...

    def names(self) -> tuple[str, ...]:
        """Every name that can be loaded, sorted."""
        ...

    def remove(self, name: str) -> str:
        """Forget the baseline of that name and return where it was; raises like ``load`` when there is none."""
        ...


class DirectoryStore:
    """A folder with one ``NAME.json`` per baseline; the folder appears with the first save.

    A save writes a hidden file beside the target, flushes it to the disk and renames it, so a reader or
    a crash sees the old file or the new one. Other files in the folder are left alone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, baseline: Baseline, *, replace: bool = False) -> str:
        """See ``BaselineStore.save``. Costs two flushes to the disk."""
        _check_name(baseline.name)
        data = encode(baseline)
        self._check_case(baseline.name)
        target = self._path(baseline.name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.folder} was not created: {_reason(error)}") from None
        _remove_abandoned(self.folder)
        try:
            _write(target, data, replace=replace)
        except FileExistsError:
            raise UsageError(
                f"baseline {baseline.name!r} exists in {self.folder} and was left as it is; "
                "replace it explicitly (--replace) or choose another name"
            ) from None
        except OSError as error:
            raise OutputError(f"{target} was not written: {_reason(error)}") from None
        return str(target)

    def load(self, name: str) -> Baseline:
        """See ``BaselineStore.load``. The file's name counts, so a copied or renamed file loads under it."""
        _check_name(name)
        try:
            return replaced(read_file(self._path(name)), name=name)
        except FileNotFoundError:
            raise self._unknown(name) from None

    def names(self) -> tuple[str, ...]:
        """See ``BaselineStore.names``; a folder that does not exist has none."""
        try:
            entries = sorted(self.folder.iterdir())
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise UsageError(f"{self.folder} cannot be listed: {_reason(error)}") from None
        files = [entry for entry in entries if entry.suffix == SUFFIX and entry.is_file()]
        return tuple(file.stem for file in files if name_problem(file.stem) is None)

    def remove(self, name: str) -> str:
        """See ``BaselineStore.remove``; a damaged file can be removed too."""
        _check_name(name)
        target = self._path(name)
        try:
            target.unlink()
        except FileNotFoundError:
            raise self._unknown(name) from None
        except OSError as error:
            raise OutputError(f"{target} was not removed: {_reason(error)}") from None
        return str(target)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{SUFFIX}"

    def _check_case(self, name: str) -> None:
        """Refuse a name that a file system without case would take for another one's file."""
        for known in self.names():
            if known != name and known.casefold() == name.casefold():
                raise UsageError(
                    f"baseline {name!r} differs from {known!r} in {self.folder} only by case, which some "
                    "file systems cannot keep apart; choose another name"
                )

    def _unknown(self, name: str) -> UsageError:
        known = self.names()
        if not known:
            hint = "none is saved there; save one with: harness baseline save"
        else:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
            hint += f"known: {', '.join(known[:_MOST_LISTED])}{more}"
        return UsageError(f"no baseline {name!r} in {self.folder}; {hint}")


def read_file(path: Path) -> Baseline:
    """The baseline in one file, wherever it lies.

    Raises ``FileNotFoundError`` when there is none (the caller knows what was asked for) and
    ``FileFormatError`` for everything else that is not a readable baseline.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):  # opening a named pipe would wait for someone to write into it
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise FileFormatError(f"{path}: is {kind}; name a baseline's file")
        with path.open("rb") as stream:
            data = stream.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FileFormatError(
            f"{path}: cannot be read: {_reason(error)}; check its permissions"
        ) from None
    return decode(data, source=str(path))


def _check_name(name: str) -> None:
    problem = name_problem(name)
    if problem is None:
        return
    better = portable_name(name)
    hint = f"; use {better!r}" if better else ""
    raise UsageError(f"baseline name {ascii(name)[:120]} is not allowed: {problem}{hint}")


def _write(target: Path, data: bytes, *, replace: bool) -> None:
    """Put the bytes at ``target`` whole or not at all; raises ``OSError`` and leaves nothing behind."""
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(8)}{_UNFINISHED}")
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
    _flush_folder(target.parent)


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


def _flush_folder(folder: Path) -> None:
    """Make the rename survive a power cut, where a folder can be flushed (POSIX, local disks)."""
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


def _remove_abandoned(folder: Path) -> None:
    """Sweep what killed processes left; another process may be sweeping too."""
    before = time.time() - _ABANDONED_AFTER_S
    for file in folder.glob(f".*{SUFFIX}.*{_UNFINISHED}"):
        with suppress(OSError):  # someone else's file may not be ours to remove; the save goes on
            if file.stat().st_mtime < before:
                file.unlink()


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
