"""Budgets: what a region may do, each limit with its reason, and what exceeding one looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from harness.errors import WorkloadError
from harness.model.event import Direction, Event, EventType, Sync, Transfer
from harness.model.traffic import TrafficLine
from harness.units import bytes_text, count_text

__all__ = ["WHOLE_RUN", "Budget", "Limit", "Quantity", "Violation"]

WHOLE_RUN = "run"
"""The region that stands for everything between the first and the last line of a run."""


class Quantity(Enum):
    """What a limit counts."""

    D2H = "d2h"
    H2D = "h2d"
    D2H_BYTES = "d2h_bytes"
    H2D_BYTES = "h2d_bytes"
    SYNCS = "syncs"
    BLOCKING_COPIES = "blocking_copies"

    @property
    def requires(self) -> EventType:
        """The event type a probe must observe for this quantity to be known."""
        return EventType.SYNC if self is Quantity.SYNCS else EventType.TRANSFER

    def amount_text(self, amount: int) -> str:
        """So much of this quantity, in words: ``2 D2H``, ``8 B D2H``, ``1 sync``."""
        if self is Quantity.SYNCS:
            return count_text(amount, "sync")
        if self is Quantity.BLOCKING_COPIES:
            return count_text(amount, "blocking copy", plural="blocking copies")
        direction = self.name.removesuffix("_BYTES")
        return (
            f"{amount:,} {direction}"
            if direction == self.name
            else f"{bytes_text(amount)} {direction}"
        )

    def counts(self, event: Event) -> int:
        """How much this one event adds to the quantity."""
        match self, event:
            case Quantity.SYNCS, Sync():
                return 1
            case Quantity.BLOCKING_COPIES, Transfer(blocking=True):
                return 1
            case Quantity.D2H, Transfer(direction=Direction.DEVICE_TO_HOST):
                return 1
            case Quantity.H2D, Transfer(direction=Direction.HOST_TO_DEVICE):
                return 1
            case Quantity.D2H_BYTES, Transfer(direction=Direction.DEVICE_TO_HOST):
                return event.size_bytes
            case Quantity.H2D_BYTES, Transfer(direction=Direction.HOST_TO_DEVICE):
                return event.size_bytes
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most so much of one quantity, and why that much."""

    quantity: Quantity
    at_most: int
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One limit exceeded within one region, with the copies and waits that did it."""

    region: str
    limit: Limit
    observed: int
    lines: tuple[TrafficLine, ...]


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of each region of a workload; regions without a limit may do anything."""

    regions: Mapping[str, tuple[Limit, ...]]

    @classmethod
    def from_plain(cls, plain: Mapping[str, object]) -> Budget:
        """Read ``{"forward": {"d2h": 0, "syncs": 0, "because": "..."}}``.

        Keys are the values of ``Quantity``; ``None`` means no limit. Raises ``WorkloadError`` naming the
        region and the key when a key is unknown, a value is not a non-negative integer, or the reason
        is missing.
        """
        return cls({region: _limits(region, entry) for region, entry in plain.items()})


def _limits(region: str, entry: object) -> tuple[Limit, ...]:
    if not isinstance(entry, Mapping):
        raise WorkloadError(
            f"budget of region {region!r} is {entry!r}; give {{'d2h': 0, 'because': '...'}}"
        )
    because = entry.get("because")
    if not isinstance(because, str) or not because.strip():
        raise WorkloadError(f"budget of region {region!r} gives no reason; add because='...'")
    limits = []
    for key, value in entry.items():
        if key == "because" or value is None:
            continue
        try:
            quantity = Quantity(key)
        except ValueError:
            known = ", ".join(quantity.value for quantity in Quantity)
            raise WorkloadError(
                f"budget of region {region!r} limits {key!r}, which is not counted; use one of {known}"
            ) from None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise WorkloadError(
                f"budget of region {region!r} limits {key} to {value!r}; give a whole number of at least 0"
            )
        limits.append(Limit(quantity=quantity, at_most=value, because=because))
    return tuple(limits)
