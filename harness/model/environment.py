"""The environment a run happened in: hard facts that decide comparability, soft facts that explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Environment", "FieldDifference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDifference:
    """One fact that differs between two environments; ``None`` where one side lacks it."""

    field: str
    baseline: str | None
    current: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Facts as text by dotted name (``"cpu.model"``, ``"python.version"``, ``"gpu.name"``).

    Two runs may be compared only when all ``hard`` facts agree; ``soft`` facts are shown as a difference.
    ``commit`` is the version of the code under test where git knows it, ``dirty`` whether it had changes.
    """

    hard: Mapping[str, str]
    soft: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None
    dirty: bool | None = None
