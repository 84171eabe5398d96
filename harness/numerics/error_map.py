"""Where an output is wrong and by how much: every entry's error over its allowance, cut to a grid a page can draw."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.model.error_map import ERROR_PROBABILITIES, ErrorMap
from harness.numerics.quotient import CHUNK_ENTRIES, Floats, Judged, Quotients, problem
from harness.numerics.tolerance import Tolerance

__all__ = ["error_map"]

_MOST_BLOCKS = (12, 32)
"""Rows and columns of a grid with something wrong in it: 384 numbers, 3 kB of a run file."""

_MOST_BLOCKS_PASSED = (6, 16)
"""Of an output that is right throughout, which nobody looks for a place in: under 1 kB."""

_SAMPLE = 1 << 16
"""Entries the quantiles rest on: of so many, the share below the 99th percentile is known to 0.04 %."""

_JUST_WRONG = 1.001
"""What is above 1 and would round to it; the grid must not show it as right."""


def error_map(
    observed: Any, expected: Any, tolerance: Tolerance, *, output: str
) -> ErrorMap | None:
    """The map of one output, of host arrays; ``None`` where ``compare`` compares nothing.

    An entry is wrong exactly where ``compare`` counts it. Of infinity on one side only the quotient is infinite, of NaN
    on one side only it is NaN, which outranks everything. The quantiles of a large output are those of 65,536 entries
    spread evenly over it, the last of all entries. Cost: about 4 ns per entry and 1.2 MB of scratch, plus a copy of an
    array that is not C-contiguous.
    """
    seen, truth = np.asarray(observed), np.asarray(expected)
    if problem(seen, truth, tolerance) is not None:
        return None
    field, quotients = _Field(seen.shape), Quotients(seen, truth, tolerance)
    flat_seen, flat_truth = seen.reshape(-1), truth.reshape(-1)
    for part in field.parts():
        field.add(quotients.of(flat_seen[part], flat_truth[part]), part.start)
    grid, block = field.blocks()
    return ErrorMap(
        output=output,
        shape=seen.shape,
        dtype=seen.dtype.name,
        absolute=tolerance.absolute,
        relative=tolerance.relative,
        worst=field.worst,
        worst_index=tuple(int(axis) for axis in np.unravel_index(field.worst_at, seen.shape))
        if seen.ndim and seen.size
        else (),
        got=field.got,
        expected=field.expected,
        wrong=field.wrong,
        not_finite=field.not_finite,
        block=block,
        grid=tuple(tuple(map(_rounded, row)) for row in grid.tolist()),
        quantiles=tuple(map(_rounded, field.quantiles())),
    )


class _Field:
    """What the chunks of one output have shown: the largest quotient of each block, the worst entry, a sample."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._size = math.prod(shape)
        self._columns = shape[-1] if shape else 1
        self._rows = self._size // self._columns if self._columns else 0
        self._block = tuple(
            max(1, -(-count // most))
            for count, most in zip((self._rows, self._columns), _MOST_BLOCKS, strict=True)
        )
        height, width = self._block
        self._grid = np.zeros((-(-self._rows // height), -(-self._columns // width)))
        self._stride = _stride(self._size, shape)
        self._sample: list[Floats] = []
        self.worst, self.worst_at, self.got, self.expected = 0.0, -1, 0.0, 0.0
        self.wrong = self.not_finite = 0

    def parts(self) -> Iterator[slice]:
        """Flat chunks, each of whole rows within one row of blocks or of a part of one row."""
        if self._columns > CHUNK_ENTRIES:
            for row in range(0, self._size, self._columns):
                for start in range(row, row + self._columns, CHUNK_ENTRIES):
                    yield slice(start, min(start + CHUNK_ENTRIES, row + self._columns))
            return
        height = self._block[0] * self._columns
        step = CHUNK_ENTRIES // self._columns * self._columns if self._columns else 1
        for block in range(0, self._size, height or 1):
            end = min(block + height, self._size)
            for start in range(block, end, step):
                yield slice(start, min(start + step, end))

    def add(self, judged: Judged, start: int) -> None:
        """Take in one chunk whose first entry has the flat index ``start``."""
        quotient = judged.quotient
        row, column = divmod(start, self._columns)
        whole = column == 0 and quotient.size % self._columns == 0
        along = _column_maxima(quotient, self._columns) if whole else quotient
        first, width = column // self._block[1], self._block[1]
        starts = np.maximum(np.arange(first * width, column + along.size, width) - column, 0)
        into = self._grid[row // self._block[0], first : first + starts.size]
        np.maximum(into, np.maximum.reduceat(along, starts), out=into)
        self._sample.append(quotient[-start % self._stride :: self._stride].copy())
        self._note_worst(judged, start)

    def _note_worst(self, judged: Judged, start: int) -> None:
        quotient = judged.quotient
        at = int(quotient.argmax())  # the first NaN, where there is one
        largest = float(quotient[at])
        if self.worst_at < 0 or _outranks(largest, self.worst):
            self.worst, self.worst_at = largest, start + at
            self.got, self.expected = float(judged.observed[at]), float(judged.expected[at])
        if not largest <= 1:
            wrong = ~(quotient <= 1)
            self.wrong += int(np.count_nonzero(wrong))
            if judged.finite is not None:
                self.not_finite += int(np.count_nonzero(wrong & ~judged.finite))

    def blocks(self) -> tuple[Floats, tuple[int, int]]:
        """The grid and the rows and columns of a block; where all is right, coarser."""
        most = _MOST_BLOCKS if self.wrong else _MOST_BLOCKS_PASSED
        grid, block = self._grid, list(self._block)
        for axis in (0, 1):
            together = max(1, -(-grid.shape[axis] // most[axis]))
            if grid.size and together > 1:
                starts = np.arange(0, grid.shape[axis], together)
                grid = np.maximum.reduceat(grid, starts, axis=axis)
                block[axis] *= together
        return grid, (block[0], block[1])

    def quantiles(self) -> list[float]:
        """At ``ERROR_PROBABILITIES``, each a quotient that occurred; NaN is the largest."""
        if not self._sample:
            return []
        ordered = np.sort(np.concatenate(self._sample))
        ranks = [math.ceil(share * ordered.size) - 1 for share in ERROR_PROBABILITIES]
        return [*(float(ordered[max(0, rank)]) for rank in ranks[:-1]), self.worst]


def _column_maxima(quotient: Floats, columns: int) -> Floats:
    """The largest of each column; of narrow rows, several are taken as one, which NumPy reduces five times faster."""
    wide = columns * max(1, 256 // columns)
    whole = quotient.size // wide * wide
    folded = quotient[:whole].reshape(-1, wide).max(axis=0, initial=0.0)
    rest = quotient[whole:].reshape(-1, columns)
    maxima: Floats = np.concatenate([folded.reshape(-1, columns), rest]).max(axis=0)
    return maxima


def _stride(size: int, shape: tuple[int, ...]) -> int:
    """The distance of the entries of a sample: it shares no factor with an axis, so that it visits all of each."""
    stride = max(1, -(-size // _SAMPLE))
    while stride > 1 and any(math.gcd(stride, axis) > 1 for axis in shape):
        stride += 1
    return stride


def _outranks(quotient: float, other: float) -> bool:
    return quotient > other or (math.isnan(quotient) and not math.isnan(other))


def _rounded(quotient: float) -> float:
    """Three significant digits, which a page shows at most; what is wrong stays so."""
    rounded = float(f"{quotient:.3g}")
    return _JUST_WRONG if quotient > 1 and rounded <= 1 else rounded
