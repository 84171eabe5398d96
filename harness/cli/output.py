"""What a command puts out: text whose reader may leave early, as in ``harness run | head -1``, and then files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from harness.errors import ExitCode, HarnessError
from harness.model.outcome import Outcome

__all__ = ["ReaderMayLeave", "keeping"]


@contextmanager
def keeping(outcome: Outcome, *, show: Callable[[], None]) -> Iterator[None]:
    """Keep results in files, and show them whether or not that works: neither a full disk nor a full pipe loses both.

    An error goes on to be told after them; only its exit status gives way to that of a failed verdict.
    """
    try:
        yield
    except HarnessError as error:
        show()
        if outcome is Outcome.FAILED:
            error.exit_code = ExitCode.FAILED
        raise
    show()


class ReaderMayLeave:
    """A text stream that turns to the null device once its reader is gone.

    The command then goes on to its end and its exit status says how it went, instead of how much of it
    somebody read. Every other error of the stream passes through.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """As of the stream, nowhere once the reader is gone."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._turn_away()
            return len(text)

    def flush(self) -> None:
        """As of the stream, nowhere once the reader is gone."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._turn_away()

    def _turn_away(self) -> None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self._stream.fileno())
        os.close(null)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
