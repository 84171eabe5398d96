"""Where an output is wrong and by how much: the errors of one output, small enough for a report."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ERROR_PROBABILITIES", "ErrorMap"]

ERROR_PROBABILITIES: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
"""The quantiles of error over allowed that an ``ErrorMap`` keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMap:
    """The error of every element of ``output`` over what its tolerance allows: above 1 is wrong.

    The output, ``shape`` flattened to rows by its last axis, is cut into blocks of ``block`` (rows, columns) elements;
    ``grid`` holds the largest quotient of each, row by row, NaN and infinity as they are. ``quantiles`` are those of
    all elements at ``ERROR_PROBABILITIES``. ``worst_index`` is where the largest is, ``got`` and ``expected`` what
    stood there; ``wrong`` counts the elements above 1, of which ``not_finite`` are NaN or infinite on one side only.
    """

    output: str
    shape: tuple[int, ...]
    dtype: str
    absolute: float
    relative: float
    worst: float
    worst_index: tuple[int, ...]
    got: float
    expected: float
    wrong: int
    not_finite: int
    block: tuple[int, int]
    grid: tuple[tuple[float, ...], ...]
    quantiles: tuple[float, ...]
