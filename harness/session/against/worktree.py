"""A ref checked out beside the working tree for as long as a comparison lasts."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.errors import OutputError
from harness.session.against.repository import Commit, GitError, Repository, git

__all__ = ["Worktree", "checked_out"]

_PREFIX = "harness-compare-"
_TREE, _SCRATCH, _LOCK = "tree", "scratch", "lock"


@dataclass(frozen=True, slots=True)
class Worktree:
    """Where a commit lies: ``tree`` has its files, ``scratch`` is a folder for ours that goes with it."""

    tree: Path
    scratch: Path


@contextmanager
def checked_out(repository: Repository, commit: Commit) -> Iterator[Worktree]:
    """A git worktree of ``commit`` in a temporary folder, gone when the block is left, however that happens.

    What an earlier comparison on this machine could not remove, because it was killed, is removed first. The
    worktree is locked, so that nobody's ``git worktree prune`` takes it away; hooks do not run. Raises
    ``OutputError`` when it cannot be written.
    """
    _remove_stale(repository)
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    except OSError as error:
        raise _cannot_write(commit, tempfile.gettempdir(), error.strerror or str(error)) from None
    try:
        with _held(folder / _LOCK):
            yield _added(repository, commit, folder)
    finally:
        with _uninterrupted():
            _remove(repository, folder)


def _added(repository: Repository, commit: Commit, folder: Path) -> Worktree:
    tree, scratch = folder / _TREE, folder / _SCRATCH
    reason = f"harness compare on {platform.node()}"
    try:
        scratch.mkdir()
        git(
            *("-c", "core.hooksPath=/dev/null", "worktree", "add", "--detach", "--force"),
            *("--lock", "--reason", reason, str(tree), commit.commit),
            folder=repository.root,
        )
    except GitError as error:
        raise _cannot_write(commit, str(folder), str(error)) from None
    except OSError as error:
        raise _cannot_write(commit, str(folder), error.strerror or str(error)) from None
    return Worktree(tree, scratch)


def _cannot_write(commit: Commit, folder: str, reason: str) -> OutputError:
    return OutputError(
        f"{commit.label} cannot be checked out in {folder}: {reason}; "
        "free space there, or set TMPDIR to a folder that has it"
    )


def _remove(repository: Repository, folder: Path) -> None:
    """Files first: git takes a worktree whose files are gone off its list, but not one it cannot read."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(GitError):  # it was never added
        git("worktree", "remove", "--force", "--force", str(folder / _TREE), folder=repository.root)


def _remove_stale(repository: Repository) -> None:
    """Remove the worktrees of comparisons that are gone: their lock can be had."""
    for block in git("worktree", "list", "--porcelain", folder=repository.root).split("\n\n"):
        facts = dict(line.partition(" ")[::2] for line in block.splitlines())
        tree = Path(facts.get("worktree", ""))
        ours = tree.name == _TREE and tree.parent.name.startswith(_PREFIX)
        # another machine may share the repository, but not the folder for temporary files
        if ours and facts.get("locked", "").endswith(f" on {platform.node()}"):
            _remove_if_left(repository, tree.parent)


def _remove_if_left(repository: Repository, folder: Path) -> None:
    with suppress(BlockingIOError):
        if (folder / _LOCK).exists():
            with _held(folder / _LOCK):
                _remove(repository, folder)
        else:
            _remove(repository, folder)


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold a lock file, which the system lets go when this process ends; ``BlockingIOError`` if another has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keep an impatient second Ctrl-C from leaving the worktree behind; only the main thread gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
