"""The ``harness`` command: one file per verb, one place where errors become messages and exit codes."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO, cast

import click

from harness import __version__
from harness.cli.debugging import Debugging, debug_option
from harness.cli.output import ReaderMayLeave
from harness.errors import ExitCode, HarnessError

__all__ = ["command", "run_command_line"]


_VERBS: Mapping[str, str] = {
    "baseline": "Save, list, show, compare and remove baselines.",
    "compare": "Time the working tree beside a git ref.",
    "doctor": "Show what is available on this machine.",
    "history": "Keep the timings of every run, and see when they changed.",
    "report": "Make the page of one run again, or of several.",
    "run": "Verify workloads, time them, and write a report.",
    "selfcheck": "Find out what this machine can tell apart.",
    "trace": "Write the timelines of a run for a trace viewer.",
    "workloads": "List the built-in workloads, or the cases of those named.",
}
"""Each is ``VERB_command`` of the module of its name, here in a line."""


class _Verbs(click.Group):
    """Imports a verb where it is asked for: what is not used costs nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        try:
            module = importlib.import_module(f"harness.cli.{cmd_name}")
        except KeyboardInterrupt as interrupt:  # before which click would print an empty line
            raise click.Abort from interrupt
        verb: click.Command = getattr(module, f"{cmd_name}_command")
        return verb

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], _VERBS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"{error.message}{hint}", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_VERBS.items()))


@click.group(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Exit status: 0 passed, 1 failed, 2 usage or a bad file, 3 not available here, "
        "4 inconclusive, 130 interrupted."
    ),
)
@click.version_option(__version__, prog_name="harness")
@debug_option
def command() -> None:
    """Prove that a GPU op is right, stays on the device, and is as fast as it was."""


def run_command_line(arguments: list[str]) -> int:
    """Run the command and return its exit status; an error is one line on standard error."""
    if str(Path.cwd()) not in sys.path:
        # A console script starts without the working folder, where `package.module:WORKLOAD` mostly is.
        sys.path.insert(0, str(Path.cwd()))
    with redirect_stdout(cast(TextIO, ReaderMayLeave(sys.stdout))):
        return _flushed(_status(arguments))


def _status(arguments: list[str]) -> int:
    debugging = Debugging()
    try:
        return command.main(
            args=arguments, prog_name="harness", standalone_mode=False, obj=debugging
        ) or int(ExitCode.PASSED)
    except HarnessError as error:
        if debugging.wanted:
            traceback.print_exc()
        return _refuse(str(error), error.exit_code)
    except click.ClickException as error:
        error.show()
        return int(ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        return _refuse("interrupted", ExitCode.INTERRUPTED)
    except OSError as error:
        return _no_output(error)


def _flushed(status: int) -> int:
    """The status, unless what was printed cannot be delivered; Python would find out too late to say so."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return _no_output(error)
    return status


def _no_output(error: OSError) -> int:
    """Standard output is full: say so once, and let nothing that is still buffered raise at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _refuse(f"standard output cannot be written: {error.strerror or error}", ExitCode.USAGE)


def _refuse(message: str, status: int) -> int:
    click.echo(f"harness: {message}", err=True)
    return int(status)
