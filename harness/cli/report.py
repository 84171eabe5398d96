"""``harness report``: the page of any number of runs, made again from what they left."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from harness.baseline.run_history import with_history
from harness.baseline.stores.opening import FORMS, open_store
from harness.cli.debugging import debug_option
from harness.cli.forms import (
    FORM_OF_OPTION,
    STANDARD_OUTPUT,
    check_places,
    deliver,
    junit_option,
    markdown_option,
)
from harness.cli.options import training_option
from harness.cli.sources import run_file
from harness.errors import UsageError
from harness.model.training import Training
from harness.model.verdict import Run
from harness.report.html import render_html
from harness.report.json import encode_run, read_runs
from harness.report.junit import junit_xml
from harness.report.markdown import markdown_summary
from harness.report.matrix_html import render_matrix
from harness.report.matrix_markdown import matrix_markdown
from harness.report.recognition import PAGE
from harness.report.view.merged import without_raw
from harness.report.wording import shortened
from harness.units import bytes_text, count_text

__all__ = ["report_command"]

_DEFAULT = "harness-report.html"
"""In the working folder: no name that a run's own page has."""


@click.command("report")
@click.argument(
    "sources", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path)
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    default=_DEFAULT,
    show_default=True,
    help="The page; `-`: standard output. An earlier page of the harness is replaced, nothing else is.",
)
@click.option(
    "--title", metavar="TEXT", default="", help="What the page is called, in place of its verdict."
)
@click.option(
    "--history", metavar="WHERE", help=f"Show since when, by the history in {FORMS}; of one run."
)
@training_option
@junit_option
@markdown_option
@debug_option
def report_command(
    *,
    sources: tuple[Path, ...],
    output: str,
    title: str,
    history: str | None,
    training: tuple[Training, ...],
    junit: str | None,
    markdown: str | None,
) -> int:
    """Make the page of one run again, or one page of several: cases by runs, and what differs between them.

    RUN is a run.json, a page made from it, or the folder of a run. Times are compared with those of the first.
    The exit status says whether the page could be made, not what it shows.
    """
    places = {"--output": output, "--junit": junit, "--markdown": markdown}
    named = {option: where for option, where in places.items() if where is not None}
    files = tuple(map(run_file, sources))
    _refuse_inputs(named, files)
    check_places(named, {"--output": PAGE, **FORM_OF_OPTION})
    runs = _read(files)
    _refuse_for_number(runs, history=history, training=training)
    if training:
        runs = (replace(runs[0], training=(*runs[0].training, *training)),)
    if history is not None:
        runs = (with_history(runs[0], open_store(history)),)
    made = {option: _FORMS[option](runs, title) for option in named}
    for option, where in named.items():
        deliver(made[option], where)
        size, count = bytes_text(len(made[option])), count_text(len(runs), "run")
        told = "standard output" if where == STANDARD_OUTPUT else where
        click.echo(f"wrote {told} ({size}, {count})", err=STANDARD_OUTPUT in named.values())
    return 0


def _page(runs: Sequence[Run], title: str) -> bytes:
    page = render_html(runs[0], title=title) if len(runs) == 1 else render_matrix(runs, title=title)
    return page.encode()


def _markdown(runs: Sequence[Run], title: str) -> bytes:
    one = len(runs) == 1
    return (markdown_summary(runs[0]) if one else matrix_markdown(runs, title=title)).encode()


_FORMS: Mapping[str, Callable[[Sequence[Run], str], bytes]] = {
    "--output": _page,
    "--junit": lambda runs, title: junit_xml(runs),
    "--markdown": _markdown,
}


def _read(files: Sequence[Path]) -> tuple[Run, ...]:
    """Every run once, in order; of one that is given twice, the copy that has its raw timings."""
    found: dict[bytes, Run] = {}
    for file in files:
        for run in read_runs(file):
            name = hashlib.sha256(encode_run(without_raw(run))).digest()
            known = found.setdefault(name, run)
            if known is not run:
                click.echo(
                    f"harness: {file}: run {shortened(run.run_id)} is given twice, kept once",
                    err=True,
                )
                found[name] = max(known, run, key=lambda copy: len(encode_run(copy)))
    return tuple(found.values())


def _refuse_inputs(places: Mapping[str, str], files: Sequence[Path]) -> None:
    inputs = {os.path.realpath(file) for file in files}
    for option, where in places.items():
        if where != STANDARD_OUTPUT and os.path.realpath(where) in inputs:
            raise UsageError(
                f"{option} {where} is one of the runs to read and stays as it is; name another file"
            )


def _refuse_for_number(
    runs: Sequence[Run], *, history: str | None, training: Sequence[Training]
) -> None:
    """An option that would have no effect must not look as if it had."""
    for option, wanted in (("--history", history is not None), ("--training", bool(training))):
        if wanted and len(runs) > 1:
            raise UsageError(
                f"{option} is told of one run, and there are {len(runs):,}; name one, or leave it out"
            )
