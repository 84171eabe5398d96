"""SINGA's cross-entropy as a workload: rows whose loss SINGA lets stop at 87.33655."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference_impl.autograd import Operation, training
from reference_impl.oracle.singa_softmax_cross_entropy import singa_softmax_cross_entropy
from reference_impl.tensor import Tensor

__all__ = ["SingaCase", "SingaWorkload"]

ROWS, CLASSES = 16, 5


@dataclass(frozen=True, kw_only=True)
class SingaCase:
    """Spreads of 60 to 210, so that the probability of the label is normal, subnormal or 0."""

    op: Callable[..., Operation]
    name: str = "singa-saturated"
    timed: bool = False
    loss: str | None = None
    throughput: tuple[str, float, int] = ("samples", float(ROWS), 2 * 4 * ROWS * CLASSES)

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"shape": f"{ROWS}x{CLASSES}", "dtype": "float32", "labels": "int32 ids"}

    @property
    def gradients(self) -> Mapping[str, str]:
        return {}  # SINGA's gradient is not the slope of its clamped loss

    @property
    def budget(self) -> Mapping[str, Mapping[str, object]]:
        return {"run": {"d2h": 0, "h2d": 0, "syncs": 0, "because": "as in the corrected op"}}

    @property
    def tolerances(self) -> Mapping[str, Mapping[str, object]]:
        entry = {"dtype": "float32", "reduction_length": CLASSES}
        return {"loss": entry, "gradient": {**entry, "scale": 1 / ROWS}}

    def inputs(self, seed: int) -> Mapping[str, Any]:
        rng = np.random.default_rng(seed)
        logits = rng.standard_normal((ROWS, CLASSES))
        logits[:, 0] += np.arange(ROWS) * 10.0 + 60.0
        return {
            "logits": logits.astype(np.float32),
            "labels": rng.integers(1, CLASSES, size=ROWS).astype(np.int32),
        }

    def run(
        self, inputs: Mapping[str, Any], region: Callable[[str], AbstractContextManager[None]]
    ) -> Mapping[str, Any]:
        with training(), region("forward"):
            operation = self.op(inputs["labels"])
            (loss,) = operation(Tensor(inputs["logits"]))
        with region("backward"):
            gradient = operation.backward(1.0)
        return {"loss": loss.data, "gradient": gradient}

    def expected(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        truth = singa_softmax_cross_entropy(inputs["logits"], inputs["labels"])
        return {"loss": np.array([truth.loss]), "gradient": truth.gradient}


@dataclass(frozen=True, kw_only=True)
class SingaWorkload:
    """The one case, served to one op."""

    op: Callable[..., Operation]
    name: str = "singa_softmax_cross_entropy"
    summary: str = "softmax cross-entropy as SINGA computes it"

    def cases(self) -> tuple[SingaCase, ...]:
        return (SingaCase(op=self.op),)
