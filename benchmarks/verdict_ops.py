"""Ops whose speed is judged, and extra work that makes them slower by a known share, as a workload.

Copied into a repository of its own for every decision, beside ``extra_work.py``, which differs between its commit and
its working tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
from extra_work import EXTRA, EXTRA_ROWS

Arrays = Mapping[str, Any]

STEP = "100-softmax-32x1000"
LARGE = "softmax-4096x1000"
OPS = (STEP, LARGE, "softmax-256x1000", "norm-4096x1024")
"""About 6, 8, 0.4 and 15 ms. The last asks the operating system for fresh pages in every call, which makes it noisy."""

SLOWED = (STEP, LARGE)


@dataclass(frozen=True, kw_only=True)
class OpCase:
    """An op, and the extra work of this tree once more.

    The step makes more calls of the same size, nearly the share: what is called again finds more in the cache. The
    large op makes a second call on some of its rows, as ``verdict_calibration`` finds. More rows in one call would be
    another shape: its buffers lie elsewhere, and the time is not the share of rows.
    """

    name: str
    timed: bool = True
    budget: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    gradients: Mapping[str, str] = field(default_factory=dict)
    loss: str | None = None

    @property
    def parameters(self) -> Mapping[str, str]:
        """The op: extra work is what the comparison has to find."""
        return {"op": self.name}

    @property
    def tolerances(self) -> Mapping[str, Mapping[str, object]]:
        """Of float32; a row of normal numbers is normalised to at most some five."""
        return {"output": {"dtype": "float32", "reduction_length": 1024, "scale": 8.0}}

    @property
    def throughput(self) -> tuple[str, float, int]:
        """Samples, and the logits read and their gradient written."""
        rows, classes = self._shape
        return "samples", float(self._calls * rows), 8 * self._calls * rows * classes

    def inputs(self, seed: int) -> Arrays:
        """``values`` (N, C) and ``labels`` (N,)."""
        rng = np.random.default_rng(seed)
        rows, classes = self._shape
        values = rng.standard_normal((rows, classes)).astype(np.float32)
        return {"values": values, "labels": rng.integers(0, classes, rows)}

    def run(self, inputs: Arrays, region: Any) -> Arrays:
        """The extra work, and the op."""
        values, labels = inputs["values"], inputs["labels"]
        with region("forward"):
            if self.name == STEP:
                for _ in repeat(None, round(self._calls * (1 + EXTRA)) - 1):
                    _softmax(values, labels)
            return {"output": self.work(values, labels, more=EXTRA_ROWS)}

    def work(self, values: Any, labels: Any, *, more: int) -> Any:
        """One call, and a second on ``more`` of the rows before it."""
        run = _softmax if "softmax" in self.name else _norm
        if more:
            run(values[:more], labels[:more])
        return run(values, labels)

    def expected(self, inputs: Arrays) -> Arrays:
        """The softmax's gradient, or the normalised rows, in float64."""
        values, labels = np.asarray(inputs["values"], np.float64), inputs["labels"]
        run = _softmax if "softmax" in self.name else _norm
        return {"output": run(values, labels)}

    @property
    def _calls(self) -> int:
        return 100 if self.name == STEP else 1

    @property
    def _shape(self) -> tuple[int, int]:
        rows, classes = self.name.rpartition("-")[2].split("x")
        return int(rows), int(classes)


@dataclass(frozen=True)
class Ops:
    """Every op."""

    name: str = "verdict_ops"
    summary: str = "ops whose speed is judged, with known extra work"

    def cases(self) -> tuple[OpCase, ...]:
        """In their order."""
        return tuple(OpCase(name=op) for op in OPS)


def _softmax(logits: Any, labels: Any) -> Any:
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted, out=shifted)
    totals = exponentials.sum(axis=1, keepdims=True)
    gradient = exponentials / totals
    gradient[np.arange(len(labels)), labels] -= 1
    return gradient


def _norm(values: Any, _labels: Any) -> Any:
    centred = values - values.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * 1.5 + 0.5


WORKLOAD = Ops()
