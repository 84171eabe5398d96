"""Regions that nobody watches: the programs take the same steps as the workloads, which are watched."""

from __future__ import annotations

from contextlib import nullcontext

__all__ = ["unwatched"]

_UNWATCHED = nullcontext()


def unwatched(region: str) -> nullcontext[None]:
    """A region without an observer."""
    return _UNWATCHED
