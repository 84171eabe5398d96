"""The marker ``limit_transfers``: what a test's device work may move and wait for, and why."""

from __future__ import annotations

import pytest

from harness.errors import UsageError, WorkloadError
from harness.model.budget import WHOLE_RUN, Budget, Limit
from harness.pytest_plugin.settings import MARK

__all__ = ["marked_budget", "misuse"]


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
        except (UsageError, WorkloadError) as error:
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
    region = arguments.pop("within", WHOLE_RUN)
    if not isinstance(region, str) or not region.strip():
        raise UsageError(
            f"within={region!r} is not the name of a region; leave it out for the whole test body"
        )
    limits = Budget.from_plain({region: arguments}).regions[region]
    if not limits:
        raise UsageError("limits nothing; give at least one, as in d2h=0")
    return region, limits
