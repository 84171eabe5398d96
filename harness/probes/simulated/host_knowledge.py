"""What the host may learn without a copy: shapes and dtypes, never values.

NumPy computes the values here and looks at them to refuse some: a matrix that is singular, an exponent that is
negative. On a GPU the host has not seen them, and no error can come of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.probes.simulated.storage import Memory

__all__ = ["REFUSALS", "depends_on_values"]

REFUSALS = (ArithmeticError, LookupError, ValueError)
"""How NumPy refuses values; ``LinAlgError`` is a ``ValueError``. A ``TypeError`` is about types only."""


def depends_on_values(
    function: Callable[..., Any], operands: Sequence[Any], options: Mapping[str, Any]
) -> bool:
    """Whether other values of the same shapes and dtypes would not have been refused.

    Called after ``function(*operands, **options)`` has raised one of ``REFUSALS``.
    """
    for fill in _fillings():
        try:
            with np.errstate(all="ignore"):
                function(
                    *(_filled(operand, fill) for operand in operands),
                    **{name: _filled(option, fill) for name, option in options.items()},
                )
        except REFUSALS:
            continue
        return True
    return False


def _fillings() -> Iterator[Callable[[Memory], Memory]]:
    """Values that something or other accepts: no index, divisor or order, a unit, a regular matrix, a rising row."""
    yield np.zeros_like
    yield np.ones_like
    yield _diagonal
    yield _rising


def _diagonal(like: Memory) -> Memory:
    return (
        np.broadcast_to(np.eye(*like.shape[-2:]), like.shape).astype(like.dtype)
        if like.ndim > 1
        else like
    )


def _rising(like: Memory) -> Memory:
    return np.arange(like.size).reshape(like.shape).astype(like.dtype)


def _filled(value: Any, fill: Callable[[Memory], Memory]) -> Any:
    if isinstance(value, np.ndarray):
        return fill(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(element, fill) for element in value)
    return value
