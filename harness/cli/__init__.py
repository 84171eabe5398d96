"""The ``harness`` command; ``command.py`` holds its verbs.

Importing this imports next to nothing: the rest takes half a second, in which Ctrl-C must already be answered.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_INTERRUPTED = 130
"""``harness.errors.ExitCode.INTERRUPTED``, which is not imported yet when it is needed."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status; an error is one line on standard error."""
    try:
        from harness.cli.command import run_command_line

        return run_command_line(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        sys.stderr.write("harness: interrupted\n")
        return _INTERRUPTED
