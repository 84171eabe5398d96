"""How a program begins: with Ctrl-C answered while its half second of imports still goes on.

Importing this imports nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import NoReturn

__all__ = ["INTERRUPTED", "INTERRUPTED_STATUS", "run"]

INTERRUPTED = (
    "interrupted; where --checkpoint was given, --resume goes on from the last state it kept"
)
INTERRUPTED_STATUS = 130
"""128 + SIGINT, as shells report it."""


def run(program: str) -> NoReturn:
    """Import the module ``program``, run its ``command`` and end the process; see ``command.main``."""
    try:
        command = importlib.import_module(program).command
        importlib.import_module("reference_impl.training.command").main(command)
    except KeyboardInterrupt:
        sys.stderr.write(f"{INTERRUPTED}\n")
        sys.stderr.flush()
        # An interrupt within code made from a string, as dataclasses are, would let Python end by the signal instead.
        os._exit(INTERRUPTED_STATUS)
    raise AssertionError("main() ends the process")
