"""A history in files: lines that are only ever added, whatever a crash, an editor or git does to them."""

from __future__ import annotations

import fcntl
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from builders import a_sample
from store_writers import a_history_record, append_until_step, append_with_space, started

from harness.baseline.stores.directory import DirectoryStore
from harness.errors import FileFormatError, OutputError


class Heard(list[str]):
    """What a store says."""

    def __call__(self, line: str) -> None:
        self.append(line)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def store(tmp_path: Path, heard: Heard) -> DirectoryStore:
    return DirectoryStore(tmp_path, say=heard, wait_s=0.2)


def _month(store: DirectoryStore, month: str = "2026-01") -> Path:
    return store.folder / "history" / f"{month}.jsonl"


def test_a_record_is_a_line_in_the_file_of_its_month(store: DirectoryStore) -> None:
    store.append([a_history_record("b", created="2026-02-28T23:59:59.9+00:00"), a_history_record()])
    (line,) = _month(store).read_text().splitlines()
    assert line.startswith('{"schema_version":1,"run_id":"run-1","key":"softmax/a","created":')
    assert '"run_id":"b"' in _month(store, "2026-02").read_text()
    before = _month(store).read_bytes()
    store.append([a_history_record("run-2", sample=a_sample())])
    assert _month(store).read_bytes().startswith(before)
    assert len(before) < 2000
    assert "sample" not in _month(store).read_text()


@pytest.mark.parametrize("step", [1, 97])
def test_a_line_cut_off_anywhere_is_passed_over_taken_out_and_said(
    store: DirectoryStore, heard: Heard, step: int
) -> None:
    store.append([a_history_record(), a_history_record("run-2")])
    path = _month(store)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    ends = range(first + 1, len(whole) - 1, step) if step > 1 else (first + 1, len(whole) - 2)
    for end in ends:
        heard.clear()
        path.write_bytes(whole[:end])
        assert [record.run_id for record in store.history()] == ["run-1"]
        assert heard == [
            f"{path} ends within a record, left by a process that was killed; passed over, "
            "and taken out when the next record is added"
        ]
        assert store.append([a_history_record("run-3")]) == 1
        assert heard[1:] == [
            f"{path}: took out {end - first:,} bytes of a record that a killed process began"
        ]
        assert [record.run_id for record in store.history()] == ["run-1", "run-3"]
        assert len(heard) == 2


def test_a_last_line_that_only_lost_its_line_break_is_kept(
    store: DirectoryStore, heard: Heard
) -> None:
    store.append([a_history_record()])
    _month(store).write_bytes(_month(store).read_bytes().rstrip(b"\n"))
    assert len(store.history()) == 1
    assert store.append([a_history_record(), a_history_record("run-2")]) == 1
    assert [record.run_id for record in store.history()] == ["run-1", "run-2"]
    assert heard == []


def test_while_another_process_is_writing_its_half_line_is_no_damage(
    store: DirectoryStore, heard: Heard
) -> None:
    store.append([a_history_record()])
    path = _month(store)
    path.write_bytes(path.read_bytes() + b'{"schema_ver')
    with (store.folder / "history" / ".lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert len(store.history()) == 1
        assert heard == []


def test_a_lock_that_is_not_given_up_is_told_after_the_wait(store: DirectoryStore) -> None:
    store.append([a_history_record()])
    lock = store.folder / "history" / ".lock"
    with lock.open("rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match=r"\.lock was held by another process for 0.2 s; see"):
            store.append([a_history_record("run-2")])
    assert store.append([a_history_record("run-2")]) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"<<<<<<< HEAD\n", "line 2 is a conflict of git; keep the records of both sides"),
        (b"nonsense\n", r"line 2 is no record of history \(JSON is malformed"),
        (b"[]\n", r"line 2 is no record of history \(Expected object, got array"),
        (b"{}\n", "line 2 has the schema_version None, not a whole number"),
        (b'{"schema_version":0}\n', "line 2 has schema_version 0, this harness reads 1; restore"),
        (b'{"schema_version":9}\n', "line 2 has schema_version 9, this harness reads 1; upgrade"),
        (b'{"schema_version":1}\n', "line 2 is no record of history .*missing required field"),
        (b'{"schema_version":1,"run_id":"\xff"}\n', r"line 2 is no record of history \("),
    ],
)
def test_a_line_that_is_no_record_is_refused_by_its_number(
    store: DirectoryStore, line: bytes, says: str
) -> None:
    store.append([a_history_record()])
    path = _month(store)
    path.write_bytes(path.read_bytes() + line + path.read_bytes().replace(b"run-1", b"run-2"))
    with pytest.raises(FileFormatError, match=says) as caught:
        store.history()
    assert str(caught.value).startswith(f"{path} line 2 ")
    path.write_bytes(path.read_bytes().replace(line, b""))
    assert len(store.history()) == 2


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (b'"rounds":200', b'"rounds":"many"', "Expected int, got str"),
        (b'"call_ns":[', b'"call_ns":[1.0,', "has 34 and 0 quantiles"),
        (b'"relative":[]', b'"relative":[1.0]', "has 33 and 1 quantiles"),
    ],
)
def test_an_edited_record_is_refused(
    store: DirectoryStore, before: bytes, after: bytes, says: str
) -> None:
    store.append([a_history_record("run-0"), a_history_record()])
    path = _month(store)
    first, _, second = path.read_bytes().partition(b"\n")
    assert before in second
    path.write_bytes(first + b"\n" + second.replace(before, after))
    with pytest.raises(FileFormatError, match=f"line 2 is no record of history .*{says}"):
        store.history()
    with pytest.raises(FileFormatError, match="line 2 is no record of history"):
        store.append([a_history_record(key="softmax/b")])


