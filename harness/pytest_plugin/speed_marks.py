"""The marker ``limit_slowdown``: how much slower a test's `benchmark` call may be, and than what."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from harness.errors import UsageError
from harness.pytest_plugin.speed_settings import SPEED_MARK, fraction

__all__ = ["SpeedLimit", "peers", "speed_limits", "speed_misuse"]

_ARGUMENTS = (
    "peer",
    "margin",
    "because",
    "renamed_from",
    "unit",
    "units_per_call",
    "bytes_per_call",
    "seconds",
)

_ALIKE = 0.7
"""Two letters in six: ``margins`` and ``unit_per_call`` are slips of the pen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedLimit:
    """One mark. ``peer`` takes the arguments of the benchmarked callable; what is ``None`` was not said."""

    peer: Callable[..., object] | None
    margin: float | None
    because: str
    renamed_from: str | None
    unit: str | None
    units_per_call: float
    bytes_per_call: int
    seconds: float | None


def speed_limits(item: pytest.Item) -> tuple[SpeedLimit, ...]:
    """Every ``limit_slowdown`` mark of a test, its class and its module, the closest first; all of them apply.

    Raises ``UsageError`` in one line that names the test, the marker and the argument.
    """
    try:
        return tuple(map(_limit, item.iter_markers(SPEED_MARK)))
    except UsageError as error:
        raise UsageError(f"{item.nodeid}: @pytest.mark.{SPEED_MARK}: {error}") from None


def speed_misuse(item: pytest.Item) -> str | None:
    """What is wrong with the marks of a test, in one line; ``None`` when nothing is."""
    try:
        speed_limits(item)
    except UsageError as error:
        return str(error)
    return None


def _limit(mark: pytest.Mark) -> SpeedLimit:
    if mark.args:
        raise UsageError(
            f"takes named arguments only, got {mark.args[0]!r}; write peer=frozen_op, margin='1%'"
        )
    for name in mark.kwargs:
        if name not in _ARGUMENTS:
            close = difflib.get_close_matches(name, _ARGUMENTS, n=1, cutoff=_ALIKE)
            guess = f"did you mean {close[0]}? " if close else ""
            raise UsageError(f"{name} is not an argument of it; {guess}use {', '.join(_ARGUMENTS)}")
    given = mark.kwargs.get
    peer = given("peer")
    if peer is not None and not callable(peer):
        raise UsageError(
            f"peer={peer!r} cannot be called; give the frozen copy of the op, which takes the same arguments"
        )
    return SpeedLimit(
        peer=peer,
        margin=_margin(given("margin")),
        because=_text("because", given("because")) or "",
        renamed_from=_text("renamed_from", given("renamed_from")),
        unit=_text("unit", given("unit")),
        units_per_call=_positive("units_per_call", given("units_per_call", 1.0)),
        bytes_per_call=_whole("bytes_per_call", given("bytes_per_call", 0)),
        seconds=None if given("seconds") is None else _positive("seconds", given("seconds")),
    )


def _margin(value: object) -> float | None:
    if value is None:
        return None
    try:
        return fraction(value)
    except ValueError as error:
        raise UsageError(f"margin: {error}") from None


def _text(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{name}={value!r} must be a text")
    return value


def _positive(name: str, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise UsageError(f"{name}={value!r} must be a number above 0")
    return float(value)


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"{name}={value!r} must be a whole number of at least 0")
    return value


def peers(limits: tuple[SpeedLimit, ...]) -> Iterator[Callable[..., object]]:
    """Each peer once, in the order of the marks."""
    seen: list[Callable[..., object]] = []
    for limit in limits:
        if limit.peer is not None and limit.peer not in seen:
            seen.append(limit.peer)
            yield limit.peer
