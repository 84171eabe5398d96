"""How a ref that a clone lacks is got from where it was cloned from: a command after which that very ref resolves."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Clone", "way_to"]

_BACK = re.compile(r"(?P<base>.+?)(?P<steps>(?:~\d*|\^+\d*)+)")
"""A commit and how far behind it: ``HEAD~3``, ``main^^``; the number of a parent is one step, whichever it is."""

_HASH = re.compile(r"[0-9a-f]{7,64}")
_WHOLE_HASH = (40, 64)

Git = Callable[..., str | None]
"""What a git command prints; ``None`` where it fails."""


@dataclass(frozen=True, slots=True)
class Clone:
    """A clone by the git commands one can ask it."""

    git: Git

    @property
    def depth(self) -> str:
        """The option that keeps a shallow clone as shallow as it is."""
        shallow = self.git("rev-parse", "--is-shallow-repository") == "true"
        return "--depth 1 " if shallow else ""

    @property
    def remotes(self) -> tuple[str, ...]:
        """Where it may fetch from, ``origin`` first."""
        names = (self.git("remote") or "").split()
        return tuple(sorted(names, key=lambda name: (name != "origin", name)))

    def has(self, ref: str) -> bool:
        """Whether ``ref`` names a commit that is here."""
        return self.git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") is not None

    def offered(self, remote: str) -> frozenset[str] | None:
        """The refs of a remote by their full names, asked of it; ``None`` where it does not answer."""
        listed = self.git("ls-remote", "--heads", "--tags", "--refs", remote)
        return (
            None
            if listed is None
            else frozenset(line.split("\t")[1] for line in listed.splitlines())
        )


def way_to(ref: str, clone: Clone) -> str:
    """The next step where ``ref`` names no commit of ``clone``; may ask its remote."""
    if problem := _no_commit(ref, clone):
        return problem
    if back := _BACK.fullmatch(ref):
        return _behind(back["base"], _count(back["steps"]), clone)
    if not clone.remotes:
        return (
            _like(ref, clone)
            or "it has no remote to fetch it from: name a branch, tag or commit that is here"
        )
    remote = clone.remotes[0]
    if _HASH.fullmatch(ref):
        return _by_hash(ref, remote, clone)
    name = ref.removeprefix("refs/").removeprefix("remotes/")
    for each in clone.remotes:
        if name.startswith(f"{each}/"):
            return _branch_of(name.removeprefix(f"{each}/"), each, clone)
    if clone.has(f"{remote}/{ref}"):
        return f"did you mean {remote}/{ref}?"
    return _by_name(ref, remote, clone)


def _no_commit(ref: str, clone: Clone) -> str:
    """What is wrong where a ref can name no commit, wherever it is; empty where it can."""
    if kind := clone.git("cat-file", "-t", ref):
        what = {"tree": "a folder", "blob": "a file"}.get(kind, f"a {kind}")
        within, colon, _ = ref.partition(":")
        step = (
            f"name the commit it lies in: --against {shlex.quote(within)}"
            if colon
            else "name a commit"
        )
        return f"it is {what}, not a commit; {step}"
    if ".." in ref:
        return f"a range is not a commit; name its older end: --against {shlex.quote(ref.partition('..')[0] or 'HEAD')}"
    if ":" in ref:
        return f"a path within a commit is not one; name the commit: --against {shlex.quote(ref.partition(':')[0] or 'HEAD')}"
    if "@{" in ref:
        return (
            "what a ref was before is known where it was moved only; name a commit, tag or branch"
        )
    return ""


def _count(steps: str) -> int:
    """How many commits back: ``~2`` is two, ``^^`` two, and ``^2``, the second parent, one."""
    tildes = sum(int(number or 1) for number in re.findall(r"~(\d*)", steps))
    return tildes + steps.count("^")


def _behind(base: str, steps: int, clone: Clone) -> str:
    if not clone.has(base):
        return f"nor {base!r}: {way_to(base, clone)}"
    if clone.depth:
        deeper = f"git fetch --deepen {max(steps, 1)}{_detached(base, clone)}"
        return f"this clone is shallow; get its history with: {deeper}"
    count = clone.git("rev-list", "--count", "--first-parent", base)
    return f"{base} has only {int(count or 1) - 1} commits behind it"


def _detached(base: str, clone: Clone) -> str:
    """What to fetch where a branch does not say: a merge that CI made for a pull request lies on none."""
    if base not in ("HEAD", "@") or clone.git("symbolic-ref", "-q", "HEAD") or not clone.remotes:
        return ""
    return f" {clone.remotes[0]} {clone.git('rev-parse', 'HEAD')}"


def _by_hash(ref: str, remote: str, clone: Clone) -> str:
    if len(ref) in _WHOLE_HASH:
        return f"get it with: git fetch {clone.depth}{remote} {ref}"
    everything = shlex.quote(f"+refs/heads/*:refs/remotes/{remote}/*")
    unshallow = "--unshallow " if clone.depth else ""
    return (
        "a remote knows a commit by all its digits only: name them all, or get every branch with: "
        f"git fetch {unshallow}{remote} {everything}"
    )


def _branch_of(branch: str, remote: str, clone: Clone) -> str:
    offered = clone.offered(remote)
    if offered is not None and f"refs/heads/{branch}" not in offered:
        branches = frozenset(name for name in offered if name.startswith("refs/heads/"))
        return f"{remote} has no branch {branch!r}{_close(branch, branches)}"
    into = shlex.quote(f"{branch}:refs/remotes/{remote}/{branch}")
    return f"get it with: git fetch {clone.depth}{remote} {into}"


def _by_name(ref: str, remote: str, clone: Clone) -> str:
    offered = clone.offered(remote)
    name = ref.removeprefix("refs/").removeprefix("heads/").removeprefix("tags/")
    tag = offered is not None and f"refs/tags/{name}" in offered
    if offered is not None and not tag and f"refs/heads/{name}" not in offered:
        return _like(ref, clone) or f"nor has {remote}{_close(ref, offered)}"
    what = f"tag {shlex.quote(name)}" if tag else shlex.quote(f"{name}:{name}")
    return f"get it with: git fetch {clone.depth}{remote} {what}"


def _like(ref: str, clone: Clone) -> str:
    names = (clone.git("for-each-ref", "--format=%(refname:short)") or "").splitlines()
    close = difflib.get_close_matches(ref, names, n=1)
    return f"did you mean {close[0]}?" if close else ""


def _close(name: str, offered: frozenset[str]) -> str:
    names = sorted(one.split("/", 2)[2] for one in offered)
    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(names[:10])}"
