"""Softmax cross-entropy under test: many shapes, dtypes, forms of label and hard values; no copy, no wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reference_impl.autograd import Operation, training
from reference_impl.ops import (
    FusedSoftMaxCrossEntropy,
    HostRoundTripSoftMaxCrossEntropy,
    SoftMaxCrossEntropy,
)
from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy
from reference_impl.tensor import Tensor
from reference_impl.workloads import frozen_softmax_cross_entropy as yardstick
from reference_impl.workloads.softmax_cross_entropy_recipes import RECIPES, Recipe

__all__ = [
    "CONTROL",
    "FUSED",
    "PRE_FIX",
    "WORKLOAD",
    "SoftmaxCrossEntropyCase",
    "SoftmaxCrossEntropyWorkload",
    "TimedSoftmaxCrossEntropyCase",
]

Arrays = Mapping[str, Any]
Region = Callable[[str], AbstractContextManager[None]]
OperationFactory = Callable[..., Operation]

_SLOPES_UP_TO = 100_000
"""Logits up to which the slope of the loss is measured. It asks the oracle 16 times or more, and shows nothing
on a large case that a small one of the same code does not."""

_ON_DEVICE = "the loss is summed, divided and kept where the logits are (SINGA-502)"
_BUDGET: Mapping[str, Mapping[str, object]] = {
    region: {"d2h": 0, "h2d": 0, "syncs": 0, "blocking_copies": 0, "because": because}
    for region, because in {
        "forward": _ON_DEVICE,
        "backward": "all it needs was left on the device by forward",
        "run": "a training loop that must wait here cannot run ahead of the device, or be captured",
    }.items()
}


@dataclass(frozen=True, kw_only=True)
class SoftmaxCrossEntropyCase:
    """One recipe, and the op it is served to."""

    recipe: Recipe
    op: OperationFactory

    @property
    def name(self) -> str:
        """That of the recipe."""
        return self.recipe.name

    @property
    def parameters(self) -> Mapping[str, str]:
        """Shape, dtype, what the arrays hold, layout, and every option that is not the default."""
        recipe = self.recipe
        parameters = {
            "shape": "x".join(map(str, recipe.shape)),
            "dtype": recipe.dtype,
            "logits": recipe.logits.__name__.replace("_", " "),
            "labels": recipe.labels.text,
            "reduction": recipe.reduction,
            "layout": recipe.layout.text,
        }
        if recipe.ignore_index is not None:
            parameters["ignore_index"] = str(recipe.ignore_index)
        if recipe.label_smoothing:
            parameters["label_smoothing"] = str(recipe.label_smoothing)
        if recipe.weighted:
            parameters["weight"] = "one per class"
        if recipe.dy is not None:
            parameters["dy"] = str(recipe.dy)
        if recipe.backward_calls > 1:
            parameters["backward calls"] = str(recipe.backward_calls)
        return parameters

    @property
    def timed(self) -> bool:
        """Only ``TimedSoftmaxCrossEntropyCase`` is."""
        return False

    @property
    def throughput(self) -> tuple[str, float, int]:
        """Samples; at least every logit must be read and its gradient written, once."""
        rows, classes = self.recipe.shape
        itemsize = (
            2
            if self.recipe.dtype in ("float16", "bfloat16")
            else np.dtype(self.recipe.dtype).itemsize
        )
        return "samples", float(rows), 2 * itemsize * rows * classes

    @property
    def budget(self) -> Mapping[str, Mapping[str, object]]:
        """Nothing crosses and nothing waits, in any region."""
        return _BUDGET

    @property
    def tolerances(self) -> Mapping[str, Mapping[str, object]]:
        """From the dtype, the number of classes summed over, and the size of a row's share of the result."""
        recipe = self.recipe
        rows, classes = recipe.shape
        loss_dtype = "float64" if recipe.dtype == "float64" else "float32"
        gradient = {
            "dtype": recipe.dtype,
            "reduction_length": classes,
            "scale": abs(recipe.dy or 1.0) / (rows if recipe.reduction == "mean" else 1),
        }
        loss = {
            "dtype": loss_dtype,
            "reduction_length": classes,
            "scale": float(rows) if recipe.reduction == "sum" else 1.0,
        }
        names = ("gradient", "second_gradient")[: recipe.backward_calls]
        return {"loss": loss, **dict.fromkeys(names, gradient)}

    @property
    def gradients(self) -> Mapping[str, str]:
        """The gradient of the logits, where the loss is one number with a slope that can be measured."""
        recipe = self.recipe
        rows, classes = recipe.shape
        measurable = recipe.smooth and recipe.dy is None and rows * classes <= _SLOPES_UP_TO
        stored_as_used = recipe.layout.stride == 1
        one_number = recipe.reduction != "none"
        return {"logits": "gradient"} if measurable and stored_as_used and one_number else {}

    @property
    def loss(self) -> str | None:
        """The output ``"loss"``, where there is a slope to check."""
        return "loss" if self.gradients else None

    def inputs(self, seed: int) -> Arrays:
        """``logits`` and ``labels``, with ``weight`` and ``dy`` where the case has them."""
        recipe = self.recipe
        rows, classes = recipe.shape
        rng = np.random.default_rng(seed)
        stride = recipe.layout.stride
        logits = recipe.logits(rng, (rows, classes * stride)).astype(_dtype(recipe.dtype))
        inputs: dict[str, Any] = {
            "logits": np.asfortranarray(logits) if recipe.layout.order == "F" else logits,
            "labels": recipe.labels.make(rng, (rows * stride, classes)),
        }
        if recipe.weighted:
            inputs["weight"] = rng.uniform(0.5, 2.0, size=classes).astype(np.float32)
        if recipe.reduction == "none":
            inputs["dy"] = rng.uniform(-1.0, 1.0, size=rows).astype(np.float32)
        elif recipe.dy is not None:
            inputs["dy"] = np.asarray(recipe.dy, dtype=np.float32)
        return inputs

    def run(self, inputs: Arrays, region: Region) -> Arrays:
        """One forward and one or two backward passes: ``loss``, ``gradient``, ``second_gradient``."""
        recipe = self.recipe
        logits, labels = self._handed_over(inputs)
        dy = inputs.get("dy", 1.0)
        with training(), region("forward"):
            operation = self.op(labels, **self._options(inputs))
            (loss,) = operation(Tensor(logits))
        with region("backward"):
            gradients = [operation.backward(dy) for _ in range(recipe.backward_calls)]
        names = ("gradient", "second_gradient")
        return {"loss": loss.data, **dict(zip(names, gradients, strict=False))}

    def expected(self, inputs: Arrays) -> Arrays:
        """The float64 truth; a second backward pass gives what the first gave."""
        logits, labels = self._handed_over(inputs)
        dy = inputs.get("dy", 1.0)
        truth = softmax_cross_entropy(logits, labels, dy=dy, **self._options(inputs))
        names = ("gradient", "second_gradient")[: self.recipe.backward_calls]
        return {"loss": truth.loss, **dict.fromkeys(names, truth.gradient)}

    def _handed_over(self, inputs: Arrays) -> tuple[Any, Any]:
        stride = self.recipe.layout.stride
        return inputs["logits"][:, ::stride], inputs["labels"][::stride]

    def _options(self, inputs: Arrays) -> dict[str, Any]:
        # Only those that differ from the default: an op under test need not know the others.
        recipe = self.recipe
        options: dict[str, Any] = {}
        if recipe.reduction != "mean":
            options["reduction"] = recipe.reduction
        if recipe.ignore_index is not None:
            options["ignore_index"] = recipe.ignore_index
        if recipe.label_smoothing:
            options["label_smoothing"] = recipe.label_smoothing
        if recipe.weighted:
            options["weight"] = inputs["weight"]
        return options


