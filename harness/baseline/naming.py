"""Names a baseline can have in every store and on every file system."""

from __future__ import annotations

import re

__all__ = ["LONGEST_NAME", "name_problem", "portable_name"]

LONGEST_NAME = 100
"""File systems allow 255 bytes; this leaves room for the suffix and for the name of a temporary file."""

_PORTABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def name_problem(name: str) -> str | None:
    """Why this cannot be the name of a baseline, or ``None`` when it can.

    Allowed: ASCII letters, digits, ``.``, ``_`` and ``-``, starting with a letter or digit, not ending in a
    dot, at most ``LONGEST_NAME`` characters, and none of the names Windows keeps for devices.
    """
    if not name:
        return "a baseline's name cannot be empty"
    if len(name) > LONGEST_NAME:
        return f"a baseline's name has at most {LONGEST_NAME} characters, this one has {len(name)}"
    if not _PORTABLE.fullmatch(name):
        return (
            "a baseline's name is made of ASCII letters, digits, '.', '_' and '-' "
            "and starts with a letter or digit"
        )
    if name.endswith(".") or _DEVICES.fullmatch(name):
        return "Windows cannot have a file of that name"
    return None


def portable_name(name: str) -> str | None:
    """The nearest name that is allowed, as ``release-1.2`` for ``release/1.2``; ``None`` if there is none."""
    candidate = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-_")[:LONGEST_NAME].rstrip(".")
    return None if name_problem(candidate) else candidate
