"""The marker ``limit_transfers``: what a test's device work may move and wait for, and why."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

import pytest

from harness.errors import UsageError
from harness.model.budget import WHOLE_RUN, Budget, Limit, Quantity
from harness.pytest_plugin.settings import MARK

__all__ = ["marked_budget", "misuse"]

_QUANTITIES = tuple(quantity.value for quantity in Quantity)
_ARGUMENTS = (*_QUANTITIES, "within", "because")

_ALIKE = 0.75
"""Above 2/3, how alike ``d2d`` and ``d2h`` are, which is no slip of the pen; below the 0.8 of one letter in five."""


def marked_budget(item: pytest.Item) -> Budget | None:
    """The limits of every ``limit_transfers`` mark of a test, its class and its module; ``None`` without one.

    All of them apply. Raises ``UsageError`` in one line that names the test, the marker and the argument.
    """
    marks = list(item.iter_markers(MARK))
    if not marks:
        return None
    regions: dict[str, tuple[Limit, ...]] = {}
    for mark in marks:
        try:
            region, limits = _limits(mark)
        except UsageError as error:
            raise UsageError(f"{item.nodeid}: @pytest.mark.{MARK}: {error}") from None
        regions[region] = (*regions.get(region, ()), *limits)
    return Budget({region: tuple(dict.fromkeys(limits)) for region, limits in regions.items()})


def misuse(item: pytest.Item) -> str | None:
    """What is wrong with the marks of a test, in one line; ``None`` when nothing is."""
    try:
        marked_budget(item)
    except UsageError as error:
        return str(error)
    return None


def _limits(mark: pytest.Mark) -> tuple[str, tuple[Limit, ...]]:
    if mark.args:
        raise UsageError(
            f"takes named arguments only, got {mark.args[0]!r}; write d2h=0, syncs=0, because='...'"
        )
    arguments = dict(mark.kwargs)
    region = _region(arguments.pop("within", WHOLE_RUN))
    because = arguments.pop("because", None)
    amounts = dict(_amounts(arguments))
    if not amounts:
        raise UsageError(f"limits nothing; give at least one of {', '.join(_QUANTITIES)}")
    reason = _reason(because)
    return region, tuple(
        Limit(quantity=quantity, at_most=at_most, because=reason)
        for quantity, at_most in amounts.items()
    )


def _region(within: object) -> str:
    if not isinstance(within, str) or not within.strip():
        raise UsageError(
            f"within={within!r} is not the name of a region; leave it out for the whole test body"
        )
    return within


def _amounts(arguments: Mapping[str, object]) -> Iterator[tuple[Quantity, int]]:
    for name, value in arguments.items():
        if name not in _QUANTITIES:
            close = difflib.get_close_matches(name, _ARGUMENTS, n=1, cutoff=_ALIKE)
            guess = f"did you mean {close[0]}? " if close else ""
            raise UsageError(
                f"{name}={value!r} is not an argument of it; {guess}use {', '.join(_ARGUMENTS)}"
            )
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise UsageError(
                f"{name}={value!r} is no limit; give a whole number of at least 0, or None for no limit"
            )
        yield Quantity(name), value


def _reason(because: object) -> str:
    if because is None:
        raise UsageError("because is missing; add because='...', which every failure repeats")
    if not isinstance(because, str) or not because.strip():
        raise UsageError(f"because={because!r} is no reason; say in words why this is the limit")
    return because