def test_a_reformatted_line_is_read_and_not_added_twice_to_what_is_shown(
    store: DirectoryStore,
) -> None:
    store.append([a_history_record()])
    path = _month(store)
    path.write_text(path.read_text().replace('":', '": ').replace("\n", "\r\n") + "\n")
    assert store.history() == (a_history_record(),)
    store.append([a_history_record()])
    assert store.history() == (a_history_record(),)


def test_damaged_or_foreign_samples_are_refused_by_file(store: DirectoryStore) -> None:
    store.append([a_history_record(sample=a_sample())])
    path = store.folder / "history" / "samples" / "run-1.samples"
    whole = path.read_bytes()
    for data in (b"", b"PK\3\4", whole[:-5], whole[:40], whole + b"x"):
        path.write_bytes(data)
        with pytest.raises(FileFormatError, match=r"run-1\.samples") as caught:
            store.sample("run-1", "softmax/a")
        assert "\n" not in str(caught.value)
    path.write_bytes(whole.replace(b"\x01", b"\x07", 1))
    with pytest.raises(FileFormatError, match="schema_version 7, this harness reads 1; upgrade"):
        store.sample("run-1", "softmax/a")
    path.unlink()
    assert store.sample("run-1", "softmax/a") is None
    assert store.sample("../samples/run-1", "softmax/a") is None


def test_a_file_in_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("")
    store = DirectoryStore(tmp_path)
    with pytest.raises(FileFormatError, match="history is a file, and a store is a folder"):
        store.history()
    with pytest.raises(OutputError, match=r"was not written: .*; nothing that was there is lost"):
        store.append([a_history_record()])


def test_a_process_killed_at_any_step_of_adding_loses_nothing_and_can_add_again(
    tmp_path: Path,
) -> None:
    first = a_history_record(sample=a_sample())
    added = [
        a_history_record("run-2", key, created=created, sample=a_sample())
        for created, keys in (("2026-01-01T00:00:00Z", "abc"), ("2026-02-01T00:00:00Z", "def"))
        for key in keys
    ]
    steps, survived, torn = 0, False, 0
    while not survived:
        heard = Heard()
        store = DirectoryStore(tmp_path / str(steps), say=heard)
        store.append([first])
        process, _ = started(append_until_step, store.where, added, steps)
        process.join(60)
        survived = process.exitcode == 0
        assert survived or process.exitcode == -signal.SIGKILL
        there = store.history()
        torn += len(heard)
        assert set(there) <= {replace(one, sample=None) for one in (first, *added)}
        assert store.append([first, *added]) == 7 - len(there)
        assert len(store.history()) == 7
        for one in (first, *added):
            assert store.sample(one.run_id, one.key) == a_sample()
        steps += 1
    assert (
        steps > 12
    )  # lock, sample file, rename, two months with an open and a write each, flushes of folders
    assert torn == 2  # a write of each month was cut in half


def test_a_disk_that_fills_up_within_a_line_leaves_no_part_of_it(store: DirectoryStore) -> None:
    store.append([a_history_record(f"run-{number}") for number in range(3)])
    before = _month(store).read_bytes()
    process, pipe = started(append_with_space, store.where, len(before) + 500)
    said = pipe.recv()
    process.join(60)
    assert said == (
        f"{_month(store)} was not written: File too large; nothing that was there is lost: "
        "free space, or raise the limit on the size of files (ulimit -f), and add it again"
    )
    assert _month(store).read_bytes() == before
    assert store.append([a_history_record("next")]) == 1


def test_two_branches_that_both_added_records_merge_without_a_conflict(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    store = DirectoryStore(tmp_path / "baselines")
    git("init", "-q", "-b", "main")
    store.append([a_history_record(sample=a_sample())])
    git("add", ".")
    git("commit", "-qm", "first")
    assert "samples" not in git("ls-files")
    assert ".lock" not in git("ls-files")
    for branch in ("left", "right"):
        git("checkout", "-qb", branch, "main")
        store.append([a_history_record("both"), a_history_record(branch)])
        store.append([a_history_record(branch, created="2026-02-01T00:00:00Z", key="new month")])
        git("add", ".")
        git("commit", "-qm", branch)
    git("merge", "-q", "left", "-m", "merged")
    found = sorted((record.run_id, record.key) for record in store.history())
    assert found == [
        ("both", "softmax/a"),
        ("left", "new month"),
        ("left", "softmax/a"),
        ("right", "new month"),
        ("right", "softmax/a"),
        ("run-1", "softmax/a"),
    ]
