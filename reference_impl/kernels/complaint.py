"""A bad label, noted by a kernel where it cannot raise and told by the host when it next looks."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["complain", "raise_if_complained"]


def complain(complaint: NDArray[Any], *, row: int, label: int) -> None:
    """Notes a bad label in ``complaint``, one record of ``task.COMPLAINT``, unless one is noted already."""
    if complaint["raised"].any():
        return
    complaint["row"] = row
    complaint["label"] = label
    complaint["raised"] = 1


def raise_if_complained(complaint: NDArray[Any], *, classes: int) -> None:
    """Raises ``ValueError`` with row and label of the noted bad label, and clears the note.

    A look at host memory: no call to the driver, no copy and no wait. A device that is still at work may not have
    written yet; a later look then finds it.
    """
    if not complaint["raised"].any():
        return
    row, label = int(complaint["row"].flat[0]), int(complaint["label"].flat[0])
    complaint["raised"] = 0
    raise ValueError(f"label {label} in row {row} is outside [0, {classes})")
