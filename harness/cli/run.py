"""``harness run``: verify, benchmark, compare with a baseline, report."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import click

from harness.baseline.diff import Policy
from harness.baseline.diff import no_baseline as unknown_baseline
from harness.baseline.stores.base import Store
from harness.baseline.stores.opening import without_password
from harness.cli.concluding import Known, conclude
from harness.cli.conducting import run_of, time_limit_option
from harness.cli.debugging import Debugging, debug_option, pass_debugging
from harness.cli.forms import Forms, form_options
from harness.cli.options import (
    device_option,
    history_option,
    no_baseline_option,
    policy_options,
    reports_option,
    seconds_option,
    seed_option,
    store_option,
    training_option,
    waivers_option,
)
from harness.devices.registry import DEVICE_NAMES
from harness.model.outcome import Outcome
from harness.model.training import Training
from harness.model.waiver import Waiver
from harness.report.files import check_writable
from harness.session.isolation import Errand
from harness.session.record import Terms
from harness.session.verify import Settings

__all__ = ["run_command"]


@click.command("run")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD[/CASE]]...")
@device_option(
    f"Where arrays live: {', '.join(DEVICE_NAMES)}. auto: the GPU when there is one, else "
    "traffic on simulated and timing on cpu."
)
@seed_option("Seed of all inputs.")
@click.option(
    "--repeats",
    default=5,
    show_default=True,
    type=click.IntRange(2, 1000),
    help="Watched runs per case, which must all show the same counts.",
)
@seconds_option(0.8, least=0.05, help="Time for benchmarking each case.")
@time_limit_option
@click.option("--no-benchmark", is_flag=True, help="Verify only, time nothing.")
@click.option(
    "--baseline",
    "baseline_name",
    metavar="NAME",
    help="Hold the run against this baseline, as the options from --fail-over to --no-baseline say.",
)
@policy_options
@no_baseline_option
@store_option
@history_option
@waivers_option
@training_option
@reports_option
@form_options
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
    time_limit_s: float,
    no_benchmark: bool,
    baseline_name: str | None,
    policy: Policy,
    no_baseline: Outcome | None,
    store: Store,
    history: Store | None,
    waivers: tuple[Waiver, ...],
    training: tuple[Training, ...],
    reports: Path,
    forms: Forms,
    quiet: bool,
) -> int:
    """Verify workloads, time them, and write a report.

    WORKLOAD is a built-in name (see `harness workloads`), NAME/CASE with * and ?, or your own as
    package.module:ATTRIBUTE. Without any, softmax_cross_entropy and mlp run.
    """
    check_writable(reports)
    baseline = None
    if baseline_name is not None and (no_baseline is None or baseline_name in store.names()):
        baseline = store.load(baseline_name)
    errand = Errand(
        workloads=workloads,
        device=device,
        settings=Settings(
            seed=seed, repeats=repeats, benchmark=not no_benchmark, seconds_per_case=seconds
        ),
        terms=Terms(
            command=shlex.join(["harness", *map(without_password, sys.argv[1:])]),
            seed=seed,
            baseline=baseline,
            policy=policy,
        ),
        time_limit_s=time_limit_s,
        tracebacks=debugging.wanted,
    )
    run = run_of(errand, forms.console)
    if baseline_name is not None and baseline is None and no_baseline is not None:
        unheld = unknown_baseline(baseline_name, store.where, outcome=no_baseline)
        run = replace(run, checks=(*run.checks, unheld))
    known = Known(waivers=waivers, history=history, baseline=baseline)
    return conclude(
        replace(run, training=training),
        known,
        asked=workloads,
        reports=reports,
        forms=forms,
        quiet=quiet,
        adds=True,
    )
