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
from harness.cli.forms import (
    STANDARD_OUTPUT,
    check_places,
    deliver,
    junit_option,
    markdown_option,
)
from harness.cli.options import debug_option, training_option
from harness.errors import UsageError
from harness.model.training import Training
from harness.model.verdict import Run
from harness.report.embedding import ELEMENT, is_page
from harness.report.files import HTML_FILE, JSON_FILE
from harness.report.html import render_html
from harness.report.json import encode_run, read_runs
from harness.report.junit import junit_xml
from harness.report.markdown import markdown_summary
from harness.report.matrix_html import render_matrix
from harness.report.matrix_markdown import matrix_markdown
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
    "--title", metavar="TEXT", default="", help="What the page of several runs is called."
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
    files = tuple(map(_file, sources))
    _refuse_inputs(named, files)
    check_places(named)
    _refuse_foreign(output)
    runs = _read(files)
    _refuse_for_number(runs, title=title, history=history, training=training)
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
    page = render_html(runs[0]) if len(runs) == 1 else render_matrix(runs, title=title)
    return page.encode()


def _markdown(runs: Sequence[Run], title: str) -> bytes:
    one = len(runs) == 1
    return (markdown_summary(runs[0]) if one else matrix_markdown(runs, title=title)).encode()


_FORMS: Mapping[str, Callable[[Sequence[Run], str], bytes]] = {
    "--output": _page,
    "--junit": lambda runs, title: junit_xml(runs),
    "--markdown": _markdown,
}


def _file(source: Path) -> Path:
    """The file of a run: the source itself, or what lies in its folder."""
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


def _refuse_foreign(output: str) -> None:
    """What is no page of the harness is not overwritten, were it by a slip of the keyboard."""
    path = Path(output)
    if output == STANDARD_OUTPUT or not path.is_file():
        return
    data = path.read_bytes()
    if data and not (is_page(data) and f'id="{ELEMENT}'.encode() in data):
        raise UsageError(
            f"{output} exists and is no page of the harness; remove it or name another file"
        )


def _refuse_for_number(
    runs: Sequence[Run], *, title: str, history: str | None, training: Sequence[Training]
) -> None:
    """An option that would have no effect must not look as if it had."""
    if title and len(runs) == 1:
        raise UsageError(
            "--title names a page of several runs; that of one is called by its verdict"
        )
    for option, wanted in (("--history", history is not None), ("--training", bool(training))):
        if wanted and len(runs) > 1:
            raise UsageError(
                f"{option} is told of one run, and there are {len(runs):,}; name one, or leave it out"
            )
