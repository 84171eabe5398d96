"""What shows how far a run has come: a bar on a terminal, one line per case where output is piped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from harness.session.record import Progress as Report

__all__ = ["Display", "shown"]


@dataclass(frozen=True, slots=True)
class Display:
    """``report`` each case, and ``tick`` now and then in between, so that time is seen to pass."""

    report: Report
    tick: Callable[[], None]


@contextmanager
def shown(console: Console, *, threads: bool) -> Iterator[Display]:
    """A display for as long as the context is open.

    Without ``threads`` the bar moves only when it is told or ticked: a process that forks must not have any.
    """
    if not console.is_terminal:
        yield Display(
            lambda case, number, total: click.echo(f"[{number + 1}/{total}] {case}", err=True),
            lambda: None,
        )
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
    )
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        auto_refresh=threads,
        redirect_stdout=threads,  # what another process prints goes past it anyway
        redirect_stderr=threads,
    ) as bar:
        task = bar.add_task("starting", total=1)

        def show(case: str, number: int, total: int) -> None:
            bar.update(task, description=case, completed=number, total=total, refresh=True)

        yield Display(show, bar.refresh)
