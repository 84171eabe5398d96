"""The exceptions the harness raises, each with the exit code it ends the command with.

::

    HarnessError
    |-- UsageError            exit 2   a bad option or an unknown name
    |   |-- FileFormatError   exit 2   a file that is not what it should be
    |   `-- ConflictError     exit 2   what was to be replaced is no longer there
    |-- OutputError           exit 2   a file that could not be written
    |-- WorkloadError         exit 1   the thing under test broke its contract
    `-- UnavailableError      exit 3   no such device, probe or package here

Every message is one line that says what happened, where, against which limit, and what to do next.
Results are values, never exceptions: a failed check is a ``CheckResult``, not an error.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = [
    "ConflictError",
    "ExitCode",
    "FileFormatError",
    "HarnessError",
    "OutputError",
    "UnavailableError",
    "UsageError",
    "WorkloadError",
]


class ExitCode(IntEnum):
    """What the process exit status means, for every command."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    UNAVAILABLE = 3
    INCONCLUSIVE = 4
    INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class HarnessError(Exception):
    """Any error the harness explains itself; the command prints its text without a traceback."""

    exit_code = ExitCode.FAILED


class UsageError(HarnessError):
    """The caller asked for something that does not exist or makes no sense."""

    exit_code = ExitCode.USAGE


class FileFormatError(UsageError):
    """A file is truncated, foreign, edited into nonsense, or of a newer schema; it is left as it was."""


class ConflictError(UsageError):
    """What was to be replaced was changed meanwhile by somebody else, and is left as they made it."""


class OutputError(HarnessError):
    """A file could not be written; nothing half-written is left behind."""

    exit_code = ExitCode.USAGE


class WorkloadError(HarnessError):
    """A workload broke its contract: wrong outputs, wrong declarations, an exception of its own."""

    exit_code = ExitCode.FAILED


class UnavailableError(HarnessError):
    """A device, probe or package is not available on this machine."""

    exit_code = ExitCode.UNAVAILABLE
