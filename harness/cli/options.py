"""Options and values several verbs share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from harness.baseline.commands import DEFAULT_STORE
from harness.baseline.policy import DEFAULT_MARGIN, Policy
from harness.baseline.stores.base import Store
from harness.baseline.stores.opening import FORMS, open_store
from harness.model.outcome import Outcome
from harness.model.training import Training
from harness.model.waiver import Waiver
from harness.session.training import read_records
from harness.session.waiver_file import read_waivers, today
from harness.units import percent_text

__all__ = [
    "device_option",
    "fraction",
    "history_option",
    "known_history_option",
    "no_baseline_option",
    "policy_options",
    "reports_option",
    "seconds_option",
    "seed_option",
    "store_option",
    "training_option",
    "waivers_option",
]


Option = Callable[[Callable[..., int]], Callable[..., int]]
"""What adds an option to a command."""


reports_option = click.option(
    "--output",
    "-o",
    "reports",
    type=click.Path(path_type=Path, file_okay=True),
    default=Path("reports"),
    show_default=True,
    help="Folder of reports; each run gets a folder of its own in it.",
)


def device_option(help: str) -> Option:
    """``--device`` and ``-d``; ``help`` says what happens there, and lists the names."""
    return click.option(
        "--device", "-d", default="auto", show_default=True, metavar="NAME", help=help
    )


def seconds_option(default: float, *, least: float, help: str) -> Option:
    """``--seconds``: from ``least`` to an hour."""
    return click.option(
        "--seconds",
        default=default,
        show_default=True,
        type=click.FloatRange(least, 3600),
        help=help,
    )


def seed_option(help: str) -> Option:
    """``--seed``; ``help`` says of what."""
    return click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help=help)


def _opened(context: click.Context, parameter: click.Parameter, where: str | None) -> Store | None:
    return None if where is None else open_store(where)


store_option = click.option(
    "--store",
    "--baselines",
    "store",
    metavar="WHERE",
    default=DEFAULT_STORE,
    show_default=True,
    envvar="HARNESS_STORE",
    show_envvar=True,
    callback=_opened,
    help=f"Where baselines and history are kept: {FORMS}.",
)
"""Gives the command a ``Store``; a password in the environment is not seen by who lists the processes."""

history_option = click.option(
    "--history",
    metavar="WHERE",
    envvar="HARNESS_HISTORY",
    show_envvar=True,
    callback=_opened,
    help=f"Show since when, by the history in {FORMS}, and add the timings of this run to it.",
)


known_history_option = click.option(
    "--history",
    metavar="WHERE",
    envvar="HARNESS_HISTORY",
    show_envvar=True,
    callback=_opened,
    help=f"Show since when, by the history in {FORMS}; comparisons are not added to it.",
)
"""For ``harness compare``, whose ratios mean nothing later."""


def _accepted(
    context: click.Context, parameter: click.Parameter, file: Path | None
) -> tuple[Waiver, ...]:
    return () if file is None else read_waivers(file, day=today())


waivers_option = click.option(
    "--waivers",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_accepted,
    help="TOML file of findings that are known and accepted for a while (docs/waivers.md).",
)
"""Gives the command the waivers, read before anything runs."""


def _recorded(
    context: click.Context, parameter: click.Parameter, files: tuple[Path, ...]
) -> tuple[Training, ...]:
    return read_records(files)


training_option = click.option(
    "--training",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    callback=_recorded,
    help="Show what a training program recorded (docs/training.md); may be given more than once.",
)
"""Gives the command the records, read before anything runs."""


def fraction(text: str) -> float:
    """``5%`` or ``0.05``: more than 0 and less than 1; a bare ``5`` would be ambiguous and is refused."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)\s*", text)
    value = float(match[1]) / (100 if match[2] else 1) if match else math.nan
    if not 0 < value < 1:
        raise click.BadParameter(f"{text!r} is not between 0% and 100%; write it as 5% or 0.05")
    return value


_OUTCOMES = {
    "pass": Outcome.PASSED,
    "skip": Outcome.SKIPPED,
    "inconclusive": Outcome.INCONCLUSIVE,
    "fail": Outcome.FAILED,
}
"""What an option may let a case count as, from the exit status 0 up to 1."""


def _outcome_option(name: str, what: str, default: str | None, *, without: str = "") -> Option:
    values = [value for value in _OUTCOMES if value != without]

    def chosen(
        context: click.Context, parameter: click.Parameter, value: str | None
    ) -> Outcome | None:
        return None if value is None else _OUTCOMES[value]

    return click.option(
        f"--{name}",
        type=click.Choice(values),
        default=default,
        callback=chosen,
        show_default="a usage error" if default is None else True,
        help=f"What {what} counts as.",
    )


_POLICY_OPTIONS = (
    click.option(
        "--fail-over",
        type=fraction,
        metavar="PERCENT",
        show_default=f"what the case declares, else {percent_text(DEFAULT_MARGIN)}",
        help="Fail when the whole interval of the slowdown is beyond this, whatever a case declares.",
    ),
    click.option(
        "--trust-raw",
        is_flag=True,
        help="Let stored raw timings fail a case that has no frozen peer to correct them.",
    ),
    _outcome_option("new", "a case the baseline does not have", "skip"),
    _outcome_option("missing", "a case only the baseline has", "inconclusive"),
    _outcome_option("renamed", "a missing case that looks like a new one", "inconclusive"),
    _outcome_option("skipped", "a comparison nothing can be said by", "skip"),
    _outcome_option(
        "inconclusive", "a comparison that could not tell", "inconclusive", without="pass"
    ),
)


def policy_options(command: Callable[..., int]) -> Callable[..., int]:
    """Every option of how a run is judged against a baseline, given to the command as one ``policy``."""
    names = ("fail_over", "trust_raw", "new", "missing", "renamed", "skipped", "inconclusive")

    @wraps(command)
    def judged(*arguments: Any, **options: Any) -> int:
        policy = Policy(**{name: options.pop(name) for name in names})
        return command(*arguments, policy=policy, **options)

    wrapped: Callable[..., int] = judged
    for option in reversed(_POLICY_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


no_baseline_option = _outcome_option(
    "no-baseline", "a run whose baseline does not exist yet", None, without="pass"
)
"""For ``harness run``; only there is something left to judge."""
