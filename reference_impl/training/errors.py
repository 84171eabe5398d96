"""What ends a program early, each with its exit status; the message is one line."""

from __future__ import annotations

__all__ = ["DivergedError", "InputError", "TrainingError", "UnavailableError"]


class TrainingError(Exception):
    """Any end the program explains itself."""

    exit_status = 1


class DivergedError(TrainingError):
    """The loss is no longer a finite number."""


class InputError(TrainingError):
    """An option, or a file that is not what it should be or cannot be written."""

    exit_status = 2


class UnavailableError(TrainingError):
    """No such device or package here."""

    exit_status = 3
