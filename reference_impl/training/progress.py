"""A bar for what takes longer than two seconds, on a terminal and there alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["Advance", "bar"]

Advance = Callable[[str], None]
"""One step is done; what to show beside the bar."""


@contextmanager
def bar(title: str, total: int) -> Iterator[Advance]:
    """A bar of ``total`` steps on standard error, gone when the block ends."""
    console = Console(stderr=True)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[shown]}"),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with progress:
        task = progress.add_task(title, total=total, shown="")
        yield lambda shown: progress.update(task, advance=1, shown=shown)
