"""``harness baseline``: what is promised, kept in files that are reviewed and committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click
from rich.console import Console

from harness.baseline.commands import at_store, password_note
from harness.baseline.diff import Policy, compare_run
from harness.baseline.promise import promised_by, refuse_comparison, timing_doubts
from harness.baseline.stores.base import Store
from harness.baseline.succession import Succession, succeeded, without_doubtful
from harness.baseline.throughput import THROUGHPUT_CHECK, origin_text
from harness.baseline.traffic import TRAFFIC_CHECK
from harness.cli.debugging import debug_option
from harness.cli.options import policy_options, reports_option, store_option
from harness.errors import ConflictError, FileFormatError, UsageError
from harness.model.baseline import Baseline, BaselineCase
from harness.model.measurement import SPEED_PROBABILITIES, Speed
from harness.model.outcome import Outcome, worst
from harness.model.verdict import INTERRUPTED, Run
from harness.report.json import read_run
from harness.report.text import failure_text
from harness.units import count_text, duration_text, percent_text, ratio_text

__all__ = ["baseline_command"]

_MOST_TRIES = 100
"""Each try that fails means that another writer succeeded, so a hundred is a fleet that saves one name at once."""

run_argument = click.argument(
    "run_file", metavar="[RUN.json|report.html]", required=False, type=click.Path(path_type=Path)
)


@click.group("baseline")
def baseline_command() -> None:
    """Save, list, show, compare and remove baselines."""


@baseline_command.command("save", short_help="Promise to keep what a run showed.")
@click.argument("name")
@run_argument
@click.option(
    "--replace",
    is_flag=True,
    help="Take the place of a baseline of the same name, and go on from its anchor.",
)
@click.option("--new-anchor", is_flag=True, help="With --replace: let the speeds start anew.")
@click.option("--drop", is_flag=True, help="With --replace: also where cases or timings get lost.")
@click.option(
    "--doubtful", is_flag=True, help="Keep speeds taken while a GPU was throttled or shared, too."
)
@store_option
@reports_option
@debug_option
def save_command(
    *,
    name: str,
    run_file: Path | None,
    replace: bool,
    new_anchor: bool,
    drop: bool,
    doubtful: bool,
    store: Store,
    reports: Path,
) -> None:
    """Promise to keep what a run showed: RUN.json, or the latest run in the reports folder."""
    path, run = (run_file, read_run(run_file)) if run_file else latest_run(reports)
    _refuse_bad_promise(run, path)
    doubts = {} if doubtful else timing_doubts(run)
    promised = without_doubtful(promised_by(run, name), doubts)
    if not (replace and name in store.names()):
        lines, written = promised.lines, store.save(promised.baseline, replace=replace)
    elif new_anchor and drop:
        given_up = f"all that baseline {name!r} held is given up: speeds start anew"
        lines, written = (*promised.lines, given_up), store.save(promised.baseline, replace=True)
    else:

        def successor(before: Baseline) -> Succession:
            if not drop:
                _refuse_a_loss(before, promised.baseline, doubts, path)
            return _handed_on(before, promised.baseline, doubts, new_anchor=new_anchor)

        more, written = _succeeded_in(store, name, successor)
        lines = (*promised.lines, *more)
    for line in lines:
        click.echo(line)
    cases = count_text(len(run.verdicts), "case")
    click.echo(f"saved {written} from {path} ({cases}); review and commit it")


@baseline_command.command("list")
@store_option
@debug_option
def list_command(*, store: Store) -> None:
    """List the stored baselines."""
    damaged: list[FileFormatError] = []
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
        where = store.where
        command = f"harness baseline save main{at_store(where)}"
        click.echo(f"no baseline in {where}; save one{password_note(where)}: {command}", err=True)
    if damaged:
        raise FileFormatError("; ".join(map(str, damaged)))


@baseline_command.command("show")
@click.argument("name")
@store_option
@debug_option
def show_command(*, name: str, store: Store) -> None:
    """Show what a baseline promises."""
    baseline = store.load(name)
    environment = baseline.environment
    click.echo(
        f"{baseline.name}  saved {baseline.created}  commit {environment.commit or 'unknown'}"
    )
    for field, value in sorted(environment.hard.items()):
        click.echo(f"  {field:<28} {value}")
    for case in baseline.cases:
        click.echo("\n".join([case.key, *_case_lines(case)]))


@baseline_command.command("diff")
@click.argument("name")
@run_argument
@policy_options
@store_option
@reports_option
@debug_option
def diff_command(
    *, name: str, run_file: Path | None, policy: Policy, store: Store, reports: Path
) -> int:
    """Compare a run (RUN.json, or the latest) with a baseline."""
    baseline = store.load(name)
    run = read_run(run_file) if run_file else latest_run(reports)[1]
    comparison = compare_run(run, baseline, policy)
    console = Console(highlight=False, soft_wrap=True)
    results = list(comparison.run)
    for key, checks in comparison.cases.items():
        for result in checks:
            line = f"{result.outcome.value:<12} {key}  {result.check}: {result.summary}"
            console.print(line, markup=False)
            if result.outcome in (Outcome.FAILED, Outcome.INCONCLUSIVE):
                for detail in result.details:
                    console.print(f"{'':<12}   {detail}", markup=False)
        results.extend(checks)
    for result in comparison.run:
        console.print(failure_text(result), markup=False)
    return int(worst(result.outcome for result in results).exit_code)


@baseline_command.command("remove")
@click.argument("name")
@store_option
@debug_option
def remove_command(*, name: str, store: Store) -> None:
    """Delete a baseline file."""
    removed = store.remove(name)
    click.echo(f"removed {removed}")


def latest_run(reports: Path) -> tuple[Path, Run]:
    """The newest run below ``reports`` that is no comparison; run folders are named by their time.

    Newer comparisons, whose timings mean nothing later, are passed over, which is said.
    """
    passed_over: list[Path] = []
    for path in sorted(reports.glob("*/run.json"), reverse=True):
        run = read_run(path)
        if not run.paired_with:
            for each in passed_over:
                click.echo(f"harness: passed over {each}, which is a comparison", err=True)
            return path, run
        passed_over.append(path)
    only = f" but {count_text(len(passed_over), 'comparison')}" if passed_over else ""
    raise UsageError(f"no run{only} in {reports}; run `harness run` first, or name a run.json")


def _case_lines(case: BaselineCase) -> Iterator[str]:
    for region, counts in case.traffic.items():
        yield (
            f"  {region:<12} D2H {counts.d2h:,} ({counts.d2h_bytes:,} B)  "
            f"H2D {counts.h2d:,} ({counts.h2d_bytes:,} B)  syncs {counts.syncs:,}"
        )
    if case.traffic:
        evidence = case.evidence.value if case.evidence is not None else "not kept"
        yield f"  {'evidence':<12} {evidence} ({case.probe or 'unknown probe'})"
    for number, speed in enumerate(case.speeds):
        label = "newest" if number == len(case.speeds) - 1 else "" if number else "anchor"
        yield f"  {label:<12} {_speed_text(speed)} on {case.timing_device}, {origin_text(speed)}"
    if case.margin is not None:
        yield f"  {'margin':<12} {percent_text(case.margin)}"


def _speed_text(speed: Speed) -> str:
    middle = SPEED_PROBABILITIES.index(0.5)
    peer = f", {ratio_text(speed.relative[middle])} its frozen peer" if speed.relative else ""
    return f"{duration_text(speed.call_ns[middle])} median of {speed.rounds:,}{peer}"


def _refuse_bad_promise(run: Run, path: Path) -> None:
    """A failing run is no promise to keep, nor one that broke a promise without anybody saying that it may."""
    refuse_comparison(run, "a baseline")
    failed = {
        verdict.key: {check.check for check in verdict.checks if check.outcome is Outcome.FAILED}
        for verdict in run.verdicts
        if verdict.outcome is Outcome.FAILED
    }
    if failed:
        broken = all(checks <= {TRAFFIC_CHECK, THROUGHPUT_CHECK} for checks in failed.values())
        step = (
            f"they are worse than baseline {run.baseline!r} allows: where that is meant, run again without "
            "--baseline and save that"
            if broken
            else "a baseline is what must be kept: fix them or run the other cases only"
        )
        raise UsageError(
            f"{path} has {count_text(len(failed), 'failed case')} ({', '.join([*failed][:3])}); {step}"
        )
    if any(result.check == INTERRUPTED for result in run.checks):
        raise UsageError(f"{path} was interrupted before its end; run again and save that")
    if not run.verdicts:
        raise UsageError(f"{path} has no case, so there is nothing to promise")


def _succeeded_in(
    store: Store, name: str, successor: Callable[[Baseline], Succession]
) -> tuple[tuple[str, ...], str]:
    """Replace a baseline by its successor, found anew whenever another process was faster; what it says, and where."""
    for tried in range(1, _MOST_TRIES + 1):
        before = store.load(name)
        following = successor(before)
        try:
            return following.lines, store.save(following.baseline, instead_of=before)
        except ConflictError:
            if tried == _MOST_TRIES:
                raise
    raise AssertionError


def _handed_on(
    before: Baseline, now: Baseline, doubts: Mapping[str, str], *, new_anchor: bool
) -> Succession:
    """What is saved in the place of ``before``: with its anchors, unless speeds are to start anew."""
    if not new_anchor:
        return succeeded(before, now, doubts=doubts)
    timed = sum(bool(case.speeds) for case in before.cases)
    anew = f"the anchors of {count_text(timed, 'case')} are given up: speeds start anew"
    return Succession(baseline=now, lines=(anew,) if timed else ())


def _refuse_a_loss(before: Baseline, now: Baseline, doubts: Mapping[str, str], path: Path) -> None:
    """Replacing a baseline by the run of a few cases would silently end the promise of the others."""
    kept = {case.key: case for case in now.cases}
    lost = [case.key for case in before.cases if case.key not in kept]
    untimed = [
        case.key
        for case in before.cases
        if case.speeds and case.key in kept and not kept[case.key].speeds and case.key not in doubts
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
