"""``harness selfcheck``: what this machine can tell apart, before anything is gated on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console

from harness.benchmark.selfcheck import Plan
from harness.cli.conducting import apart, dumps, time_limit_option
from harness.cli.debugging import Debugging, debug_option, pass_debugging
from harness.cli.interruption import termination_as_interrupt
from harness.cli.options import device_option, fraction, reports_option, seconds_option, seed_option
from harness.cli.output import keeping
from harness.cli.progress import Lines, span
from harness.devices.registry import DEVICE_NAMES, choose_devices
from harness.model.selfcheck import SelfCheckRun
from harness.report.files import check_writable
from harness.report.selfcheck_file import read_self_checks, save_self_checks
from harness.report.selfcheck_text import print_self_checks
from harness.session.catalogue import select
from harness.session.isolation import Hooks
from harness.session.selfcheck import Announcement, self_check, self_check_apart
from harness.units import count_text

__all__ = ["Telling", "selfcheck_command"]

_FEWEST_DECISIONS = 5
"""None of four says that the true rate is below 53 %: nothing."""


@click.command("selfcheck")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD[/CASE]]...")
@device_option(f"Where it is timed: {', '.join(DEVICE_NAMES)}.")
@seconds_option(4.0, least=0.05, help="Time of one decision, as a gate would take.")
@click.option(
    "--decisions",
    default=20,
    show_default=True,
    type=click.IntRange(_FEWEST_DECISIONS, 10_000),
    help="Decisions of each kind per op: identical code, the slowdown to be found, the smallest found.",
)
@click.option(
    "--find",
    type=fraction,
    metavar="PERCENT",
    default="2%",
    show_default=True,
    help="The slowdown that must be found nine times in ten; else the op is inconclusive.",
)
@click.option(
    "--margin",
    type=fraction,
    metavar="PERCENT",
    default="1%",
    show_default=True,
    help="How big a change matters to the decisions.",
)
@click.option(
    "--confidence",
    type=fraction,
    metavar="PERCENT",
    default="95%",
    show_default=True,
    help="How sure the decisions are.",
)
@seed_option("Seed of inputs and order.")
@time_limit_option
@reports_option
@debug_option
@pass_debugging
def selfcheck_command(
    debugging: Debugging,
    *,
    workloads: tuple[str, ...],
    device: str,
    seconds: float,
    decisions: int,
    find: float,
    margin: float,
    confidence: float,
    seed: int,
    time_limit_s: float,
    reports: Path,
) -> int:
    """Time every op beside an identical copy of itself, and beside one made slower by a known amount.

    Says how often identical code raises a false alarm on this machine, and which slowdowns it finds in the given
    time. The result is kept in selfcheck.json among the reports, and every later report of this machine shows it.
    WORKLOAD is as in `harness run`.
    """
    plan = Plan(
        seconds=seconds,
        decisions=decisions,
        find=find,
        margin=margin,
        confidence=confidence,
        seed=seed,
    )
    console = Console(highlight=False)
    check_writable(reports)
    read_self_checks(reports)  # a damaged file is told now, not after half an hour
    run = _checked(workloads, device, plan, time_limit_s=time_limit_s, shown=debugging.wanted)

    def show() -> None:
        print_self_checks(run, console, now=datetime.now(UTC).isoformat())

    if not run.checks:
        show()
        return int(run.exit_code)
    with keeping(run.outcome, show=show):
        kept = save_self_checks(run.environment.hard, run.checks, reports)
    console.print(f"kept in  {kept}", markup=False, soft_wrap=True)
    return int(run.exit_code)


def _checked(
    workloads: tuple[str, ...], device: str, plan: Plan, *, time_limit_s: float, shown: bool
) -> SelfCheckRun:
    """The self-check in a process of its own with a time limit, or here without one."""
    telling = Telling()
    with termination_as_interrupt():
        if apart(time_limit_s):
            hooks = Hooks(tick=telling.tick, stage=telling.stage, dump=dumps(wanted=shown))
            return self_check_apart(
                workloads,
                device,
                plan,
                time_limit_s=time_limit_s,
                announce=telling.announce,
                progress=telling.progress,
                hooks=hooks,
            )
        return self_check(
            select(workloads),
            choose_devices(device),
            plan,
            announce=telling.announce,
            progress=telling.progress,
        )


class Telling:
    """Says on standard error what will be done, how far it is, and how long it will still take."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lines = clock, Lines(clock)
        self._started, self._op = clock(), ""
        self._expected = Announcement(ops=0, decisions=0, most_s=0.0)

    def announce(self, expected: Announcement) -> None:
        """Say how much there is to do; time counts from here."""
        self._expected, self._started = expected, self._clock()
        click.echo(
            f"self-check of {count_text(expected.ops, 'op')}: {count_text(expected.decisions, 'decision')} at most, "
            f"up to {span(expected.most_s)}",
            err=True,
        )

    def progress(self, op: str, made: int) -> None:
        """Say how far it is: at once for another op, else every ten seconds."""
        total, took = self._expected.decisions, self._clock() - self._started
        left_s = took / made * (total - made) if made else self._expected.most_s
        new, self._op = op != self._op, op
        self._lines.begin(op, about=f"[{made}/{total}]", left_s=left_s, always=new)

    def stage(self, what: str) -> None:
        """What is done now, which is said when nothing else was for ten seconds."""
        self._lines.stage(what)

    def tick(self) -> None:
        """Say what goes on, if nothing was said for long."""
        self._lines.tick()
