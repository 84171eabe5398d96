"""``--debug``, accepted before and after the verb."""

from __future__ import annotations

from dataclasses import dataclass

import click

__all__ = ["Debugging", "debug_option", "pass_debugging"]


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
pass_debugging = click.make_pass_decorator(Debugging, ensure=True)
