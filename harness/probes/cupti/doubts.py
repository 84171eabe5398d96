"""Why a count may be less than the truth, joined into a few lines with what to do about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum

from harness.model.event import Site
from harness.units import count_text

__all__ = ["Doubt", "Notebook"]


class Doubt(Enum):
    """A reason to mistrust a zero: the noun that is counted, and what it means and asks for."""

    LATE_CALL = (
        "call",
        "seen on entry left no record before the time limit; raise the probe's deadline_s, or end the "
        "threads that were still inside CUDA",
    )
    UNREADABLE = (
        "record",
        "could not be read; install the cupti-python release that belongs to the libcupti in use",
    )
    UNTIMED = (
        "call",
        "came without times and cannot be placed in a region; run fewer other CUDA programs beside this one",
    )
    UNMATCHED = (
        "record",
        "of a copy or wait belonged to no recorded call, so the region is a guess",
    )
    NO_COPY_RECORD = (
        "copy call",
        "left no record of a copy: a copy of 0 bytes, or a record that was lost",
    )
    BLIND_GRAPH = (
        "graph launch",
        "left no record of any node; capture the graph before the probe's session opens, or inside the "
        "same one",
    )
    GRAPH_TRACE = (
        "graph-level record",
        "arrived: another tool turned GRAPH_TRACE on, which hides the copies inside graphs; run without it",
    )
    NO_DIRECTION = (
        "copy record",
        "had a direction CUPTI did not name and was counted nowhere; update this package",
    )
    NO_HOST_KIND = (
        "asynchronous copy record",
        "named no kind of host memory, so whether the call held the host is unknown",
    )
    UNKNOWN_CALL = (
        "call",
        "that this version does not know and that may copy or wait; update this package",
    )
    MANAGED = (
        "use",
        "of managed memory while page migrations are not watched; give the probe unified_memory=True, or "
        "allocate ordinary device memory",
    )
    CPU_FAULT = (
        "page fault",
        "of the host on managed memory without a migration that explains it",
    )
    REMOTE_MAP = (
        "mapping",
        "of managed memory instead of a migration: what is read through it leaves no record",
    )


class Notebook:
    """Counts doubts, and facts that are worth telling and that nobody judges.

    Each doubt remembers the first subject it was raised about: a call's name and line.
    """

    def __init__(self) -> None:
        self._doubts: Counter[Doubt] = Counter()
        self._first: dict[Doubt, str] = {}
        self._facts: dict[str, Counter[str]] = {}

    def doubt(self, doubt: Doubt, *, about: str = "", site: Site | None = None) -> None:
        """Raise ``doubt`` once more."""
        self._doubts[doubt] += 1
        text = " at ".join(filter(None, (about, f"{site}" if site else "")))
        self._first.setdefault(doubt, text)

    def fact(self, heading: str, name: str) -> None:
        """Count one ``name`` under ``heading``."""
        self._facts.setdefault(heading, Counter())[name] += 1

    def doubts(self) -> tuple[str, ...]:
        """One line for each kind of doubt raised, in the order of their first appearance."""
        return tuple(_doubt_line(doubt, n, self._first[doubt]) for doubt, n in self._doubts.items())

    def facts(self) -> tuple[str, ...]:
        """One line per heading: ``poll: cudaEventQuery x3``."""
        return tuple(
            f"{heading}: {_listed(names.items())}" for heading, names in self._facts.items()
        )


def _doubt_line(doubt: Doubt, count: int, first: str) -> str:
    noun, meaning = doubt.value
    where = f" ({first}{', first of them' if count > 1 else ''})" if first else ""
    return f"{count_text(count, noun)}{where} {meaning}"


def _listed(names: Iterable[tuple[str, int]]) -> str:
    return ", ".join(name if count == 1 else f"{name} x{count:,}" for name, count in names)
