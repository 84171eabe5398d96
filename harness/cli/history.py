"""``harness history``: what was measured when, added from runs and shown as trends."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource

from harness.baseline.commands import at_store, password_note
from harness.baseline.records import left_out, records_of
from harness.baseline.run_history import with_history, with_promised_speeds
from harness.baseline.stores.base import Store
from harness.baseline.stores.record_codec import checked
from harness.baseline.trend import trends
from harness.cli.baseline import latest_run
from harness.cli.debugging import debug_option
from harness.cli.history_text import list_lines, show_lines
from harness.cli.options import reports_option, store_option
from harness.errors import HarnessError, OutputError, UsageError
from harness.model.baseline import Baseline
from harness.model.verdict import Run
from harness.report.json import read_run
from harness.units import count_text

__all__ = ["add_run", "history_command", "with_past"]

_VARIABLE = "HARNESS_HISTORY"
"""Where ``harness run`` may take the store of its history from."""

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


@history_command.command("add", short_help="Add the timings of runs, or of the latest.")
@click.argument(
    "files", metavar="[RUN.json|report.html]...", nargs=-1, type=click.Path(path_type=Path)
)
@store_option
@reports_option
@debug_option
def add_command(*, files: tuple[Path, ...], store: Store, reports: Path) -> None:
    """Add the timings of runs, or of the latest; what is there already is not added twice."""
    if not files:
        path, run = latest_run(reports)
        _add_one(run, path, store)
    elif _add(files, store) == len(files):
        raise UsageError(
            "nothing was added, only comparisons were named; measure with: harness run"
        )


@history_command.command("push", short_help="Add runs that could not be added before.")
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


@history_command.command("show", short_help="Show runs, and the commits at which they changed.")
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
        later = _later(file, store)
        click.echo(f"harness: the history was not written: {error}; later{later}", err=True)


def with_past(run: Run, store: Store | None, baseline: Baseline | None = None) -> Run:
    """The run with its history from a store and, where that knows nothing, from the speeds of its baseline.

    A store that cannot be read, or is not waited for any longer, costs the history and never the run: a note says so.
    """
    if store is not None:
        try:
            run = with_history(run, store)
        except (HarnessError, KeyboardInterrupt) as error:
            why = str(error) or "interrupted"
            run = replace(run, notes=(*run.notes, f"the history was not read: {why}"))
    return run if baseline is None else with_promised_speeds(run, baseline)


def _later(file: Path, store: Store) -> str:
    """The command that adds a run later; a store from the environment is named by its variable, password and all."""
    push = shlex.join(["harness", "history", "push", str(file)])
    context = click.get_current_context(silent=True)
    source = context and context.get_parameter_source("history")
    if source is ParameterSource.ENVIRONMENT and os.environ.get(_VARIABLE):
        return f': HARNESS_STORE="${_VARIABLE}" {push}'
    return f"{password_note(store.where)}: {push}{at_store(store.where)}"


def _add(files: tuple[Path, ...], store: Store) -> int:
    """Comparisons are passed over and counted; a file that cannot be used is named when all the others are added."""
    comparisons = 0
    unusable: list[str] = []
    for file in files:
        try:
            run = read_run(file)
            checked(() if run.paired_with else records_of(run))
        except (UsageError, OutputError) as error:
            unusable.append(str(error))
            continue
        if run.paired_with:
            click.echo(
                f"history {file} is a comparison with {run.paired_with}, so it was passed over"
            )
            comparisons += 1
        else:
            _add_one(run, file, store)
    if unusable:
        others = (
            f"; of {len(files):,} files the other {len(files) - len(unusable):,} were dealt with"
        )
        raise UsageError("; ".join(unusable) + (others if files[1:] else ""))
    return comparisons


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
    where = store.where
    command = f"harness history add{at_store(where)}"
    return f"no history in {where}; add the latest run{password_note(where)}: {command}"


def _unknown(key: str, store: Store) -> UsageError:
    known = store.keys()
    if not known:
        return UsageError(_nothing(store))
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known[:10])}"
    return UsageError(f"no history of {key!r} in {store.where}; {hint}")


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"
