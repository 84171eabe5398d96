"""``harness compare``: is the code in the working tree slower than at a ref?"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from harness.baseline.stores.base import Store
from harness.baseline.stores.opening import without_password
from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.cli.comparing import showing
from harness.cli.concluding import Known, conclude
from harness.cli.conducting import apart, dumps, time_limit_option
from harness.cli.debugging import Debugging, debug_option, pass_debugging
from harness.cli.forms import Forms, form_options
from harness.cli.interruption import termination_as_interrupt
from harness.cli.options import (
    device_option,
    fraction,
    known_history_option,
    reports_option,
    seconds_option,
    seed_option,
    waivers_option,
)
from harness.devices.registry import DEVICE_NAMES
from harness.model.outcome import Outcome
from harness.model.verdict import Run
from harness.model.waiver import Waiver
from harness.report.files import check_writable
from harness.report.view.mark import Mark
from harness.session.against import (
    PEER,
    Criteria,
    Request,
    compare_with_peer,
    compare_with_ref,
)
from harness.session.isolation import Hooks

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
@device_option(
    f"Where it is timed: {', '.join(name for name in DEVICE_NAMES if name != 'simulated')}. "
    "auto: the GPU when there is one, else cpu."
)
@seconds_option(
    4.0,
    least=0.1,
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
    help=f"Silence after which a side counts as hung; with `{PEER}` there is --time-limit.",
)
@time_limit_option
@seed_option("Seed of inputs, order and layout.")
@known_history_option
@waivers_option
@reports_option
@form_options
@click.option("--quiet", "-q", is_flag=True, help="Print only what did not pass.")
@debug_option
@pass_debugging
def compare_command(
    debugging: Debugging,
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
    time_limit_s: float,
    seed: int,
    history: Store | None,
    waivers: tuple[Waiver, ...],
    reports: Path,
    forms: Forms,
    quiet: bool,
) -> int:
    """Time the working tree beside a git ref, pair by pair, and say where it is slower.

    The ref is checked out in a temporary worktree. Both versions are loaded into one process, several times over, and
    take turns on the same inputs; compiled code gets a process per version. A case fails when the whole interval of its
    slowdown is beyond the margin, and passes as unchanged only when a slowdown worth finding would have been found.
    WORKLOAD is as in `harness run`.
    """
    if find is not None and find <= margin:
        raise click.BadParameter(
            f"a slowdown within --margin is never called one; ask to find more than {margin:.1%}",
            param_hint="--find",
        )
    _refuse_the_other_limit(click.get_current_context(), ref)
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
        time_limit_s=time_limit_s,
        command=shlex.join(["harness", *map(without_password, sys.argv[1:])]),
    )
    compare = compare_with_peer if ref == PEER else compare_with_ref
    threads = ref != PEER or not apart(time_limit_s)
    with showing(threads=threads) as display, termination_as_interrupt():
        hooks = Hooks(tick=display.tick, stage=display.stage, dump=dumps(wanted=debugging.wanted))
        run = compare(request, progress=display.progress, hooks=hooks)
    return conclude(
        run,
        Known(waivers=waivers, history=history),
        asked=workloads,
        reports=reports,
        forms=forms,
        quiet=quiet,
        more=_figures_of_what_passed(run),
    )


def _refuse_the_other_limit(context: click.Context, ref: str) -> None:
    """A limit that would have no effect must not look as if it had."""
    name, other = ("patience", "time-limit") if ref == PEER else ("time_limit_s", "patience")
    if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
        option = name.removesuffix("_s").replace("_", "-")
        raise click.UsageError(
            f"--{option} has no effect with --against {ref}; use --{other} SECONDS there"
        )


def _figures_of_what_passed(run: Run) -> list[str]:
    """The summary of a run leaves them to the report; here they are the answer."""
    return [
        f"  {Mark.of(result.outcome).sign} {verdict.key}  {result.summary}"
        for verdict in run.verdicts
        for result in verdict.checks
        if result.check == THROUGHPUT_CHECK and result.outcome is Outcome.PASSED
    ]
