"""``harness baseline``: what is promised, kept in files that are reviewed and committed."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from harness.baseline.diff import Policy, compare_with_baseline
from harness.baseline.store import DirectoryStore
from harness.cli.options import baselines_option, debug_option, fraction, reports_option
from harness.errors import FileFormatError, UsageError
from harness.model.baseline import Baseline
from harness.model.outcome import Outcome, worst
from harness.model.verdict import INTERRUPTED, Run
from harness.report.json import read_run
from harness.report.text import failure_text
from harness.units import count_text, duration_text

__all__ = ["baseline_command"]

run_argument = click.argument(
    "run_file", metavar="[RUN.json|report.html]", required=False, type=click.Path(path_type=Path)
)


@click.group("baseline")
def baseline_command() -> None:
    """Save, list, show, compare and remove baselines."""


@baseline_command.command("save")
@click.argument("name")
@run_argument
@click.option("--replace", is_flag=True, help="Overwrite a baseline of the same name.")
@click.option("--drop", is_flag=True, help="With --replace: also where cases or timings get lost.")
@baselines_option
@reports_option
@debug_option
def save_command(
    *, name: str, run_file: Path | None, replace: bool, drop: bool, folder: Path, reports: Path
) -> None:
    """Promise to keep what a run showed: RUN.json, or the latest run in the reports folder."""
    path = run_file or latest_run(reports)
    run = read_run(path)
    _refuse_bad_promise(run, path)
    store, baseline = DirectoryStore(folder), Baseline.of_run(run, name)
    if replace and not drop and name in store.names():
        _refuse_a_loss(store.load(name), baseline, path)
    written = store.save(baseline, replace=replace)
    cases = count_text(len(run.verdicts), "case")
    click.echo(f"saved {written} from {path} ({cases}); review and commit it")


@baseline_command.command("list")
@baselines_option
@debug_option
def list_command(*, folder: Path) -> None:
    """List the stored baselines."""
    store, damaged = DirectoryStore(folder), []
    for name in store.names():
        try:
            baseline = store.load(name)
        except FileFormatError as error:
            damaged.append(error)
            continue
        commit = (baseline.environment.commit or "no commit")[:12]
        cases = count_text(len(baseline.cases), "case")
        click.echo(f"{name}  {baseline.created}  {commit}  {cases}")
    if not store.names():
        click.echo(f"no baseline in {folder}; save one with: harness baseline save NAME", err=True)
    if damaged:
        raise FileFormatError("; ".join(map(str, damaged)))


@baseline_command.command("show")
@click.argument("name")
@baselines_option
@debug_option
def show_command(*, name: str, folder: Path) -> None:
    """Show what a baseline promises."""
    baseline = DirectoryStore(folder).load(name)
    environment = baseline.environment
    click.echo(
        f"{baseline.name}  saved {baseline.created}  commit {environment.commit or 'unknown'}"
    )
    for field, value in sorted(environment.hard.items()):
        click.echo(f"  {field:<28} {value}")
    for case in baseline.cases:
        click.echo(f"{case.key}")
        for region, counts in case.traffic.items():
            click.echo(
                f"  {region:<12} D2H {counts.d2h:,} ({counts.d2h_bytes:,} B)  "
                f"H2D {counts.h2d:,} ({counts.h2d_bytes:,} B)  syncs {counts.syncs:,}"
            )
        if case.sample is not None:
            times = sorted(case.sample.call_ns)
            median = duration_text(times[len(times) // 2])
            click.echo(f"  {'time':<12} {median} median of {len(times)} on {case.timing_device}")


@baseline_command.command("diff")
@click.argument("name")
@run_argument
@click.option("--fail-over", type=fraction, metavar="PERCENT", default="5%", show_default=True)
@click.option("--trust-raw", is_flag=True, help="Let raw timings without a frozen peer fail.")
@baselines_option
@reports_option
@debug_option
def diff_command(
    *,
    name: str,
    run_file: Path | None,
    fail_over: float,
    trust_raw: bool,
    folder: Path,
    reports: Path,
) -> int:
    """Compare a run (RUN.json, or the latest) with a baseline."""
    baseline = DirectoryStore(folder).load(name)
    path = run_file or latest_run(reports)
    current = Baseline.of_run(read_run(path), str(path))
    comparison = compare_with_baseline(
        current, baseline, Policy(fail_over=fail_over, trust_raw=trust_raw)
    )
    console = Console(highlight=False, soft_wrap=True)
    results = list(comparison.run)
    for key, checks in comparison.cases.items():
        for result in checks:
            line = f"{result.outcome.value:<12} {key}  {result.check}: {result.summary}"
            console.print(line, markup=False)
        results.extend(checks)
    for result in comparison.run:
        console.print(failure_text(result), markup=False)
    return int(worst(result.outcome for result in results).exit_code)


@baseline_command.command("remove")
@click.argument("name")
@baselines_option
@debug_option
def remove_command(*, name: str, folder: Path) -> None:
    """Delete a baseline file."""
    removed = DirectoryStore(folder).remove(name)
    click.echo(f"removed {removed}")


def latest_run(reports: Path) -> Path:
    """The newest run.json below ``reports``: run folders are named by their time."""
    runs = sorted(reports.glob("*/run.json"))
    if not runs:
        raise UsageError(f"no run in {reports}; run `harness run` first, or name a run.json")
    return runs[-1]


def _refuse_bad_promise(run: Run, path: Path) -> None:
    """A failing run is no promise to keep."""
    failed = [verdict.key for verdict in run.verdicts if verdict.outcome is Outcome.FAILED]
    if failed:
        raise UsageError(
            f"{path} has {count_text(len(failed), 'failed case')} ({', '.join(failed[:3])}); "
            "a baseline is what must be kept: fix them or run the other cases only"
        )
    if any(result.check == INTERRUPTED for result in run.checks):
        raise UsageError(f"{path} was interrupted before its end; run again and save that")
    if not run.verdicts:
        raise UsageError(f"{path} has no case, so there is nothing to promise")


def _refuse_a_loss(before: Baseline, now: Baseline, path: Path) -> None:
    """Replacing a baseline by the run of a few cases would silently end the promise of the others."""
    kept = {case.key: case for case in now.cases}
    lost = [case.key for case in before.cases if case.key not in kept]
    untimed = [
        case.key
        for case in before.cases
        if case.sample is not None and case.key in kept and kept[case.key].sample is None
    ]
    losses = [
        f"{count_text(len(keys), what)} ({', '.join(keys[:3])})"
        for keys, what in ((lost, "case"), (untimed, "timing"))
        if keys
    ]
    if losses:
        raise UsageError(
            f"{path} would lose {' and '.join(losses)} of baseline {before.name!r}; "
            "run them all and save that, or add --drop to let them go"
        )
