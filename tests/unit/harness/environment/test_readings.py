"""Reading a machine: laid-out folders and real repositories, nothing patched."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from harness.environment.facts import git_state
from harness.environment.machine import fingerprint
from harness.environment.readings import FILES, MOST_BYTES, read

_IDENTITY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "PATH": os.environ["PATH"],
}


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=folder, env=_IDENTITY, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    _git(folder, "init", "--quiet")
    (folder / "op.py").write_text("x = 1\n")
    _git(folder, "add", "op.py")
    _git(folder, "commit", "--quiet", "--message", "first")
    return folder


def test_files_are_read_under_the_root_and_missing_ones_have_no_entry(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_bytes(b"model name : \xff\n" + b"x" * 2 * MOST_BYTES)
    found = read(tmp_path, root=tmp_path)
    assert list(found.files) == ["/proc/cpuinfo"]
    assert len(found.files["/proc/cpuinfo"]) == MOST_BYTES


def test_a_folder_in_place_of_a_file_is_a_missing_fact(tmp_path: Path) -> None:
    for path in FILES:
        (tmp_path / path.lstrip("/")).mkdir(parents=True)
    assert read(tmp_path, root=tmp_path).files == {}


def test_the_commit_and_its_changes_are_seen_from_any_folder_inside(repository: Path) -> None:
    inside = repository / "deep"
    inside.mkdir()
    head = _git(repository, "rev-parse", "HEAD")
    assert git_state(read(inside, variables=_IDENTITY).git) == (head, False)
    (repository / "untracked.txt").write_text("not code under test")
    assert git_state(read(inside, variables=_IDENTITY).git) == (head, False)
    (repository / "op.py").write_text("x = 2\n")
    assert git_state(read(inside, variables=_IDENTITY).git) == (head, True)


def test_reading_leaves_the_repository_untouched(repository: Path) -> None:
    index = repository / ".git/index"
    os.utime(repository / "op.py", (10**9, 10**9))  # the index now holds a stale time
    before = index.read_bytes()
    read(repository, variables=_IDENTITY)
    assert index.read_bytes() == before
    _git(repository, "status")
    assert index.read_bytes() != before  # what a plain status does


@pytest.mark.parametrize("missing", ["no repository", "no folder", "no git", "dubious owner"])
def test_git_that_cannot_answer_is_a_missing_fact(missing: str, repository: Path) -> None:
    folder, git, variables = repository, "git", dict(_IDENTITY)
    if missing == "no repository":
        folder = repository.parent
    elif missing == "no folder":
        folder = repository / "absent"
    elif missing == "no git":
        git = "no-such-git"
    else:
        variables["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
    variables["GIT_CEILING_DIRECTORIES"] = str(repository.parent.parent)
    assert read(folder, variables=variables, git=git).git is None


def test_a_git_that_hangs_is_given_up(tmp_path: Path) -> None:
    hanging = tmp_path / "git"
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(0o755)
    start = time.monotonic()
    assert read(tmp_path, git=str(hanging), git_timeout_s=0.1).git is None
    assert time.monotonic() - start < 10


def test_a_fingerprint_of_this_machine_agrees_with_itself() -> None:
    first = fingerprint(["cpu", "simulated"])
    again = fingerprint(["cpu", "simulated"])
    assert again.hard == first.hard
    assert {"cpu.cores", "machine.architecture", "numpy.version", "python.version"} <= set(
        first.hard
    )


def test_a_thread_count_changes_the_hard_facts_only_by_its_own_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = fingerprint(["cpu"])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    after = fingerprint(["cpu"])
    assert dict(after.hard) == {**before.hard, "variable.OMP_NUM_THREADS": "1"}
