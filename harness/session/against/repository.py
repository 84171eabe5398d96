"""The git repository of the code under test: what a ref names, and how the working tree differs from it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError, UnavailableError, UsageError
from harness.session.against.fetching import Clone, way_to
from harness.units import count_text

__all__ = ["SAME_CODE", "Commit", "GitError", "Repository", "find_repository", "git"]

_OF_ANOTHER_CALL = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
"""Set by git for its hooks: inside one they would turn our own commands to the hook's index and folder."""

SAME_CODE = "the same code on both sides"

_OTHER_SIDE = "name the branch it will be merged into, e.g. --against origin/main"

_REMOTE_S = 10.0
"""A remote that is asked for its branches answers in a second; without it the advice is less exact, and there."""


class GitError(HarnessError):
    """A git command failed; the text is git's last line."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and the name it was asked for by; ``label`` is ``main @ 1a2b3c4``."""

    ref: str
    commit: str
    short: str

    @property
    def label(self) -> str:
        """The ref with the commit it stood for; the commit alone where that is what was named."""
        return self.short if self.commit.startswith(self.ref) else f"{self.ref} @ {self.short}"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository by the root of its working tree, free of symbolic links."""

    root: Path

    def resolve(self, ref: str) -> Commit:
        """The commit ``ref`` names; ``UsageError`` with a next step where there is none."""
        if not ref.strip() or ref.startswith("-") or not ref.isprintable():
            raise UsageError(f"{ref!r} cannot be a ref; name a commit, tag or branch such as main")
        try:
            commit = git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", folder=self.root)
            short = git("rev-parse", "--short", commit, folder=self.root)
        except GitError:
            raise UsageError(f"{self.root} has no commit {ref!r}; {self._way_to(ref)}") from None
        return Commit(ref, commit, short)

    def files(self, commit: Commit) -> frozenset[str]:
        """The paths of all files of a commit, relative to the root."""
        listed = git("ls-tree", "-r", "-z", "--name-only", commit.commit, folder=self.root)
        return frozenset(listed.split("\0")) - {""}

    def state(self, baseline: Commit, *, same_code: bool) -> str:
        """The working tree in words: its commit, its uncommitted changes, and whether its code is the baseline's.

        Untracked files are no changes, since a report lies in the tree too; imported ones tell in ``same_code``.
        """
        head = git("rev-parse", "--short", "HEAD", folder=self.root)
        changed = git(
            "status", "--porcelain", "--untracked-files=no", folder=self.root
        ).splitlines()
        here = f"the working tree at {head}"
        if changed:
            files = count_text(len(changed), "uncommitted change")
            here = f"{here} with {files}"
        if not same_code:
            return here
        itself = git("rev-parse", "HEAD", folder=self.root) == baseline.commit
        step = f"; {_OTHER_SIDE}" if itself else ""
        return f"{here} and {baseline.label}: {SAME_CODE}{step}"

    def _way_to(self, ref: str) -> str:
        def asked(*arguments: str) -> str | None:
            try:
                return git(*arguments, folder=self.root, patience_s=_REMOTE_S)
            except GitError:
                return None

        return way_to(ref, Clone(asked))

    def _has(self, ref: str) -> bool:
        try:
            git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", folder=self.root)
        except GitError:
            return False
        return True


def find_repository(folder: Path) -> Repository:
    """The repository ``folder`` lies in.

    Raises ``UsageError`` where there is none (or git refuses to say), ``UnavailableError`` without git.
    """
    try:
        root = Path(git("rev-parse", "--show-toplevel", folder=folder))
    except GitError as error:
        raise UsageError(
            f"{folder} is not in a git repository with a working tree ({error}); "
            "run it in the repository of the op"
        ) from None
    repository = Repository(root.resolve())
    if not repository._has("HEAD"):
        raise UsageError(f"{root} has no commit yet, so there is nothing to compare with")
    return repository


def git(*arguments: str, folder: Path, patience_s: float | None = None) -> str:
    """What a git command prints, without the last newline; ``GitError`` when it fails or takes longer than that.

    It runs in a session of its own, so that Ctrl-C reaches the caller alone and cleaning up can go on.
    """
    environment = {name: text for name, text in os.environ.items() if name not in _OF_ANOTHER_CALL}
    environment |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            start_new_session=True,
            check=False,
            timeout=patience_s,
        )
    except subprocess.TimeoutExpired:
        raise GitError(f"git {arguments[0]} did not end within {patience_s} s") from None
    except FileNotFoundError:
        raise UnavailableError("git is not installed; comparing with a ref needs it") from None
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(lines[-1] if lines else f"git {arguments[0]} ended with {done.returncode}")
    return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")
