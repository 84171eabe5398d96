"""Where else a command tells what it found: the record as JSON, JUnit XML and Markdown, in files or on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import Console

from harness.errors import UsageError
from harness.model.verdict import Run
from harness.report.json import encode_run
from harness.report.junit import junit_xml
from harness.report.markdown import markdown_summary
from harness.report.recognition import JUNIT, MARKDOWN, RECORD, Form, refuse_foreign
from harness.report.writing import check_replaceable, replace_file

__all__ = [
    "FORM_OF_OPTION",
    "STANDARD_OUTPUT",
    "Forms",
    "check_places",
    "deliver",
    "form_options",
    "junit_option",
    "markdown_option",
]

STANDARD_OUTPUT = "-"

_ENCODERS: Mapping[str, Callable[[Run], bytes]] = {
    "json": encode_run,
    "junit": lambda run: junit_xml([run]),
    "markdown": lambda run: markdown_summary(run).encode(),
}

FORM_OF_OPTION: Mapping[str, Form] = {"--json": RECORD, "--junit": JUNIT, "--markdown": MARKDOWN}
"""What may be replaced, by the option that does."""


@dataclass(frozen=True, slots=True)
class Forms:
    """Forms by name (``json``, ``junit``, ``markdown``) and where each goes: a file, or ``-`` for standard output."""

    wanted: Mapping[str, str]

    @property
    def console(self) -> Console:
        """Where people are told: standard error where standard output is for a program."""
        return Console(highlight=False, stderr=self.stream is sys.stderr)

    @property
    def stream(self) -> TextIO:
        """The stream of ``console``."""
        return sys.stderr if STANDARD_OUTPUT in self.wanted.values() else sys.stdout

    def check(self) -> None:
        """Raise ``UsageError`` or ``OutputError`` for what could not be delivered in the end, before work goes into it."""
        check_places({f"--{name}": where for name, where in self.wanted.items()}, FORM_OF_OPTION)

    def write(self, run: Run) -> None:
        """Deliver every form; raises ``OutputError`` for the first that cannot be written."""
        for name, where in self.wanted.items():
            deliver(_ENCODERS[name](run), where)


def check_places(places: Mapping[str, str], kinds: Mapping[str, Form]) -> None:
    """``places`` by the option that named them: at most one is standard output, no two are one file, all can be written.

    Nor is a file replaced that is not of the kind that will be written there, were it named by a slip of the keyboard.
    """
    seen: dict[str, str] = {}
    for option, where in places.items():
        place = where if where == STANDARD_OUTPUT else os.path.realpath(where)
        if place in seen:
            what = "standard output" if where == STANDARD_OUTPUT else where
            raise UsageError(f"{seen[place]} and {option} both go to {what}; name another file")
        seen[place] = option
        if where != STANDARD_OUTPUT:
            check_replaceable(Path(where))
            refuse_foreign(Path(where), kinds[option])


def deliver(data: bytes, where: str) -> None:
    """Write to a file in one step, or to standard output, whose reader may leave early."""
    if where != STANDARD_OUTPUT:
        replace_file(Path(where), data)
        return
    sys.stdout.flush()
    click.echo(data.decode(), nl=False)


def _option(name: str, what: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return click.option(
        f"--{name}",
        name,
        metavar="FILE",
        help=f"Also write {what} there; `-`: to standard output, all else to standard error.",
    )


json_option = _option("json", "the record of the run as JSON")
junit_option = _option("junit", "every check as JUnit XML")
markdown_option = _option("markdown", "the summary as Markdown")


def form_options(command: Callable[..., int]) -> Callable[..., int]:
    """``--json``, ``--junit`` and ``--markdown``, given to the command as one ``forms`` that was checked."""

    @wraps(command)
    def told(*arguments: Any, **options: Any) -> int:
        named = {name: options.pop(name) for name in _ENCODERS}
        forms = Forms({name: where for name, where in named.items() if where is not None})
        forms.check()
        return command(*arguments, forms=forms, **options)

    wrapped: Callable[..., int] = told
    for option in (markdown_option, junit_option, json_option):
        wrapped = option(wrapped)
    return wrapped
