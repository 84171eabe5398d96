"""A folder of baselines: whole or not at all, whatever happens to the process, the disk or the names."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from store_writers import a_baseline, save_until_step, started

from harness.baseline.codec import LARGEST_FILE_BYTES, encode
from harness.baseline.naming import LONGEST_NAME, name_problem, portable_name
from harness.baseline.stores.base import Store
from harness.baseline.stores.directory import DirectoryStore, read_file
from harness.errors import FileFormatError, OutputError, UsageError

_PRELUDE = """
import ctypes, errno, os, resource, signal, sys
from dataclasses import replace
from pathlib import Path
from harness.baseline.stores.directory import DirectoryStore
from harness.errors import HarnessError
from harness.model.baseline import Baseline
from harness.model.environment import Environment

folder = Path(sys.argv[1])
store = DirectoryStore(folder)

def a_baseline(name, note):
    return Baseline(name=name, created="2026-01-31T12:00:00Z", cases=(),
                    environment=Environment(hard={"os.name": "Linux"}, soft={"note": note}))
"""


def _program(folder: Path, body: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", _PRELUDE + textwrap.dedent(body), str(folder), *arguments]


def _run(folder: Path, body: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = _program(folder, body, *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "baselines")


def _left_over(store: DirectoryStore) -> list[str]:
    return sorted(entry.name for entry in store.folder.iterdir() if entry.suffix != ".json")


def test_a_folder_is_a_baseline_store(store: DirectoryStore) -> None:
    kept: Store = store
    assert kept.names() == ()
    where = kept.save(a_baseline())
    assert where == str(store.folder / "main.json")
    assert kept.load("main") == a_baseline()
    kept.save(a_baseline("a-2"))
    assert kept.names() == ("a-2", "main")
    kept.remove("main")
    assert kept.names() == ("a-2",)
    assert _left_over(store) == []


def test_a_long_list_of_known_names_is_cut(store: DirectoryStore) -> None:
    for number in range(23):
        store.save(a_baseline(f"n{number:02}"))
    with pytest.raises(UsageError, match=r"n18, n19 and 3 more$"):
        store.load("zzzzzz")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "cannot be empty"),
        ("../main", "is made of ASCII letters.*; use 'main'"),
        ("/etc/passwd", "; use 'etc-passwd'"),
        ("release/1.2", "; use 'release-1.2'"),
        ("a\0b", "; use 'a-b'"),
        ("a\nb", "'a\\\\nb' is not allowed"),
        (".hidden", "; use 'hidden'"),
        ("-x", "; use 'x'"),
        ("été", "; use 't'"),
        ("..", "starts with a letter or digit$"),
        ("main.", "Windows .*; use 'main'"),
        ("NUL", "Windows"),
        ("com1.old", "Windows"),
        ("x" * (LONGEST_NAME + 1), f"has at most {LONGEST_NAME} characters, this one has 101"),
    ],
)
def test_a_name_that_is_not_portable_is_refused_everywhere(
    store: DirectoryStore, name: str, says: str
) -> None:
    for use in (store.load, store.remove, lambda name: store.save(a_baseline(name))):
        with pytest.raises(UsageError, match=says) as caught:
            use(name)
        assert str(caught.value).isprintable()
    assert not store.folder.exists()


def test_the_proposed_name_is_always_allowed() -> None:
    for name in ("x" * 200, "a/" * 80, "é" * 3, "con", "a" * 99 + ".b", "feature/#12 (try 2)"):
        better = portable_name(name)
        assert better is None or name_problem(better) is None


def test_other_files_in_the_folder_are_left_alone_and_not_listed(store: DirectoryStore) -> None:
    store.save(a_baseline())
    for other in ("README.md", ".hidden.json", "a b.json", "notes.txt"):
        (store.folder / other).write_text("mine")
    (store.folder / "folder.json").mkdir()
    store.save(a_baseline("next"))
    assert store.names() == ("main", "next")
    assert (store.folder / "README.md").read_text() == "mine"


def test_a_renamed_file_loads_under_its_new_name(store: DirectoryStore) -> None:
    store.save(a_baseline("main"))
    (store.folder / "main.json").rename(store.folder / "old.json")
    assert store.load("old") == a_baseline("old")


def test_a_damaged_file_is_refused_by_its_path_and_can_be_removed(store: DirectoryStore) -> None:
    store.save(a_baseline())
    path = store.folder / "main.json"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(FileFormatError) as caught:
        store.load("main")
    assert str(caught.value).startswith(f"{path}: is cut off at line")
    assert path.stat().st_size == 50
    store.remove("main")
    assert store.names() == ()


def test_a_file_of_any_size_is_read_only_up_to_the_limit(store: DirectoryStore) -> None:
    store.save(a_baseline())
    os.truncate(store.folder / "main.json", 2**36)  # sparse: 69 GB that occupies nothing
    with pytest.raises(FileFormatError, match=r"larger than 67.1 MB"):
        store.load("main")
    assert LARGEST_FILE_BYTES < 2**36


def test_what_is_no_file_is_called_what_it_is(store: DirectoryStore) -> None:
    store.folder.mkdir()
    (store.folder / "folder.json").mkdir()
    os.mkfifo(store.folder / "pipe.json")
    with pytest.raises(FileFormatError, match=r"folder.json: is a folder; name a baseline's file"):
        store.load("folder")
    with pytest.raises(FileFormatError, match=r"pipe.json: is not a regular file"):
        store.load("pipe")
    with pytest.raises(FileFormatError, match="/dev/null: is not a regular file"):
        read_file(Path("/dev/null"))


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "baselines").write_text("")
    store = DirectoryStore(tmp_path / "baselines")
    said = "baselines is a file, and a store is a folder; name a folder, or move the file away"
    with pytest.raises(UsageError, match=said):
        store.save(a_baseline())
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(OutputError, match="dangling was not created: File exists"):
        DirectoryStore(tmp_path / "dangling").save(a_baseline())


@pytest.mark.parametrize("content", [b"SQLite format 3\0", b""])
def test_a_database_in_place_of_the_folder_is_named_as_one(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / ("history" if content else "history.db")
    file.write_bytes(content)
    for folder in (file, file / "within"):
        store = DirectoryStore(folder)
        for use in (
            store.names,
            store.keys,
            store.history,
            lambda store=store: store.append([]),
            lambda store=store: store.load("main"),
            lambda store=store: store.remove("main"),
            lambda store=store: store.save(a_baseline()),
        ):
            with pytest.raises(UsageError) as caught:
                use()
            assert str(caught.value).endswith(f"a SQLite database is named as sqlite:///{file}")


def test_a_read_only_folder_is_an_output_error_and_an_unreadable_file_is_named(
    store: DirectoryStore,
) -> None:
    store.save(a_baseline())
    store.folder.chmod(0o555)
    (store.folder / "main.json").chmod(0o000)
    body = """
        if os.geteuid() == 0:  # root may write anywhere, until it gives up its capabilities
            version, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
            assert ctypes.CDLL(None).capset(version, none) == 0
        for act in (lambda: store.save(a_baseline("next", "")),
                    lambda: store.save(a_baseline("main", ""), replace=True),
                    lambda: store.remove("main"),
                    lambda: store.load("main")):
            try:
                act()
            except HarnessError as error:
                print(type(error).__name__, int(error.exit_code), error)
    """
    done = _run(store.folder, body)
    path = store.folder
    assert done.stdout.splitlines() == [
        f"OutputError 2 {path}/next.json was not written: Permission denied; it does not exist: "
        "make it and its folder writable, or name another store (--store), and save it again",
        f"OutputError 2 {path}/main.json was not written: Permission denied; it is as it was: "
        "make it and its folder writable, or name another store (--store), and save it again",
        f"OutputError 2 {path}/main.json was not removed: Permission denied; "
        "make it and its folder writable, or name another store (--store)",
        f"FileFormatError 2 {path}/main.json: cannot be read: Permission denied; "
        "check its permissions",
    ], done.stderr
    assert (path / "main.json").read_bytes() == encode(a_baseline())


@pytest.mark.parametrize("replace", [False, True])
def test_a_full_disk_leaves_the_old_baseline_and_nothing_half_written(
    store: DirectoryStore, replace: bool
) -> None:
    store.save(a_baseline())
    name = "main" if replace else "next"
    body = """
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # writes beyond fail as on a full disk
        try:
            store.save(a_baseline(sys.argv[2], "second"), replace=True)
        except HarnessError as error:
            print(type(error).__name__, error)
    """
    done = _run(store.folder, body, name)
    target = store.folder / f"{name}.json"
    left = "is as it was" if replace else "does not exist"
    assert done.stdout.strip() == (
        f"OutputError {target} was not written: File too large; it {left}: free space, or raise the limit "
        "on the size of files (ulimit -f), and save it again"
    )
    assert store.names() == ("main",)
    assert store.load("main") == a_baseline()
    assert _left_over(store) == []


def test_without_hard_links_the_first_save_says_how_to_go_on(store: DirectoryStore) -> None:
    body = """
        def refuse(event, arguments):
            if event == "os.link":
                raise PermissionError(errno.EPERM, "Operation not permitted")
        sys.addaudithook(refuse)
        try:
            store.save(a_baseline("main", "first"))
        except HarnessError as error:
            print(error)
        store.save(a_baseline("main", "first"), replace=True)
    """
    done = _run(store.folder, body)
    assert "no hard links, which keep two first saves of one name apart" in done.stdout
    assert "save with --replace" in done.stdout
    assert store.load("main") == a_baseline()
    assert _left_over(store) == []


def test_a_process_killed_at_any_step_of_a_save_loses_and_breaks_nothing(
    store: DirectoryStore,
) -> None:
    store.save(a_baseline())
    second, third = a_baseline(note="second"), a_baseline("next", note="third")
    steps, survived = 0, False
    while not survived:
        process, _ = started(save_until_step, store.where, second, third, steps)
        process.join(60)
        survived = process.exitcode == 0
        assert survived or process.exitcode == -signal.SIGKILL
        assert store.load("main") in (a_baseline(), second)
        if "next" in store.names():
            assert store.load("next") == third
            if not survived:
                store.remove("next")
        steps += 1
    assert steps > 6  # two opens, a rename or link, a removal, a flush of the folder: twice
    assert store.names() == ("main", "next")


def test_what_a_killed_process_left_is_swept_once_it_is_old(store: DirectoryStore) -> None:
    store.save(a_baseline())
    old = store.folder / ".main.json.00ff.unfinished"
    fresh = store.folder / ".main.json.11ff.unfinished"
    for path in (old, fresh):
        path.write_bytes(b"{")
    os.utime(old, (time.time() - 7200,) * 2)
    store.save(a_baseline("next"))
    assert _left_over(store) == [fresh.name]
    assert store.names() == ("main", "next")
