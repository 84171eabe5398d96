"""What becomes of a test whose speed could not simply be judged: one choice for each way that can happen."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import Enum

import pytest

__all__ = ["DEFAULTS", "Action", "Situation", "read_policy"]


class Situation(Enum):
    """What can stand between a test and a verdict on its speed."""

    NEW = "new"
    """It is timed now and not in the baseline."""

    MISSING = "missing"
    """It is in the baseline, its file was asked for, and it is no longer there."""

    RENAMED = "renamed"
    """As missing, but a new test is so alike that it is taken for the same one under another name."""

    SKIPPED = "skipped"
    """It is in the baseline or limited, and it was skipped, or timing was turned off on the command line."""

    NO_BASELINE = "no-baseline"
    """It is limited, has no peer, and there is no baseline to hold it against."""

    INCONCLUSIVE = "inconclusive"
    """It was held against something, or should have been, and nobody can tell."""

    UNJUDGED = "unjudged"
    """Tests of the session are limited, and not one of them could be compared with anything."""


class Action(Enum):
    """What is done about it."""

    FAIL = "fail"
    SKIP = "skip"
    PASS = "pass"


_ALLOWED: Mapping[Situation, tuple[Action, ...]] = {
    Situation.NEW: (Action.PASS, Action.SKIP, Action.FAIL),
    Situation.MISSING: (Action.FAIL, Action.PASS),
    Situation.RENAMED: (Action.FAIL, Action.PASS),
    Situation.SKIPPED: (Action.PASS, Action.FAIL),
    Situation.NO_BASELINE: (Action.FAIL, Action.SKIP, Action.PASS),
    Situation.INCONCLUSIVE: (Action.SKIP, Action.FAIL),
    Situation.UNJUDGED: (Action.FAIL, Action.PASS),
}
"""The default first. What is inconclusive never passes; what is not there cannot be skipped."""

DEFAULTS: Mapping[Situation, Action] = {case: actions[0] for case, actions in _ALLOWED.items()}

_CASES = {case.value: case for case in Situation}


def read_policy(texts: Iterable[str], *, source: str) -> dict[Situation, Action]:
    """The choices in texts such as ``new=fail,missing=pass``; only those that were made.

    Raises ``pytest.UsageError`` in one line for an unknown name, an action that it does not have, or two choices
    that contradict each other.
    """
    chosen: dict[Situation, Action] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        if not part:
            continue
        case, action = _choice(part, source)
        if chosen.setdefault(case, action) is not action:
            raise pytest.UsageError(
                f"{source}: {case.value} is to {chosen[case].value} and to {action.value}; say it once"
            )
    return chosen


def _choice(text: str, source: str) -> tuple[Situation, Action]:
    name, equals, word = (part.strip() for part in text.partition("="))
    if not equals or name not in _CASES:
        close = difflib.get_close_matches(name, _CASES, n=1)
        guess = f"did you mean {close[0]}? " if close else ""
        raise pytest.UsageError(
            f"{source}: {text!r} is no choice; {guess}write NAME=ACTION, with NAME one of {', '.join(_CASES)}"
        )
    case = _CASES[name]
    allowed = {action.value: action for action in _ALLOWED[case]}
    if word not in allowed:
        raise pytest.UsageError(f"{source}: {name}={word}: {name} can {' or '.join(allowed)}")
    return case, allowed[word]
