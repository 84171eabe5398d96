"""The cases of softmax cross-entropy: the shapes worth timing, and everything an op gets wrong on small ones."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field

from reference_impl.workloads.softmax_cross_entropy_inputs import (
    Labels,
    LogitMaker,
    Shape,
    counts,
    hard_float16_rows,
    hard_rows,
    ids,
    ids_with_ignored,
    non_finite_rows,
    one_hot,
    soft_rows,
    standard_normal,
    the_same_id,
    zeros,
)

__all__ = ["RECIPES", "Layout", "Recipe"]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the logits and labels handed to the op lie in memory; ``text`` names it for people.

    ``order`` is that of the stored logits. With a ``stride`` of 2 the op gets every second column of the
    stored logits, and every second of the stored labels.
    """

    text: str = "contiguous"
    order: str = "C"
    stride: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One case: a shape, a dtype, what the rows and labels hold, and the options of the op.

    ``dy``, the gradient of the loss, is 1 and not handed over when it is ``None``. ``smooth`` says that
    every loss is finite and changes slowly enough for its slope to be measured.
    """

    name: str
    shape: Shape
    dtype: str = "float32"
    logits: LogitMaker = standard_normal
    labels: Labels = field(default_factory=lambda: ids("int64"))
    layout: Layout = Layout()
    reduction: str = "mean"
    ignore_index: int | None = None
    label_smoothing: float = 0.0
    weighted: bool = False
    dy: float | None = None
    backward_calls: int = 1
    timed: bool = False
    smooth: bool = True


def bfloat16_available() -> bool:
    """Whether the package that gives NumPy a bfloat16 is installed."""
    return importlib.util.find_spec("ml_dtypes") is not None


LOSS_SCALE = 4096.0
"""What a float16 loss is multiplied by: without it the gradients of a mean over thousands of rows are too
small for the normal numbers of float16, and NumPy takes 70 ns to round each of them."""


def _timed() -> tuple[Recipe, ...]:
    """From launch-bound to memory-bound: the shapes at which published kernels are compared."""
    recipes = (
        Recipe(name="64x10-float32", shape=(64, 10), timed=True),
        Recipe(name="256x1000-float32", shape=(256, 1000), timed=True),
        Recipe(name="256x1000-bfloat16", shape=(256, 1000), dtype="bfloat16", timed=True),
        Recipe(
            name="4096x1000-float16",
            shape=(4096, 1000),
            dtype="float16",
            dy=LOSS_SCALE,
            timed=True,
        ),
        Recipe(name="4096x1000-float32", shape=(4096, 1000), timed=True),
        Recipe(name="4096x1000-float64", shape=(4096, 1000), dtype="float64", timed=True),
        Recipe(name="1024x32000-float32", shape=(1024, 32000), timed=True),
    )
    return tuple(r for r in recipes if r.dtype != "bfloat16" or bfloat16_available())


SMALL = (60, 10)
"""Enough rows for every kind of hard row ten times over, few enough to cost nothing."""

_LABEL_FORMS = (
    # Shows offsets computed in the labels' own int8.
    Recipe(name="ids-int8", shape=(64, 127), labels=ids("int8")),
    # Shows ids above 127 taken for negative.
    Recipe(name="ids-uint8", shape=(64, 300), labels=ids("uint8")),
    Recipe(name="ids-int32-column", shape=SMALL, labels=ids("int32", column=True)),
    # Shows class 0 skipped.
    Recipe(name="ids-first-class", shape=SMALL, labels=the_same_id(0)),
    Recipe(name="ids-last-class", shape=SMALL, labels=the_same_id(SMALL[1] - 1)),
    Recipe(name="one-hot-int32", shape=SMALL, labels=one_hot("int32")),
    Recipe(name="multi-hot-uint8", shape=SMALL, labels=counts("uint8", largest=1)),
    # Shows rows of counts not divided by their sum.
    Recipe(name="counts-int64", shape=SMALL, labels=counts("int64", largest=9)),
    # Shows soft labels read as integers, or divided by their sum.
    Recipe(name="soft-float32", shape=SMALL, labels=soft_rows()),
    Recipe(name="single-class-ids", shape=(8, 1)),
    # Shows one-hot rows of one class taken for ids.
    Recipe(name="single-class-one-hot", shape=(8, 1), labels=one_hot("int32")),
)

_OPTIONS = (
    Recipe(name="reduction-sum", shape=SMALL, reduction="sum"),
    Recipe(name="reduction-none", shape=SMALL, reduction="none"),
    # Shows the gradient of the loss dropped.
    Recipe(name="dy-2", shape=SMALL, dy=2.0),
    # Shows what was saved for backward changed in place.
    Recipe(name="backward-twice", shape=SMALL, backward_calls=2),
    Recipe(name="ignore-index", shape=SMALL, labels=ids_with_ignored(-100), ignore_index=-100),
    # Shows weights looked up at the ignored label, or left out of the divisor.
    Recipe(
        name="ignore-weights-smoothing",
        shape=SMALL,
        labels=ids_with_ignored(-100),
        ignore_index=-100,
        weighted=True,
        label_smoothing=0.1,
    ),
    # Shows a gradient of NaN where no row counts.
    Recipe(
        name="all-ignored",
        shape=SMALL,
        labels=the_same_id(-100),
        ignore_index=-100,
        smooth=False,
    ),
)

_HARD_VALUES = (
    # Shows no maximum subtracted, or one that starts at 0, or a clamped loss.
    Recipe(name="extreme-float32", shape=SMALL, logits=hard_rows, reduction="none", smooth=False),
    # Shows differences taken in float16.
    Recipe(
        name="extreme-float16",
        shape=SMALL,
        dtype="float16",
        logits=hard_float16_rows,
        reduction="none",
        smooth=False,
    ),
    # Shows a float16 sum of more than 65504 ones.
    Recipe(name="long-rows-float16", shape=(2, 70000), dtype="float16", logits=zeros, smooth=False),
    # Shows a NaN swallowed by its row, or spread to others.
    Recipe(name="non-finite", shape=SMALL, logits=non_finite_rows, reduction="none", smooth=False),
)

_LAYOUTS = (
    # Shows strides not looked at.
    Recipe(name="transposed", shape=SMALL, layout=Layout("column-major", order="F")),
    # Shows strides not looked at.
    Recipe(name="strided", shape=SMALL, layout=Layout("every second column and label", stride=2)),
)

RECIPES = (*_timed(), *_LABEL_FORMS, *_OPTIONS, *_HARD_VALUES, *_LAYOUTS)
"""All cases, the timed ones first."""
