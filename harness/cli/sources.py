"""Where a run lies that a command is to read: its file, its page, or the folder that holds them."""

from __future__ import annotations

from pathlib import Path

from harness.errors import UsageError
from harness.report.files import HTML_FILE, JSON_FILE
from harness.units import count_text

__all__ = ["run_file"]


def run_file(source: Path) -> Path:
    """The file of a run: the source itself, or what lies in its folder; ``UsageError`` for a folder without one."""
    if not source.is_dir():
        return source
    for name in (JSON_FILE, HTML_FILE):
        if (source / name).is_file():
            return source / name
    more = sorted(source.glob(f"*/{JSON_FILE}"))
    hint = (
        f"it has {count_text(len(more), 'folder')} with one: {source}/*/"
        if more
        else "name a run.json"
    )
    raise UsageError(f"{source} is a folder without {JSON_FILE} or {HTML_FILE}; {hint}")
