"""``harness history``: what was measured when, added from runs and shown as trends."""

from __future__ import annotations

import difflib
import shlex
import sys
from pathlib import Path

import click

from harness.baseline.records import left_out, records_of
from harness.baseline.stores.base import Store
from harness.baseline.trend import trends
from harness.cli.baseline import latest_run
from harness.cli.history_text import list_lines, show_lines
from harness.cli.options import debug_option, reports_option, store_option
from harness.errors import HarnessError, UsageError
from harness.model.verdict import Run
from harness.report.json import read_run
from harness.units import count_text

__all__ = ["add_run", "history_command"]

last_option = click.option(
    "--last",
    metavar="N",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Look at the newest N runs of each case.",
)


@click.group("history")
def history_command() -> None:
    """Keep the timings of every run, and see when they changed."""


@history_command.command("add")
@click.argument(
    "files", metavar="[RUN.json|report.html]...", nargs=-1, type=click.Path(path_type=Path)
)
@store_option
@reports_option
@debug_option
def add_command(*, files: tuple[Path, ...], store: Store, reports: Path) -> None:
    """Add the timings of runs, or of the latest; what is there already is not added twice."""
    _add(files or (latest_run(reports),), store)


@history_command.command("push")
@click.argument(
    "files", metavar="RUN.json...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@store_option
@debug_option
def push_command(*, files: tuple[Path, ...], store: Store) -> None:
    """Add runs that could not be added when they were made, in any order and as often as you like."""
    _add(files, store)


@history_command.command("list")
@last_option
@store_option
@debug_option
def list_command(*, last: int, store: Store) -> None:
    """List every timed case with its trend."""
    found = trends(store.history(), last=last)
    if not found:
        click.echo(_nothing(store), err=True)
        return
    click.echo("\n".join(list_lines(found, encoding=_encoding())))


@history_command.command("show")
@click.argument("key", metavar="[WORKLOAD/CASE]", required=False)
@last_option
@store_option
@debug_option
def show_command(*, key: str | None, last: int, store: Store) -> None:
    """Show the runs of a case, or of every case, and the commits at which it became slower or faster."""
    found = trends(store.history(key=key), last=last)
    if not found and key is not None:
        raise _unknown(key, store)
    if not found:
        click.echo(_nothing(store), err=True)
    for number, trend in enumerate(found):
        click.echo(
            "\n".join(["" for _ in range(number > 0)] + [*show_lines(trend, encoding=_encoding())])
        )


def add_run(run: Run, file: Path, store: Store) -> None:
    """Add a run that was just made; when that fails, say how to do it later, and let the run's verdict stand."""
    try:
        _add_one(run, file, store)
    except HarnessError as error:
        later = shlex.join(["harness", "history", "push", str(file), "--store", store.where])
        click.echo(f"harness: the history was not written: {error}; later: {later}", err=True)


def _add(files: tuple[Path, ...], store: Store) -> None:
    """All files are read before the first is added, so that a wrong name adds nothing."""
    runs = [(file, read_run(file)) for file in files]
    for file, run in runs:
        _add_one(run, file, store)


def _add_one(run: Run, file: Path, store: Store) -> None:
    records = records_of(run)
    new = store.append(records)
    there = len(records) - new
    known = f", {there:,} were there" if there else ""
    if records:
        click.echo(f"history {count_text(new, 'record')} of {file} added to {store.where}{known}")
    else:
        click.echo(f"history {file} has no timings, so nothing was added to {store.where}")
    if unusable := left_out(run):
        click.echo(
            f"harness: {file}: timings that are not positive and finite were left out: "
            f"{', '.join(unusable[:3])}{' and more' if unusable[3:] else ''}",
            err=True,
        )


def _nothing(store: Store) -> str:
    return f"no history in {store.where}; add a run with: harness history add RUN.json"


def _unknown(key: str, store: Store) -> UsageError:
    known = store.keys()
    if not known:
        return UsageError(_nothing(store))
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known[:10])}"
    return UsageError(f"no history of {key!r} in {store.where}; {hint}")


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"
