"""``harness run``: verify, benchmark, compare with a baseline, report."""

from __future__ import annotations

import shlex
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from harness.baseline.diff import Policy
from harness.baseline.store import DirectoryStore
from harness.cli.options import (
    Debugging,
    baselines_option,
    debug_option,
    fraction,
    pass_debugging,
    reports_option,
)
from harness.devices.registry import DEVICE_NAMES, choose_devices
from harness.report.files import check_writable, write_report
from harness.report.text import print_summary
from harness.session.catalogue import select
from harness.session.conduct import Progress as Report
from harness.session.conduct import Request, conduct
from harness.session.verify import Settings

__all__ = ["run_command"]


@click.command("run")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD[/CASE]]...")
@click.option(
    "--device",
    "-d",
    default="auto",
    show_default=True,
    metavar="NAME",
    help=f"Where arrays live: {', '.join(DEVICE_NAMES)}. auto: the GPU when there is one, else "
    "traffic on simulated and timing on cpu.",
)
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of all inputs."
)
@click.option(
    "--repeats",
    default=5,
    show_default=True,
    type=click.IntRange(2, 1000),
    help="Watched runs per case, which must all show the same counts.",
)
@click.option(
    "--seconds",
    default=0.8,
    show_default=True,
    type=click.FloatRange(0.05, 3600),
    help="Time for benchmarking each case.",
)
@click.option("--no-benchmark", is_flag=True, help="Verify only, time nothing.")
@click.option(
    "--baseline", "baseline_name", metavar="NAME", help="Hold the run against this baseline."
)
@click.option(
    "--fail-over",
    type=fraction,
    metavar="PERCENT",
    default="5%",
    show_default=True,
    help="With --baseline: fail when the whole interval of the slowdown is beyond this.",
)
@click.option(
    "--trust-raw",
    is_flag=True,
    help="With --baseline: let stored raw timings fail a case that has no frozen peer to correct them.",
)
@baselines_option
@reports_option
@click.option("--quiet", "-q", is_flag=True, help="Print only what did not pass.")
@debug_option
@pass_debugging
def run_command(
    debugging: Debugging,
    *,
    workloads: tuple[str, ...],
    device: str,
    seed: int,
    repeats: int,
    seconds: float,
    no_benchmark: bool,
    baseline_name: str | None,
    fail_over: float,
    trust_raw: bool,
    folder: Path,
    reports: Path,
    quiet: bool,
) -> int:
    """Verify workloads, time them, and write a report.

    WORKLOAD is a built-in name (see `harness workloads`), NAME/CASE with * and ?, or your own as
    package.module:ATTRIBUTE. Without any, every built-in workload runs.
    """
    console = Console(highlight=False)
    check_writable(reports)
    baseline = DirectoryStore(folder).load(baseline_name) if baseline_name is not None else None
    request = Request(
        selections=select(workloads),
        devices=choose_devices(device),
        settings=Settings(
            seed=seed, repeats=repeats, benchmark=not no_benchmark, seconds_per_case=seconds
        ),
        command=shlex.join(["harness", *sys.argv[1:]]),
        baseline=baseline,
        policy=Policy(fail_over=fail_over, trust_raw=trust_raw),
    )
    with _progress(console) as report, _termination_as_interrupt():
        run = conduct(
            request,
            progress=report,
            on_fault=traceback.print_exception if debugging.wanted else None,
        )
    folder_written = write_report(run, reports)
    print_summary(run, console, quiet=quiet)
    console.print(f"report  {folder_written / 'report.html'}", markup=False, soft_wrap=True)
    return int(run.exit_code)


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """A cancelled CI job sends SIGTERM; what is finished by then is reported as after Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress(console: Console) -> Iterator[Report]:
    """A bar on a terminal, one line per case where output is piped."""
    if not console.is_terminal:
        yield lambda case, number, total: click.echo(f"[{number + 1}/{total}] {case}", err=True)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1)

        def show(case: str, number: int, total: int) -> None:
            bar.update(task, description=case, completed=number, total=total)

        yield show
