"""Logits and labels for softmax cross-entropy: ordinary ones, and the rows and forms that break ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "HostArray",
    "Labels",
    "LogitMaker",
    "Shape",
    "counts",
    "hard_float16_rows",
    "hard_rows",
    "ids",
    "ids_with_ignored",
    "non_finite_rows",
    "one_hot",
    "soft_rows",
    "standard_normal",
    "the_same_id",
    "zeros",
]

Shape = tuple[int, int]
HostArray = NDArray[Any]
LogitMaker = Callable[[np.random.Generator, Shape], HostArray]
LabelMaker = Callable[[np.random.Generator, Shape], HostArray]


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of one form; ``text`` names it for people."""

    text: str
    make: LabelMaker


def ids(dtype: str, *, column: bool = False) -> Labels:
    """One class per row, drawn evenly from all that ``dtype`` can name."""

    def make(rng: np.random.Generator, shape: Shape) -> HostArray:
        rows, classes = shape
        nameable = min(classes, int(np.iinfo(dtype).max) + 1)
        drawn = rng.integers(0, nameable, size=(rows, 1) if column else rows)
        return drawn.astype(dtype)

    return Labels(f"{dtype} ids" + (" in a column" if column else ""), make)


def ids_with_ignored(ignore_index: int) -> Labels:
    """Ids of which every third is ``ignore_index``."""

    def make(rng: np.random.Generator, shape: Shape) -> HostArray:
        drawn = rng.integers(0, shape[1], size=shape[0])
        drawn[::3] = ignore_index
        return drawn

    return Labels(f"int64 ids, a third of them {ignore_index}", make)


def the_same_id(label: int) -> Labels:
    """The one class ``label`` in every row."""
    return Labels(f"id {label} in every row", lambda rng, shape: np.full(shape[0], label))


def one_hot(dtype: str) -> Labels:
    """Rows with a single 1."""

    def make(rng: np.random.Generator, shape: Shape) -> HostArray:
        rows, classes = shape
        row = np.zeros(shape, dtype)
        row[np.arange(rows), rng.integers(0, classes, size=rows)] = 1
        return row

    return Labels(f"{dtype} one-hot rows", make)


def counts(dtype: str, *, largest: int) -> Labels:
    """Rows of small integers, at least one of them above 0; ``largest`` 1 makes them multi-hot."""

    def make(rng: np.random.Generator, shape: Shape) -> HostArray:
        rows, classes = shape
        drawn = rng.integers(0, largest + 1, size=shape)
        drawn[np.arange(rows), rng.integers(0, classes, size=rows)] = largest
        return drawn.astype(dtype)

    form = "multi-hot rows" if largest == 1 else "rows of counts"
    return Labels(f"{dtype} {form}", make)


def soft_rows() -> Labels:
    """Rows of shares that sum to less than 1, a third of them exactly 0."""

    def make(rng: np.random.Generator, shape: Shape) -> HostArray:
        shares = rng.dirichlet(np.ones(shape[1]), size=shape[0])
        shares[:, ::3] = 0.0
        return shares.astype(np.float32)

    return Labels("float32 soft rows", make)


def standard_normal(rng: np.random.Generator, shape: Shape) -> HostArray:
    """Logits as an untrained network gives them."""
    return rng.standard_normal(shape)


def hard_rows(rng: np.random.Generator, shape: Shape) -> HostArray:
    """Six kinds of finite row (and one -inf) that overflow, underflow or cancel in a careless op, in turn."""
    rows, classes = shape
    noise = rng.standard_normal(shape)
    kinds = [
        noise - 1e4,  # without the row's own maximum every exponential is 0, and 0/0 is NaN
        noise + 200.0,  # without a maximum exp overflows float32
        np.full(shape, 1e8),  # (m + log s) - x loses log C altogether
        noise * 1e-3 + 4096.0,  # the logits differ by few units in the last place
        np.where(np.arange(classes) == 0, 1e4, noise),  # a probability of 0 costs 1e4, and not 87.3
        np.where(np.arange(classes) == 1, -np.inf, noise),  # exp(-inf) is 0 and no NaN
    ]
    return _in_turn(kinds, rows)


def hard_float16_rows(rng: np.random.Generator, shape: Shape) -> HostArray:
    """The hard rows within the range of float16, which ends at 65504."""
    rows, classes = shape
    noise = rng.standard_normal(shape)
    first = np.arange(classes) == 0
    kinds = [
        noise - 1e4,
        noise + 200.0,
        np.full(shape, 6e4),
        np.where(first, 6e4, np.full(shape, -6e4)),  # the spread itself overflows float16
        np.where(first, -np.inf, noise),
    ]
    return _in_turn(kinds, rows)


def non_finite_rows(rng: np.random.Generator, shape: Shape) -> HostArray:
    """Ordinary rows between rows that hold a NaN, +inf, nothing but -inf, and -inf on every other class."""
    rows, classes = shape
    noise = rng.standard_normal(shape)
    first = np.arange(classes) == 0
    kinds = [
        noise,
        np.where(first, np.nan, noise),
        noise,
        np.where(first, np.inf, noise),
        np.full(shape, -np.inf),
        np.where(first, noise, -np.inf),
    ]
    return _in_turn(kinds, rows)


def _in_turn(kinds: list[HostArray], rows: int) -> HostArray:
    turn = np.arange(rows) % len(kinds)
    return np.stack(kinds)[turn, np.arange(rows)]


def zeros(rng: np.random.Generator, shape: Shape) -> HostArray:
    """Equal logits."""
    return np.zeros(shape)
