"""Why a budget is what it is: each reason once, with everything it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.budget import Limit
from harness.report.view.crossings import COLUMNS, region_name
from harness.report.wording import LONGEST_REASON, shortened

__all__ = ["Reason", "reasons"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """``limits`` are regions and, where a region has limits for several reasons, the quantities."""

    limits: str
    because: str


def reasons(limits: Mapping[str, tuple[Limit, ...]]) -> tuple[Reason, ...]:
    """Every reason of a budget in order of first appearance, with the limits it was given for."""
    found: dict[str, list[str]] = {}
    for region, entries in limits.items():
        by_reason: dict[str, list[str]] = {}
        for limit in entries:
            by_reason.setdefault(limit.because, []).append(COLUMNS[limit.quantity])
        for because, quantities in by_reason.items():
            some = f" ({', '.join(quantities)})" if len(by_reason) > 1 else ""
            found.setdefault(because, []).append(f"{region_name(region)}{some}")
    return tuple(
        Reason(limits=", ".join(names), because=shortened(because, limit=LONGEST_REASON))
        for because, names in found.items()
    )
