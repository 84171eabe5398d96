"""``harness compare``: is the code in the working tree slower than at a ref?"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.cli.interruption import termination_as_interrupt
from harness.cli.options import debug_option, fraction, reports_option
from harness.devices.registry import DEVICE_NAMES
from harness.errors import OutputError
from harness.model.outcome import Outcome
from harness.model.verdict import Run
from harness.report.files import check_writable, write_report
from harness.report.json import encode_run
from harness.report.text import print_summary
from harness.report.view.mark import Mark
from harness.session.against import (
    PEER,
    Criteria,
    Progress,
    Request,
    Step,
    compare_with_peer,
    compare_with_ref,
)

__all__ = ["compare_command"]

_PAIRS_PER_SECOND, _FEWEST_PAIRS, _MOST_PAIRS = 2, 2, 100
"""A process draws where its memory lies once, which biases its ratio of the same code, as no number of rounds in it
averages out; eight processes bring that to a third. Each costs a start of 0.3 s, for all cases together."""


@click.command("compare")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD[/CASE]]...")
@click.option(
    "--against",
    "ref",
    required=True,
    metavar="GITREF",
    help=f"Commit, tag or branch; `{PEER}` for each case's own frozen copy.",
)
@click.option(
    "--device",
    "-d",
    default="auto",
    show_default=True,
    metavar="NAME",
    help=f"Where it is timed: {', '.join(name for name in DEVICE_NAMES if name != 'simulated')}. "
    "auto: the GPU when there is one, else cpu.",
)
@click.option(
    "--seconds",
    default=4.0,
    show_default=True,
    type=click.FloatRange(0.1, 3600),
    help="Time for timing each case, both sides together; less where that is precise.",
)
@click.option(
    "--margin",
    type=fraction,
    default="1%",
    show_default=True,
    metavar="PERCENT",
    help="How big a change matters; a case may have its own.",
)
@click.option(
    "--confidence",
    type=fraction,
    default="95%",
    show_default=True,
    metavar="PERCENT",
    help="How sure to be, over all cases together.",
)
@click.option(
    "--find",
    type=fraction,
    metavar="PERCENT",
    show_default="twice the margin: 2%",
    help="The slowdown that must be findable for a case to pass as unchanged.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, _MOST_PAIRS),
    metavar="N",
    show_default=f"{_PAIRS_PER_SECOND} per second, at least {_FEWEST_PAIRS}",
    help="Processes, one after the other, that the time is spread over.",
)
@click.option(
    "--python",
    metavar="PATH",
    help="Interpreter of an environment in which the ref is installed, as compiled code needs.",
)
@click.option(
    "--import-path",
    metavar="DIR",
    help="Folder of the repository the ref's code is imported from, where that cannot be found out.",
)
@click.option(
    "--patience",
    default=600.0,
    show_default=True,
    type=click.FloatRange(1),
    metavar="SECONDS",
    help="Silence after which a side counts as hung.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Seed of inputs, order and layout.",
)
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    help="Also write the record of the run there; `-`: to standard output, the summary to standard error.",
)
@reports_option
@click.option("--quiet", "-q", is_flag=True, help="Print only what did not pass.")
@debug_option
def compare_command(
    *,
    workloads: tuple[str, ...],
    ref: str,
    device: str,
    seconds: float,
    margin: float,
    confidence: float,
    find: float | None,
    processes: int | None,
    python: str | None,
    import_path: str | None,
    patience: float,
    seed: int,
    json_file: str | None,
    reports: Path,
    quiet: bool,
) -> int:
    """Time the working tree beside a git ref, pair by pair, and say where it is slower.

    The ref is checked out in a temporary worktree. Both versions are loaded into one process, several times over,
    and take turns on the same inputs; compiled code gets a process per version. A case fails when the whole interval of its slowdown is beyond the margin, and passes as unchanged only when a
    slowdown worth finding would have been found.
    """
    if find is not None and find <= margin:
        raise click.BadParameter(
            f"a slowdown within --margin is never called one; ask to find more than {margin:.1%}",
            param_hint="--find",
        )
    check_writable(reports)
    request = Request(
        names=workloads,
        ref=ref,
        device=device,
        seconds=seconds,
        processes=processes
        or max(_FEWEST_PAIRS, min(_MOST_PAIRS, round(_PAIRS_PER_SECOND * seconds))),
        criteria=Criteria(margin=margin, confidence=confidence, find=find, seed=seed),
        python=python,
        import_path=import_path,
        patience_s=patience,
        command=shlex.join(["harness", *sys.argv[1:]]),
    )
    compare = compare_with_peer if ref == PEER else compare_with_ref
    with _progress() as progress, termination_as_interrupt():
        run = compare(request, progress=progress)
    written = write_report(run, reports)
    _print(run, written, quiet=quiet, to_stderr=json_file == "-")
    if json_file is not None:
        _write_json(run, json_file)
    return int(run.exit_code)


def _print(run: Run, written: Path, *, quiet: bool, to_stderr: bool) -> None:
    """The summary of any run, and the figures of what passed, which that leaves to the report."""
    console = Console(highlight=False, stderr=to_stderr)
    print_summary(run, console, quiet=quiet)
    passed = [
        f"  {Mark.of(result.outcome).sign} {verdict.key}  {result.summary}"
        for verdict in run.verdicts
        for result in verdict.checks
        if result.check == THROUGHPUT_CHECK and result.outcome is Outcome.PASSED
    ]
    for line in ["", *passed] if passed and not quiet else []:
        console.print(line, markup=False, soft_wrap=True)
    console.print(f"report  {written / 'report.html'}", markup=False, soft_wrap=True)


def _write_json(run: Run, file: str) -> None:
    text = encode_run(run)
    if file == "-":
        click.echo(text.decode("ascii"), nl=False)
        return
    try:
        Path(file).write_bytes(text)
    except OSError as error:
        raise OutputError(
            f"{file} cannot be written: {error.strerror or error}; choose another file"
        ) from None


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on a terminal, one line per visit where it is piped; drawn only while nothing is timed."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda step: click.echo(
            f"[{step.visit}/{step.visits}] {_text(step)}, {_left(step)}", err=True
        )
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Bar(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("starting", total=1, left="")

        def show(step: Step) -> None:
            bar.update(
                task,
                description=_text(step),
                completed=step.visit - 1,
                total=step.visits,
                left=_left(step),
                refresh=True,
            )

        yield show


def _text(step: Step) -> str:
    pairs = f", process {step.pair} of {step.pairs}" if step.pairs > 1 else ""
    return f"{step.case}{pairs}"


def _left(step: Step) -> str:
    minutes, seconds = divmod(round(step.left_s), 60)
    return f"about {f'{minutes} min ' if minutes else ''}{seconds} s left"
