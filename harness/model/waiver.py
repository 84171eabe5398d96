"""A finding that is known and accepted for a while, with the reason and an end."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Waiver"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """``check`` of the cases that match ``case`` (``*`` and ``?``) may fail, because of ``reason``.

    ``since`` and ``until`` are ISO 8601 dates, both included; ``until`` is empty where it never ends by itself.
    """

    case: str
    check: str
    reason: str
    since: str
    until: str = ""
