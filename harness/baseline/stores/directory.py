"""The store that is a folder: one reviewed file per baseline, and the history beside them."""

from __future__ import annotations

import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace as replaced
from pathlib import Path

from harness.baseline.codec import LARGEST_FILE_BYTES, decode, encode
from harness.baseline.naming import name_problem
from harness.baseline.stores.base import (
    WAIT_S,
    Say,
    Tail,
    changed_meanwhile,
    check_name,
    differs_by_case,
    say_on_stderr,
    taken,
    unknown,
)
from harness.baseline.stores.history_folder import HistoryFolder
from harness.baseline.stores.locking import locked
from harness.baseline.stores.record_codec import created_us
from harness.baseline.stores.whole_file import (
    not_a_folder,
    reason_of,
    remedy_of,
    remove_abandoned,
    write_whole,
)
from harness.errors import FileFormatError, OutputError, UsageError
from harness.model.baseline import Baseline
from harness.model.history import HistoryRecord
from harness.model.measurement import Sample

__all__ = ["SUFFIX", "DirectoryStore", "read_file"]

SUFFIX = ".json"


class DirectoryStore:
    """A folder with one ``NAME.json`` per baseline; the folder appears with the first save.

    A save writes a hidden file beside the target, flushes it to the disk and renames it, so a reader or
    a crash sees the old file or the new one. Other files in the folder are left alone. The history lies in
    ``history/`` (see ``HistoryFolder``); ``say`` hears what was put right there.
    """

    def __init__(self, folder: Path, *, say: Say = say_on_stderr, wait_s: float = WAIT_S) -> None:
        self.folder = folder
        self._wait_s = wait_s
        self._history = HistoryFolder(folder / "history", say=say, wait_s=wait_s)

    @property
    def where(self) -> str:
        """See ``Store.where``: the folder."""
        return str(self.folder)

    def save(
        self, baseline: Baseline, *, replace: bool = False, instead_of: Baseline | None = None
    ) -> str:
        """See ``Store.save``. Costs two flushes to the disk."""
        check_name(baseline.name)
        data = encode(baseline)
        self._check_case(baseline.name)
        target = self._path(baseline.name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"{self.folder} was not created: {reason_of(error)}; {remedy_of(error)}, and save it again"
            ) from None
        remove_abandoned(self.folder)
        try:
            if instead_of is None:
                write_whole(target, data, replace=replace)
            else:
                self._exchange(instead_of, baseline.name, data)
        except FileExistsError:
            raise taken(baseline.name, self.where) from None
        except OSError as error:
            left = "is as it was" if target.exists() else "does not exist"
            raise OutputError(
                f"{target} was not written: {reason_of(error)}; it {left}: {remedy_of(error)}, and save it again"
            ) from None
        return str(target)

    def _exchange(self, before: Baseline, name: str, data: bytes) -> None:
        with locked(self.folder, wait_s=self._wait_s):
            if name not in self.names() or self.load(name) != before:
                raise changed_meanwhile(name, self.where)
            write_whole(self._path(name), data, replace=True)

    def load(self, name: str) -> Baseline:
        """See ``Store.load``. The file's name counts, so a copied or renamed file loads under it."""
        check_name(name)
        self._refuse_a_file()
        try:
            return replaced(read_file(self._path(name)), name=name)
        except FileNotFoundError:
            raise unknown(name, self.names(), self.where) from None

    def names(self) -> tuple[str, ...]:
        """See ``Store.names``; a folder that does not exist has none."""
        self._refuse_a_file()
        try:
            entries = sorted(self.folder.iterdir())
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise UsageError(f"{self.folder} cannot be listed: {reason_of(error)}") from None
        files = [entry for entry in entries if entry.suffix == SUFFIX and entry.is_file()]
        return tuple(file.stem for file in files if name_problem(file.stem) is None)

    def remove(self, name: str) -> str:
        """See ``Store.remove``; a damaged file can be removed too."""
        check_name(name)
        self._refuse_a_file()
        target = self._path(name)
        try:
            target.unlink()
        except FileNotFoundError:
            raise unknown(name, self.names(), self.where) from None
        except OSError as error:
            raise OutputError(
                f"{target} was not removed: {reason_of(error)}; {remedy_of(error)}"
            ) from None
        return str(target)

    def append(self, records: Sequence[HistoryRecord]) -> int:
        """See ``Store.append``. Costs a look through the history, and three flushes to the disk per month."""
        self._refuse_a_file()
        return self._history.append(records)

    def history(
        self, *, key: str | None = None, comparable: str | None = None, limit: int | None = None
    ) -> tuple[HistoryRecord, ...]:
        """See ``Store.history``. Reads all files whatever is asked for, 10 us per record."""
        self._refuse_a_file()
        found = [
            record
            for record in self._history.records()
            if key in (None, record.key) and comparable in (None, record.comparable)
        ]
        return tuple(found if limit is None else found[max(0, len(found) - limit) :])

    def tails(
        self, wanted: Mapping[str, Collection[str]], *, run_id: str, created: str, limit: int
    ) -> Mapping[str, Tail]:
        """See ``Store.tails``. Reads all files once."""
        self._refuse_a_file()
        until = created_us(created)
        found: dict[str, list[HistoryRecord]] = {}
        for record in self._history.records():
            compares = record.comparable in wanted.get(record.key, ())
            if compares and record.run_id != run_id and created_us(record.created) <= until:
                found.setdefault(record.key, []).append(record)
        return {
            key: Tail(records=tuple(several[-limit:]), earlier=max(0, len(several) - limit))
            for key, several in found.items()
        }

    def sample(self, run_id: str, key: str) -> Sample | None:
        """See ``Store.sample``."""
        return self._history.sample(run_id, key)

    def keys(self) -> tuple[str, ...]:
        """See ``Store.keys``. Reads all files."""
        self._refuse_a_file()
        return tuple(sorted({record.key for record in self._history.records()}))

    def _refuse_a_file(self) -> None:
        if problem := not_a_folder(self.folder):
            raise UsageError(problem)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{SUFFIX}"

    def _check_case(self, name: str) -> None:
        for known in self.names():
            if known != name and known.casefold() == name.casefold():
                raise differs_by_case(name, known, self.where)


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
            f"{path}: cannot be read: {reason_of(error)}; check its permissions"
        ) from None
    return decode(data, source=str(path))
