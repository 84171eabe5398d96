"""Calls of the fused kernels that are worth checking: every plan and its borders, every dtype, hard rows, bad labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from reference_impl.kernels.planner import DeviceLimits, plan_rows

__all__ = ["DTYPES", "ROWS", "Case", "borders", "cases"]

DTYPES = ("float32", "float16", "bfloat16", "float64")

_LONGEST_ROW = 600_000
"""Classes up to which plans are looked for: beyond the longest row that any of them keeps, in any dtype."""

ROWS = 5
"""Of each shape: rows of every alignment where C is odd, and blocks of several rows that are not full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call of the kernels."""

    name: str
    dtype: str
    shape: tuple[int, int]
    reduction: str = "mean"
    ignore_index: int | None = None
    label_dtype: str = "int64"
    in_place: bool = False
    gradient: bool = True
    expected_dy: float = 1.0
    dy: float | None = None
    bad_labels: Mapping[int, int] = field(default_factory=dict)
    special: Mapping[tuple[int, int], float] = field(default_factory=dict)
    plan: str = ""


def cases(limits: DeviceLimits, *, small: bool) -> Iterator[Case]:
    """What is worth asking first, float32 first; ``small`` leaves out most of it."""
    yield from _options()
    yield from _bad_labels()
    for dtype in DTYPES:
        yield from _special_rows(dtype)
        widest = 0
        for classes, plan in borders(dtype, limits):
            if small and classes > 1000:
                break
            for width in sorted(
                {classes, classes + 1} - {widest}
            ):  # the next border may be the next width
                widest = max(widest, width)
                yield Case(name=f"{ROWS}x{width}", dtype=dtype, shape=(ROWS, width), plan=plan)


def borders(
    dtype: str, limits: DeviceLimits, *, most: int = _LONGEST_ROW
) -> Iterator[tuple[int, str]]:
    """The longest row of each plan up to ``most`` classes, with the plan's kernel."""
    start = 1
    while start <= most:
        kernel = _kernel_for(dtype, start, limits)
        low, step = start, 1
        while low + step <= most and _kernel_for(dtype, low + step, limits) == kernel:
            low, step = low + step, 2 * step
        while step > 1:
            step //= 2
            if low + step <= most and _kernel_for(dtype, low + step, limits) == kernel:
                low += step
        if low >= most:
            return
        yield low, kernel
        start = low + 1


def _kernel_for(dtype: str, classes: int, limits: DeviceLimits) -> str:
    return plan_rows(dtype=dtype, rows=ROWS, classes=classes, limits=limits).kernel


def _options() -> Iterator[Case]:
    shape, dtype = (37, 101), "float32"
    for reduction in ("mean", "sum", "none"):
        for ignore_index in (None, 2):
            name = f"{reduction}, ignore_index {ignore_index}"
            yield Case(
                name=name, dtype=dtype, shape=shape, reduction=reduction, ignore_index=ignore_index
            )
    for label_dtype in ("int8", "uint8", "int32", "uint32"):
        yield Case(name=f"{label_dtype} ids", dtype=dtype, shape=shape, label_dtype=label_dtype)
    for classes in (3, 1000, 40_000):
        yield Case(name=f"in place, 9x{classes}", dtype=dtype, shape=(9, classes), in_place=True)
    yield Case(name="loss alone", dtype=dtype, shape=shape, gradient=False)
    yield Case(name="dy as expected", dtype=dtype, shape=shape, expected_dy=4.0, dy=4.0)
    yield Case(name="another dy", dtype=dtype, shape=shape, expected_dy=4.0, dy=2.0)


def _bad_labels() -> Iterator[Case]:
    for label_dtype, label in (
        ("int64", 10),
        ("int64", -1),
        ("int64", 2**32 + 1),
        ("int32", 2**31 - 1),
    ):
        yield Case(
            name=f"bad label {label} as {label_dtype}",
            dtype="float32",
            shape=(33, 10),
            reduction="none",
            label_dtype=label_dtype,
            bad_labels={21: label},
        )


def _special_rows(dtype: str) -> Iterator[Case]:
    """NaN and infinities, which stay in their row. Row 1 is the special one, and its label is 2."""
    for classes in (3, 1003):
        for name, values in {
            "NaN": {(1, 0): np.nan},
            "+inf": {(1, 0): np.inf},
            "-inf": {(1, 0): -np.inf},
            "-inf at the label": {(1, 2): -np.inf},
        }.items():
            yield Case(
                name=f"{name} in 3x{classes}",
                dtype=dtype,
                shape=(3, classes),
                reduction="none",
                special=values,
            )
