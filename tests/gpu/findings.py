"""What a section found: one line of JSON per finding, on disk the moment it is made.

A section may be killed at any time; what it found before stays.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

__all__ = ["Finding", "Notebook", "Outcome", "read_findings", "worst_of"]

_LONGEST_REASON = 600
"""Characters of an exception's text that are kept in a finding; its traceback goes into the log."""


class Outcome(Enum):
    """How one expectation fared, from best to worst."""

    MEASURED = "MEASURED"
    """A figure without an expectation."""

    CONFIRMED = "CONFIRMED"
    """What was expected is what was seen."""

    NOT_TRIED = "NOT TRIED"
    """Nothing was seen, for the reason given."""

    DIFFERS = "DIFFERS"
    """Something else was seen."""

    @property
    def severity(self) -> int:
        """0 for a figure up to 3 for a difference."""
        return list(Outcome).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One expectation held against what was seen; ``item`` groups those that answer one question.

    ``details`` are figures and texts for whoever looks closer, plain JSON.
    """

    item: str
    about: str
    outcome: Outcome
    expected: str = ""
    seen: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """One sentence: ``1 reads, waits of a.get(): expected ..., seen ...``."""
        if self.outcome is Outcome.DIFFERS:
            return f"{self.item}, {self.about}: expected {self.expected}, seen {self.seen}"
        return f"{self.item}, {self.about}: {self.seen}"


class Notebook:
    """Writes findings to ``path``; ``item`` is the question being answered, see ``about``."""

    def __init__(self, path: Path, item: str = "") -> None:
        self._path, self._item = path, item

    def about(self, item: str) -> Notebook:
        """A notebook for another question, in the same file."""
        return Notebook(self._path, item)

    def equal(self, about: str, *, expected: str, seen: str, **details: Any) -> None:
        """Confirmed when both texts are the same."""
        self.holds(about, expected == seen, expected=expected, seen=seen, **details)

    def holds(
        self, about: str, condition: bool, *, expected: str, seen: str, **details: Any
    ) -> None:
        """Confirmed when ``condition`` is true."""
        outcome = Outcome.CONFIRMED if condition else Outcome.DIFFERS
        self._write(about, outcome, expected, seen, details)

    def measured(self, about: str, seen: str, **figures: Any) -> None:
        """A figure that nothing is expected of."""
        self._write(about, Outcome.MEASURED, "", seen, figures)

    def not_tried(self, about: str, why: str, **details: Any) -> None:
        """Nothing was seen of this, and why."""
        self._write(about, Outcome.NOT_TRIED, "", why, details)

    def broke(self, about: str, error: BaseException) -> None:
        """The attempt itself raised; the traceback goes to standard error, which is the section's log."""
        traceback.print_exception(error)
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST_REASON]
        self.not_tried(about, why)

    def _write(
        self, about: str, outcome: Outcome, expected: str, seen: str, details: Mapping[str, Any]
    ) -> None:
        finding = Finding(
            item=self._item,
            about=about,
            outcome=outcome,
            expected=expected,
            seen=seen,
            details=details,
        )
        line = json.dumps({**asdict(finding), "outcome": outcome.value}, default=str)
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")


def read_findings(path: Path) -> tuple[Finding, ...]:
    """The findings in a file, in order; a line cut off by a kill is left out, a missing file has none."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return ()
    found = []
    for line in lines:
        try:
            plain = json.loads(line)
        except ValueError:
            continue
        found.append(Finding(**{**plain, "outcome": Outcome(plain["outcome"])}))
    return tuple(found)


def worst_of(findings: Iterable[Finding]) -> Mapping[str, Outcome]:
    """The worst outcome of each item, in order of first appearance."""
    worst: dict[str, Outcome] = {}
    for finding in findings:
        known = worst.get(finding.item, finding.outcome)
        worst[finding.item] = max(known, finding.outcome, key=lambda outcome: outcome.severity)
    return worst
