"""Options and values several verbs share."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import click

__all__ = [
    "Debugging",
    "baselines_option",
    "debug_option",
    "fraction",
    "pass_debugging",
    "reports_option",
]


@dataclass(slots=True)
class Debugging:
    """Whether tracebacks are wanted; one per command, shared by its verbs."""

    wanted: bool = False


def _note_debugging(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        context.ensure_object(Debugging).wanted = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_note_debugging,
    help="Show tracebacks of errors.",
)
"""Accepted before and after the verb."""

pass_debugging = click.make_pass_decorator(Debugging, ensure=True)

reports_option = click.option(
    "--output",
    "-o",
    "reports",
    type=click.Path(path_type=Path, file_okay=True),
    default=Path("reports"),
    show_default=True,
    help="Folder of reports; each run gets a folder of its own in it.",
)

baselines_option = click.option(
    "--baselines",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("baselines"),
    show_default=True,
    help="Folder of stored baselines.",
)


def fraction(text: str) -> float:
    """``5%`` or ``0.05``: more than 0 and less than 1; a bare ``5`` would be ambiguous and is refused."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)\s*", text)
    value = float(match[1]) / (100 if match[2] else 1) if match else math.nan
    if not 0 < value < 1:
        raise click.BadParameter(f"{text!r} is not between 0% and 100%; write it as 5% or 0.05")
    return value
