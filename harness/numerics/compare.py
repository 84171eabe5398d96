"""Is an output the float64 truth within its tolerance: counted, located, and said in one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.numerics.quotient import CHUNK_ENTRIES, Floats, Judged, Quotients, problem
from harness.numerics.tolerance import Tolerance
from harness.units import count_text

__all__ = ["Comparison", "Mismatch", "Worst", "compare", "comparison_text"]


class _Kind(Enum):
    """What sort of value an entry is; two entries of different kinds never agree."""

    FINITE = "finite"
    NAN = "nan"
    POSITIVE_INFINITY = "inf"
    NEGATIVE_INFINITY = "-inf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """The finite entry furthest beyond, or closest to, what is allowed."""

    index: tuple[int, ...]
    observed: float
    expected: float
    allowed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Entries that are ``observed`` (``"nan"``, ``"inf"``, ``"-inf"``, ``"finite"``) where ``expected`` is another kind."""

    observed: str
    expected: str
    count: int
    first: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How one output compares with its truth.

    ``problem`` is set when nothing could be compared (another shape or dtype). ``worst_ratio`` is the largest
    error over the allowed error, at most 1 when every finite entry agrees; ``worst`` locates it and is
    ``None`` when no two finite entries met. ``beyond`` counts finite entries out of tolerance,
    ``mismatches`` entries where only one side is finite, or neither and they differ. ``finite`` of
    ``entries`` were compared as numbers: 0 of 5 is an agreement about NaN and infinity only. ``vacuous``: numbers
    other than zero were expected, and zeros in the place of all of them would have been allowed too.
    """

    tolerance: Tolerance
    entries: int
    finite: int = 0
    worst_ratio: float = 0.0
    worst: Worst | None = None
    beyond: int = 0
    mismatches: tuple[Mismatch, ...] = ()
    problem: str | None = None
    vacuous: bool = False

    @property
    def passed(self) -> bool:
        """Whether every entry agrees."""
        return self.problem is None and not self.beyond and not self.mismatches


def compare(observed: Any, expected: Any, tolerance: Tolerance) -> Comparison:
    """Compare host arrays entry by entry: ``|observed - expected| <= absolute + relative * |expected|``.

    NaN agrees with NaN, infinity with infinity of the same sign, and infinity with a number the output's
    dtype cannot hold. Shapes must be equal (no broadcasting) and the dtype that of the tolerance. Cost:
    about 3 ns per entry and 0.6 MB of scratch, plus a copy of an array that is not C-contiguous.
    """
    seen, truth = np.asarray(observed), np.asarray(expected)
    obstacle = problem(seen, truth, tolerance)
    if obstacle is not None:
        return Comparison(tolerance=tolerance, entries=seen.size, problem=obstacle)
    tally, quotients = _Tally(tolerance), Quotients(seen, truth, tolerance)
    flat_seen, flat_truth = seen.reshape(-1), truth.reshape(-1)
    for start in range(0, seen.size, CHUNK_ENTRIES):
        part = slice(start, start + CHUNK_ENTRIES)
        tally.add(quotients.of(flat_seen[part], flat_truth[part]), start)
    return tally.comparison(seen.shape)


def comparison_text(comparison: Comparison, *, output: str) -> str:
    """One sentence a person can act on: what differs, by how much of what is allowed, and where."""
    if comparison.problem is not None:
        return f"{output}: {comparison.problem}"
    if comparison.passed:
        return f"{output}: {_agreement_text(comparison)}"
    parts = []
    worst = comparison.worst
    if worst is not None and comparison.beyond:
        parts.append(
            f"{comparison.beyond:,} of {count_text(comparison.entries, 'entry', plural='entries')} beyond tolerance, "
            f"worst {_ratio_text(comparison.worst_ratio)} the allowed {worst.allowed:.3g} at {_index_text(worst.index)}: "
            f"{worst.observed:.9g} where {worst.expected:.9g} was expected"
        )
    parts.extend(
        f"{count_text(mismatch.count, 'entry', plural='entries')} {_kind_text(mismatch.observed)} where "
        f"{_kind_text(mismatch.expected)} was expected, first at {_index_text(mismatch.first)}"
        for mismatch in comparison.mismatches
    )
    return f"{output}: {'; '.join(parts)}"


class _Tally:
    """The running result over the chunks of one comparison."""

    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance = tolerance
        self._finite = 0
        self._beyond = 0
        self._worst_ratio = 0.0
        self._worst: tuple[int, float, float, float] | None = None
        self._mismatches: dict[tuple[str, str], tuple[int, int]] = {}
        self._nonzero = self._telling = False

    def add(self, judged: Judged, start: int) -> None:
        """Count one chunk whose first entry has the flat index ``start``."""
        ratio = judged.quotient
        if (
            not self._telling
        ):  # the first chunk nearly always tells, so this costs nothing beyond it
            self._look_beyond_zero(judged)
        if judged.finite is None:
            self._finite += ratio.size
        else:
            self._finite += int(np.count_nonzero(judged.finite))
            self._note_mismatches(judged, ~judged.finite & ~(ratio <= 1), start)
            ratio = np.where(judged.finite, ratio, -1.0)
        worst = int(ratio.argmax())
        largest = float(ratio[worst])
        if largest > self._worst_ratio or (self._worst is None and largest >= 0):
            self._worst_ratio = largest
            self._worst = (
                start + worst,
                float(judged.observed[worst]),
                float(judged.expected[worst]),
                float(judged.allowed[worst]),
            )
        if largest > 1:
            self._beyond += int(np.count_nonzero(ratio > 1))

    def _look_beyond_zero(self, judged: Judged) -> None:
        """Whether any number was expected that is not zero, and any that zero would not have been allowed for."""
        size = np.abs(judged.expected)
        numbers = True if judged.finite is None else judged.finite
        self._nonzero |= bool(((size > 0) & numbers).any())
        self._telling = bool(((size > judged.allowed) & numbers).any())

    def _note_mismatches(self, judged: Judged, wrong: npt.NDArray[np.bool_], start: int) -> None:
        """Sort wrong entries that are not two numbers by the kinds of both sides."""
        if not wrong.any():
            return
        for seen_kind, seen_mask in _kinds(judged.observed):
            for true_kind, true_mask in _kinds(judged.expected):
                both = wrong & seen_mask & true_mask
                if both.any():
                    self._note(seen_kind, true_kind, both, start)

    def _note(self, seen: _Kind, truth: _Kind, entries: npt.NDArray[np.bool_], start: int) -> None:
        key = (seen.value, truth.value)
        count, first = self._mismatches.get(key, (0, start + int(entries.argmax())))
        self._mismatches[key] = (count + int(np.count_nonzero(entries)), first)

    def comparison(self, shape: tuple[int, ...]) -> Comparison:
        """The result, with flat indices turned back into those of ``shape``."""
        worst = None
        if self._worst is not None:
            flat, observed, expected, allowed = self._worst
            worst = Worst(
                index=_unravel(flat, shape), observed=observed, expected=expected, allowed=allowed
            )
        return Comparison(
            tolerance=self._tolerance,
            entries=math.prod(shape),
            finite=self._finite,
            worst_ratio=self._worst_ratio,
            worst=worst,
            beyond=self._beyond,
            mismatches=tuple(
                Mismatch(observed=seen, expected=truth, count=count, first=_unravel(first, shape))
                for (seen, truth), (count, first) in self._mismatches.items()
            ),
            vacuous=self._nonzero and not self._telling,
        )


def _kinds(values: Floats) -> list[tuple[_Kind, npt.NDArray[np.bool_]]]:
    return [
        (_Kind.NAN, np.isnan(values)),
        (_Kind.POSITIVE_INFINITY, np.isposinf(values)),
        (_Kind.NEGATIVE_INFINITY, np.isneginf(values)),
        (_Kind.FINITE, np.isfinite(values)),
    ]


def _unravel(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(axis) for axis in np.unravel_index(flat, shape)) if shape else ()


def _agreement_text(comparison: Comparison) -> str:
    verb = "agrees" if comparison.entries == 1 else "agree"
    agree = f"{count_text(comparison.entries, 'entry', plural='entries')} {verb}"
    if not comparison.entries:
        return "no entries to compare, shape and dtype agree"
    if not comparison.finite:
        return f"{agree}, none of them finite"
    others = comparison.entries - comparison.finite
    beside = f" ({others:,} of them not finite)" if others else ""
    return f"{agree}{beside}, worst error {_ratio_text(comparison.worst_ratio)} what is allowed"


def _ratio_text(ratio: float) -> str:
    return "beyond any multiple of" if math.isinf(ratio) else f"{float(f'{ratio:.3g}'):,.9g} times"


def _index_text(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else "the scalar"


def _kind_text(kind: str) -> str:
    return "a finite number" if kind == _Kind.FINITE.value else kind