@dataclass(frozen=True, kw_only=True)
class TimedSoftmaxCrossEntropyCase(SoftmaxCrossEntropyCase):
    """A case worth timing: the mean over ids (N,), with a yardstick to time beside it."""

    @property
    def timed(self) -> bool:
        """Always."""
        return True

    @property
    def flops(self) -> float:
        """Operations of one forward and backward pass, an exponential and a logarithm counting as one.

        Per logit: maximum, subtraction, exponential, addition, and the product with the row's scale. Per row: the
        logarithm, the label's logit off it, the row added to the sum, its scale, and the label's own gradient.
        """
        rows, classes = self.recipe.shape
        return 5.0 * rows * classes + 5.0 * rows

    def peer(self, inputs: Arrays, region: Region) -> Arrays:
        """The same work by frozen plain NumPy, on host arrays."""
        with region("forward"):
            loss, saved = yardstick.forward(inputs["logits"], inputs["labels"])
        with region("backward"):
            gradient = yardstick.backward(saved, inputs.get("dy", 1.0))
        return {"loss": loss, "gradient": gradient}


@dataclass(frozen=True, kw_only=True)
class SoftmaxCrossEntropyWorkload:
    """All recipes, served to one op. The default is the corrected op of this package.

    ``op``: what makes the operation under test, called with the labels and the options that are not the
    default. ``controls``, and the ``control_expects`` of a control: see the harness's ``Workload``.
    """

    op: OperationFactory = SoftMaxCrossEntropy
    recipes: tuple[Recipe, ...] = RECIPES
    name: str = "softmax_cross_entropy"
    summary: str = (
        "softmax cross-entropy, forward and backward, its loss left on the device (SINGA-502)"
    )
    controls: Mapping[str, SoftmaxCrossEntropyWorkload] = field(default_factory=dict)
    control_expects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def cases(self) -> tuple[SoftmaxCrossEntropyCase, ...]:
        """One case per recipe, in their order."""
        return tuple(
            (TimedSoftmaxCrossEntropyCase if recipe.timed else SoftmaxCrossEntropyCase)(
                recipe=recipe, op=self.op
            )
            for recipe in self.recipes
        )


def _dtype(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes  # noqa: F401 - importing it makes the name known to NumPy

    return np.dtype(name)


CONTROL = "pre-fix op (SINGA-502)"
"""The label of the op that must be caught in every run."""

PRE_FIX = SoftmaxCrossEntropyWorkload(
    op=HostRoundTripSoftMaxCrossEntropy,
    recipes=tuple(r for r in RECIPES if r.name in ("64x10-float32", "256x1000-float32")),
    name="pre_fix_softmax_cross_entropy",
    summary="the op as it was before SINGA-502 was fixed: it reads its loss back, and must fail",
    control_expects={
        # One float32 is read, which waits for the stream; the way back is a fill, not a copy.
        "forward": {"d2h": 1, "d2h_bytes": 4, "h2d": 0, "syncs": 1},
        "backward": {"d2h": 0, "h2d": 0, "syncs": 0},
    },
)

WORKLOAD = SoftmaxCrossEntropyWorkload(controls={CONTROL: PRE_FIX})

FUSED = SoftmaxCrossEntropyWorkload(
    op=FusedSoftMaxCrossEntropy,
    name="fused_softmax_cross_entropy",
    summary="the same by one fused kernel, which reads the logits once (extra: fast)",
    controls={CONTROL: PRE_FIX},
)
