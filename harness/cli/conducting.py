"""How a command has its cases run: in a process of their own with a time limit, or here without one."""

from __future__ import annotations

import faulthandler
import math
import traceback
from collections.abc import Callable

import click
from rich.console import Console

from harness.cli.interruption import termination_as_interrupt
from harness.cli.progress import shown
from harness.devices.registry import choose_devices
from harness.model.verdict import Run
from harness.session.catalogue import select
from harness.session.conduct import Request, conduct
from harness.session.isolation import SUPPORTED, Errand, Hooks, conduct_apart

__all__ = ["apart", "dumps", "run_of", "time_limit_option"]

_TIME_LIMIT_S = 300.0
"""A hundred times the longest built-in case, and what a CI job can wait for."""

_LONGEST_LIMIT_S = 7 * 86_400.0


def _seconds(text: str | float) -> float:
    """A time limit: 0 for none, else at most a week."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _LONGEST_LIMIT_S:
        raise click.BadParameter(
            f"{text!r} is not between 0 (no limit) and {_LONGEST_LIMIT_S:,.0f} seconds"
        )
    return value


time_limit_option = click.option(
    "--time-limit",
    "time_limit_s",
    default=_TIME_LIMIT_S,
    show_default=True,
    type=_seconds,
    metavar="SECONDS",
    help="For each case, its timing not counted: a case that hangs is ended, and the others still run. 0: no "
    "limit, and everything in this process, for debuggers and profilers.",
)


def apart(time_limit_s: float) -> bool:
    """Whether cases get a process of their own: with a time limit, where processes can be forked safely."""
    return SUPPORTED and time_limit_s > 0


def dumps(*, wanted: bool) -> Callable[[str], None]:
    """Who is told where the threads of a process were when it ended: standard error, if that is ``wanted``."""
    shows = wanted or faulthandler.is_enabled()
    return lambda text: click.echo(text, err=True) if shows else None


def run_of(errand: Errand, console: Console) -> Run:
    """The run, with its progress shown on ``console``; Ctrl-C and SIGTERM end it with what is done.

    Where processes cannot be forked safely there is no limit either.
    """
    forks = apart(errand.time_limit_s)
    return _apart(errand, console) if forks else _here(errand, console)


def _apart(errand: Errand, console: Console) -> Run:
    with shown(console, threads=False) as display, termination_as_interrupt():
        hooks = Hooks(
            progress=display.report,
            tick=display.tick,
            dump=dumps(wanted=errand.tracebacks),
            stage=display.stage,
        )
        return conduct_apart(errand, hooks)


def _here(errand: Errand, console: Console) -> Run:
    terms = errand.terms
    request = Request(
        selections=select(errand.workloads),
        devices=choose_devices(errand.device),
        settings=errand.settings,
        command=terms.command,
        baseline=terms.baseline,
        policy=terms.policy,
    )
    with shown(console, threads=True) as display, termination_as_interrupt():
        return conduct(
            request,
            progress=display.report,
            stage=display.stage,
            on_fault=traceback.print_exception if errand.tracebacks else None,
        )
