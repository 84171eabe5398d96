"""How the plugin ends a test: pytest's own outcomes, told apart from those a test asks for itself.

The classes are named as pytest's are, and live where pytest's live, since the name is printed before every text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from _pytest import (
    outcomes,
)  # pytest offers these as attributes only, which no type checker can subclass

if TYPE_CHECKING:
    from harness.model.verdict import CheckResult

__all__ = ["Failed", "Skipped", "is_unsure"]


class Failed(outcomes.Failed):
    """Fails a test in the words of ``text``, without a traceback: the frames here are the plugin's own.

    ``result`` is what the limits or the reading of a trace came to; ``None`` for misuse and for a device that
    this machine lacks.
    """

    __module__ = "builtins"

    def __init__(self, text: str, *, result: CheckResult | None = None) -> None:
        super().__init__(text, pytrace=False)
        self.result = result


class Skipped(outcomes.Skipped):
    """Skips a test of which nothing is known for sure, where the user chose that."""

    __module__ = "builtins"

    def __init__(self, text: str, *, result: CheckResult) -> None:
        super().__init__(text)
        self.result = result


def is_unsure(ending: BaseException | None) -> bool:
    """Whether a test was ended because it could not be judged, which is never what it was expected to do."""
    if not isinstance(ending, Failed):
        return False
    if ending.result is None:
        return True
    from harness.model.outcome import Outcome

    return ending.result.outcome is Outcome.INCONCLUSIVE
