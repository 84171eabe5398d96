"""An outcome as a reader sees it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.outcome import Outcome
from harness.report.wording import MARKS

__all__ = ["Mark"]


@dataclass(frozen=True, slots=True)
class Mark:
    """An outcome as its sign and its word; ``style`` names it in style sheets."""

    sign: str
    word: str
    style: str

    @classmethod
    def of(cls, outcome: Outcome) -> Mark:
        """The mark of an outcome."""
        return cls(MARKS[outcome], outcome.value, outcome.value)
