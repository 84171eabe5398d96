"""The file that waivers stand in."""

from __future__ import annotations

import stat
from datetime import UTC, date, datetime
from pathlib import Path

from harness.checks.waiver_text import parse_waivers
from harness.errors import FileFormatError, UsageError
from harness.model.waiver import Waiver
from harness.units import bytes_text

__all__ = ["read_waivers", "today"]

_LARGEST_FILE_BYTES = 2**20
"""Four thousand waivers with a reason of two lines each: nobody reviews more."""


def read_waivers(path: Path, *, day: date) -> tuple[Waiver, ...]:
    """The waivers in a TOML file, as ``harness.checks.waiver_text.parse_waivers`` reads them on that day.

    Raises ``UsageError`` where the file cannot be read, ``FileFormatError`` for what is no list of waivers.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a named pipe would wait for somebody to write
            raise UsageError(f"{path} is no file; name a TOML file of waivers")
        with path.open("rb") as stream:
            data = stream.read(_LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with NUL
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(f"waivers {str(path)!r} cannot be read: {reason}") from None
    if len(data) > _LARGEST_FILE_BYTES:
        raise FileFormatError(
            f"{path}: is larger than {bytes_text(_LARGEST_FILE_BYTES)}, the most a list of waivers may have"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path}: is not UTF-8 text (byte 0x{data[error.start]:02x} at {error.start:,})"
        ) from None
    return parse_waivers(text, source=str(path), today=day)


def today() -> date:
    """The day in UTC, so that runners all over the world agree on the age of a waiver."""
    return datetime.now(UTC).date()
