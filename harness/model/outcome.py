"""How a check can end, and how strong the evidence behind it is."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

__all__ = ["Evidence", "Outcome", "worst"]


class Outcome(Enum):
    """How a check ended, from best to worst; a run is as good as its worst part."""

    PASSED = "passed"
    SKIPPED = "skipped"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"

    @property
    def severity(self) -> int:
        """0 for passed up to 3 for failed."""
        return list(Outcome).index(self)


class Evidence(Enum):
    """How strong the evidence behind a traffic verdict is, strongest first."""

    PROVEN = "PROVEN"
    WITNESSED = "WITNESSED"
    RECORDED = "RECORDED"
    SIMULATED = "SIMULATED"


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of the outcomes; no outcome at all is inconclusive, since nothing was checked."""
    found = list(outcomes)
    if not found:
        return Outcome.INCONCLUSIVE
    return max(found, key=lambda outcome: outcome.severity)
