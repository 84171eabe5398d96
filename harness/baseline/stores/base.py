"""What every store does, and the refusals they all word alike."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.baseline.commands import at_store, password_note
from harness.baseline.naming import name_problem, portable_name
from harness.errors import ConflictError, UsageError
from harness.model.baseline import Baseline
from harness.model.history import HistoryRecord
from harness.model.measurement import Sample

__all__ = [
    "WAIT_S",
    "Say",
    "Store",
    "Tail",
    "changed_meanwhile",
    "check_name",
    "differs_by_case",
    "say_on_stderr",
    "taken",
    "unknown",
]

Say = Callable[[str], None]
"""Takes one line about what a store found and put right by itself."""

WAIT_S = 30.0
"""How long a store waits for other writers. A run of 100 cases holds a lock for some 10 ms, so 16 writers that
arrive together take turns within a second; who holds one for half a minute is stuck."""

_MOST_LISTED = 20
"""Names in one message: a folder of reviewed files has a handful, a line should stay readable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The newest ``records`` of one case that compare, oldest first, and how many ``earlier`` ones there are."""

    records: tuple[HistoryRecord, ...]
    earlier: int


class Store(Protocol):
    """Keeps baselines by name and the history of all runs, for any number of processes at once.

    A write is there whole or not at all, whatever ends the process, and every method may raise ``UsageError``,
    ``FileFormatError`` (what is kept is damaged, foreign or of a newer schema), ``OutputError`` (it cannot be
    written) and ``UnavailableError`` (the store cannot be reached), each one line without any password.
    """

    @property
    def where(self) -> str:
        """The store in words for a person, without any password."""
        ...

    def save(
        self, baseline: Baseline, *, replace: bool = False, instead_of: Baseline | None = None
    ) -> str:
        """Keep the baseline under its own name and return where, in words for a person.

        With ``instead_of``, what was loaded before, it replaces that and nothing else: ``ConflictError`` where another
        writer was faster, so that what two save one after the other from the same promise is never lost.
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

    def append(self, records: Sequence[HistoryRecord]) -> int:
        """Add to the history what is not there yet, by ``run_id`` and ``key``; returns how many were new.

        All of it is on the disk before this returns. After an error, or a killed process, adding the same records
        again adds what is missing. Raises ``OutputError`` for a record that no store could give back.
        """
        ...

    def history(
        self, *, key: str | None = None, comparable: str | None = None, limit: int | None = None
    ) -> tuple[HistoryRecord, ...]:
        """The records without their samples, oldest first, then by ``run_id`` and ``key``.

        ``key`` and ``comparable`` narrow them down; of those, ``limit`` leaves the newest.
        """
        ...

    def tails(
        self, wanted: Mapping[str, Collection[str]], *, run_id: str, created: str, limit: int
    ) -> Mapping[str, Tail]:
        """What was known of many cases when a run was made, by one question: at most ``limit`` records of each.

        ``wanted`` are the keys, each with its ``comparable``. Records made after ``created`` and those of ``run_id``
        itself are left out; a key without any has no tail.
        """
        ...

    def sample(self, run_id: str, key: str) -> Sample | None:
        """The raw timings of one record, ``None`` where there are none."""
        ...

    def keys(self) -> tuple[str, ...]:
        """Every key of the history, sorted."""
        ...


def say_on_stderr(line: str) -> None:
    """Where a store that was given nothing else reports."""
    sys.stderr.write(f"harness: {line}\n")


def check_name(name: str) -> None:
    """Refuse a name that not every store can keep; raises ``UsageError`` with one that would do."""
    problem = name_problem(name)
    if problem is None:
        return
    better = portable_name(name)
    hint = f"; use {better!r}" if better else ""
    raise UsageError(f"baseline name {ascii(name)[:120]} is not allowed: {problem}{hint}")


def taken(name: str, where: str) -> UsageError:
    """A baseline of that name is kept already."""
    return UsageError(
        f"baseline {name!r} exists in {where} and was left as it is; "
        "replace it explicitly (--replace) or choose another name"
    )


def changed_meanwhile(name: str, where: str) -> ConflictError:
    """Another writer replaced or removed a baseline between its loading and its saving."""
    return ConflictError(
        f"baseline {name!r} in {where} was changed by another process meanwhile and was left as that made it; "
        "save it again"
    )


def differs_by_case(name: str, known: str, where: str) -> UsageError:
    """Two names that a file system without case would take for one."""
    return UsageError(
        f"baseline {name!r} differs from {known!r} in {where} only by case, which some "
        "file systems cannot keep apart; choose another name"
    )


def unknown(name: str, known: Sequence[str], where: str) -> UsageError:
    """There is no baseline of that name, but there are these."""
    if not known:
        command = f"harness baseline save {name}{at_store(where)}"
        hint = f"none is saved there; save one{password_note(where)}: {command}"
    else:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
        hint += f"known: {', '.join(known[:_MOST_LISTED])}{more}"
    return UsageError(f"no baseline {name!r} in {where}; {hint}")
