"""The two sides: which code each runs, with which interpreter, and pairs of processes that run them."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from harness.errors import UsageError
from harness.session.against import protocol
from harness.session.against.process import Launch, Side, Worker, start
from harness.session.against.remote import Pair
from harness.session.against.repository import Commit, Repository
from harness.session.against.roots import (
    Imported,
    Relocation,
    import_path,
    module_roots,
    root_holding,
)
from harness.session.against.worktree import Worktree

__all__ = ["Sides", "sides"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The working tree and a worktree, ready to be started as often as needed.

    ``python`` is the baseline's interpreter where it is not this one, ``lacking`` the modules the ref has not.
    """

    candidate: Launch
    baseline: Launch
    relocation: Relocation
    commit: Commit
    python: str | None
    lacking: frozenset[str]

    @contextmanager
    def pair(self, chance: random.Random, *, apart: bool) -> Iterator[Pair]:
        """Both sides in a new process, or ``apart`` in one each, started in random order and ready, ended with the block.

        What starts second lands where the first left room.
        """
        launches = [self.candidate, self.baseline]
        chance.shuffle(launches)
        started: dict[Side, Worker] = {}
        try:
            for group in [[each] for each in launches] if apart else [launches]:
                started |= {worker.side: worker for worker in start(*group)}
            pair = Pair(started[Side.CANDIDATE], started[Side.BASELINE])
            _require_one_device(pair, self.commit)
            yield pair
        finally:
            for worker in started.values():
                worker.close()

    def stray(self, side: Side, text: str) -> UsageError:
        """What to say of a side that imports code which is not its own."""
        if side is Side.CANDIDATE:
            return _elsewhere(text, self.relocation.repository)
        if self.python is not None:
            return UsageError(
                f"{text}, the working tree itself, by {self.python}; install the ref there without --editable"
            )
        return UsageError(
            f"{text}, not from {self.commit.label}; name with --import-path the folder of the repository it is "
            "to be imported from, or with --python an environment in which the ref is installed"
        )

    def not_built(self, compiled: Iterable[str]) -> str:
        """A compiled module of the working tree that the worktree lacks, since it is built and not committed."""
        for text in compiled:
            moved = self.relocation.of(Path(text))
            if self.python is None and moved is not None and not moved.exists():
                return str(Path(text).relative_to(self.relocation.repository))
        return ""


def _elsewhere(text: str, repository: Path) -> UsageError:
    return UsageError(
        f"{text}, which is not in the repository {repository}; run it in the repository of the op, or name with "
        "--python an environment in which the ref is installed"
    )


def sides(
    repository: Repository,
    commit: Commit,
    worktree: Worktree,
    code: Imported,
    *,
    device: str,
    python: str | None,
    folder: str | None,
    patience_s: float,
) -> Sides:
    """Find out where each side's code is imported from.

    ``code`` is where that of the workloads is imported from here, ``folder`` where in the repository the ref's are (default: where the
    working tree's are, or wherever the ref has them). Raises ``UsageError`` where that cannot be told.
    """
    relocation = Relocation(repository.root, worktree.tree)
    first, lacking = _first_roots(repository, commit, relocation, code, python, folder)
    path = import_path(code.path, relocation, first=first, keep=python is None)
    here = Path.cwd().resolve()
    root = str(repository.root)
    candidate = Launch(
        side=Side.CANDIDATE,
        python=sys.executable,
        folder=here,
        log=worktree.scratch / "candidate.log",
        enter=protocol.Enter(
            path=[entry or str(here) for entry in code.path],
            more=[],
            device=device,
            folder=str(here),
            repository=root,
            tree=root,
        ),
        patience_s=patience_s,
    )
    return Sides(
        candidate=candidate,
        baseline=_of_the_ref(candidate, relocation, path, python),
        relocation=relocation,
        commit=commit,
        python=python,
        lacking=lacking,
    )


def _of_the_ref(
    candidate: Launch, relocation: Relocation, path: list[str], python: str | None
) -> Launch:
    """The same in the worktree; another interpreter keeps its own import path and gets ours after it."""
    there = relocation.of(candidate.folder)
    folder = there if there is not None and there.is_dir() else relocation.tree
    return replace(
        candidate,
        side=Side.BASELINE,
        python=python or candidate.python,
        folder=folder,
        log=candidate.log.with_name("baseline.log"),
        enter=msgspec.structs.replace(
            candidate.enter,
            path=None if python else path,
            more=path if python else [],
            folder=str(folder),
            tree=str(relocation.tree),
        ),
    )


def _first_roots(
    repository: Repository,
    commit: Commit,
    relocation: Relocation,
    code: Imported,
    python: str | None,
    folder: str | None,
) -> tuple[list[Path], frozenset[str]]:
    """Folders that come before all others on the ref's import path, and modules it does not have anywhere."""
    if folder is not None:
        return [_given(folder, relocation, commit)], frozenset()
    if python is not None:
        return [], frozenset()
    for module, name in code.files.items():
        file = Path(name).resolve()
        if relocation.of(file) is None:
            raise _elsewhere(f"{module} was imported from {file}", repository.root)
    known = [Path(entry) for entry in import_path(code.path, relocation, keep=False)]
    mapped = {path: None for path in module_roots(relocation, code.folders) if path not in known}
    lacking = set()
    files = repository.files(commit)
    for module in code.files:
        holding = root_holding(module, files)
        there = {(relocation.tree / root).resolve(): root for root in holding}
        if not holding:
            lacking.add(module)
        elif not any(path in there for path in [*known, *mapped]):
            if len(there) > 1:
                raise UsageError(
                    f"{commit.label} has {module} in {', '.join(there.values())}; say which with --import-path"
                )
            mapped |= dict.fromkeys(there)
    return list(mapped), frozenset(lacking)


def _given(folder: str, relocation: Relocation, commit: Commit) -> Path:
    path = Path(folder)
    inside = relocation.repository / path if not path.is_absolute() else path.resolve()
    moved = relocation.of(Path(os.path.normpath(inside)))
    if moved is None or not moved.is_dir():
        raise UsageError(
            f"--import-path {folder} is no folder of {commit.label}; give one relative to the repository's root"
        )
    return moved


def _require_one_device(pair: Pair, commit: Commit) -> None:
    here, there = (worker.entered for worker in pair.workers)
    if (here.device, here.timer) != (there.device, there.timer):
        raise UsageError(
            f"the working tree runs on {here.device} timed by {here.timer}, {commit.label} on {there.device} timed "
            f"by {there.timer}; name a device with --device that both environments have"
        )
