"""The history as files: a line per record that is only ever added, and the raw samples of each run beside.

::

    history/2026-01.jsonl        what was measured in that month, one line per record
    history/samples/RUN.samples  raw timings of one run; not for git, which would keep them for ever
    history/.lock                held while something is added

Lines are added under the lock and flushed to the disk before it is given up. Whoever is killed in between leaves
at most a part of a line at the end, which readers pass over and the next writer takes out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from harness.baseline.stores.base import Say
from harness.baseline.stores.locking import locked
from harness.baseline.stores.record_codec import (
    LINE_START,
    checked,
    created_us,
    decode_lines,
    encode_line,
    is_run_id,
)
from harness.baseline.stores.sample_codec import (
    decode_file,
    decode_sample,
    encode_file,
    encode_sample,
)
from harness.baseline.stores.whole_file import (
    flush_folder,
    not_a_folder,
    reason_of,
    remedy_of,
    remove_abandoned,
    write_whole,
)
from harness.errors import FileFormatError, OutputError, UnavailableError
from harness.model.history import HistoryRecord
from harness.model.measurement import Sample

__all__ = ["HistoryFolder"]

_FOR_GIT = {
    ".gitignore": "# Raw samples would stay in every clone for ever; the speeds beside them are what is read.\n"
    "/samples/\n/.lock\n.*.unfinished\n",
    ".gitattributes": "# Two branches that both added lines: keep all of them, in any order.\n"
    "*.jsonl merge=union\n",
}


class HistoryFolder:
    """The ``history/`` of a folder store; it appears with the first record. ``say`` hears what was repaired."""

    def __init__(self, folder: Path, *, say: Say, wait_s: float) -> None:
        self._folder = folder
        self._samples = folder / "samples"
        self._lock = folder / ".lock"
        self._say = say
        self._wait_s = wait_s

    def append(self, records: Sequence[HistoryRecord]) -> int:
        """See ``Store.append``."""
        wanted = checked(records)
        if not wanted:
            return 0
        with self._written():
            self._prepare()
            with locked(self._lock, wait_s=self._wait_s):
                known = self._known({record.run_id for record in wanted})
                new = [record for record in wanted if (record.run_id, record.key) not in known]
                self._keep_samples(new)
                for path, data in self._lines(new).items():
                    _add(path, data, say=self._say)
        return len(new)

    def records(self) -> list[HistoryRecord]:
        """All records in order of creation, each once; raises ``FileFormatError`` naming file and line."""
        found = [record for path in self._files() for record in self._read(path)]
        once = {(record.run_id, record.key): record for record in reversed(found)}
        return sorted(
            once.values(),
            key=lambda record: (created_us(record.created), record.run_id, record.key),
        )

    def sample(self, run_id: str, key: str) -> Sample | None:
        """See ``Store.sample``."""
        if not is_run_id(run_id):
            return None
        path = self._sample_path(run_id)
        data = self._samples_in(path).get(key)
        return None if data is None else decode_sample(data, source=f"{path}, {key}")

    def _prepare(self) -> None:
        self._samples.mkdir(parents=True, exist_ok=True)
        for name, text in _FOR_GIT.items():
            if not (self._folder / name).exists():
                write_whole(self._folder / name, text.encode(), replace=True)

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = error.filename or self._folder
            raise OutputError(
                f"{place} was not written: {reason_of(error)}; nothing that was there is lost: "
                f"{remedy_of(error)}, and add it again"
            ) from None

    def _files(self) -> list[Path]:
        try:
            return sorted(path for path in self._folder.iterdir() if path.suffix == ".jsonl")
        except FileNotFoundError:
            return []
        except OSError as error:
            problem = not_a_folder(self._folder)
            problem = problem or f"{self._folder} cannot be listed: {reason_of(error)}"
            raise FileFormatError(problem) from None

    def _known(self, run_ids: set[str]) -> set[tuple[str, str]]:
        """Which records of these runs are there, without decoding those of others."""
        known: set[tuple[str, str]] = set()
        starts = [LINE_START + msgspec.json.encode(run_id) for run_id in sorted(run_ids)]
        for path in self._files():
            data = _whole_lines(_bytes(path))
            lines = [line for start in starts for line in _lines_starting(data, start)]
            try:
                records = decode_lines(b"\n".join(lines), source=str(path))
            except FileFormatError:
                decode_lines(data, source=str(path))  # says which line of the file it is
                raise
            known.update((record.run_id, record.key) for record in records)
        return known

    def _read(self, path: Path) -> list[HistoryRecord]:
        data = _bytes(path)
        whole = _whole_lines(data)
        if len(whole) < len(data) and not self._is_being_written(path, len(data)):
            self._say(
                f"{path} ends within a record, left by a process that was killed; passed over, "
                "and taken out when the next record is added"
            )
        return decode_lines(whole, source=str(path))

    def _is_being_written(self, path: Path, size: int) -> bool:
        """Whether the file has grown or was repaired by the time its writer, if there is one, is done."""
        try:
            with locked(self._lock, wait_s=self._wait_s):
                return path.stat().st_size != size
        except OutputError:
            return True  # whoever holds the lock for so long is writing
        except (OSError, UnavailableError):
            return False  # a folder nobody here may write in, so there is no writer to wait for

    def _lines(self, records: Sequence[HistoryRecord]) -> dict[Path, bytes]:
        lines: dict[Path, list[bytes]] = {}
        for record in records:
            month = datetime.fromisoformat(record.created).astimezone(UTC).strftime("%Y-%m")
            lines.setdefault(self._folder / f"{month}.jsonl", []).append(encode_line(record))
        return {path: b"".join(parts) for path, parts in sorted(lines.items())}

    def _sample_path(self, run_id: str) -> Path:
        return self._samples / f"{run_id}.samples"

    def _samples_in(self, path: Path) -> dict[str, bytes]:
        try:
            return decode_file(path.read_bytes(), source=str(path))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise FileFormatError(f"{path} cannot be read: {reason_of(error)}") from None

    def _keep_samples(self, records: Sequence[HistoryRecord]) -> None:
        """Written before the lines, so that no record is without the sample it came with."""
        by_run: dict[str, dict[str, bytes]] = {}
        for record in records:
            if record.sample is not None:
                by_run.setdefault(record.run_id, {})[record.key] = encode_sample(record.sample)
        if by_run:
            remove_abandoned(self._samples)
        for run_id, samples in by_run.items():
            path = self._sample_path(run_id)
            write_whole(path, encode_file({**self._samples_in(path), **samples}), replace=True)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {reason_of(error)}") from None


def _whole_lines(data: bytes) -> bytes:
    """All of it up to the last line break; the last line counts where only its break is missing."""
    end = data.rfind(b"\n") + 1
    return data if _is_record(data[end:]) else data[:end]


def _is_record(line: bytes) -> bool:
    """Whether a line without its break is whole: an editor may have taken the break away."""
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except msgspec.DecodeError:
        return False


def _lines_starting(data: bytes, start: bytes) -> Iterator[bytes]:
    place = data.find(start)
    while place >= 0:
        end = data.find(b"\n", place)
        end = len(data) if end < 0 else end
        yield data[place:end]
        place = data.find(start, end)


def _add(path: Path, data: bytes, *, say: Say) -> None:
    """Add whole lines to a file and flush them; on an error the file is as it was. The caller holds the lock."""
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        size = os.fstat(descriptor).st_size
        before = _bytes(path)
        kept = len(_whole_lines(before))
        if kept < size:
            os.ftruncate(descriptor, kept)
            say(f"{path}: took out {size - kept:,} bytes of a record that a killed process began")
        elif before and not before.endswith(b"\n"):
            data = b"\n" + data
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, kept)
            raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(descriptor)
    if is_new:
        flush_folder(path.parent)


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
