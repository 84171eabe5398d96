"""Workloads of the example reports: an op nobody models, and a normalisation in two versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = Mapping[str, Any]

EXTRA_PASSES = 0
"""The slower version of the comparison has one here."""


@dataclass(frozen=True, kw_only=True)
class RowCase:
    """An op on the rows of a matrix of ``shape``; ``kind`` says which."""

    kind: str
    shape: tuple[int, int]
    timed: bool = True
    gradients: Mapping[str, str] = field(default_factory=dict)
    loss: str | None = None
    budget: Mapping[str, Mapping[str, object]] = field(
        default_factory=lambda: {
            "run": {"d2h": 0, "syncs": 0, "because": "rows stay on the device"}
        }
    )

    @property
    def name(self) -> str:
        """Shape and dtype."""
        rows, columns = self.shape
        return f"{rows}x{columns}-float32"

    @property
    def parameters(self) -> Arrays:
        """What the case is."""
        return {"shape": "x".join(map(str, self.shape)), "dtype": "float32"}

    @property
    def throughput(self) -> tuple[str, float, int]:
        """Rows, each read once and written once."""
        return "rows", float(self.shape[0]), 8 * self.shape[0] * self.shape[1]

    @property
    def tolerances(self) -> Mapping[str, Mapping[str, object]]:
        """Of float32 over a row."""
        return {"rows": {"dtype": "float32", "reduction_length": self.shape[1], "scale": 8.0}}

    def inputs(self, seed: int) -> Arrays:
        """Standard normal numbers."""
        rng = np.random.default_rng(seed)
        return {"values": rng.standard_normal(self.shape).astype(np.float32)}

    def run(self, inputs: Arrays, region: Any) -> Arrays:
        """The op on the device of its input."""
        values = inputs["values"]
        with region("forward"):
            if self.kind == "smoothed":
                xp = values.__array_namespace__()
                return {
                    "rows": xp.fft.irfft(xp.fft.rfft(values, axis=1), axis=1).astype(values.dtype)
                }
            for _ in range(EXTRA_PASSES):
                values = values * np.float32(1)
            centred = values - values.mean(axis=1, keepdims=True)
            return {
                "rows": centred / ((centred * centred).mean(axis=1, keepdims=True) + 1e-5) ** 0.5
            }

    def expected(self, inputs: Arrays) -> Arrays:
        """The same in float64."""
        values = np.asarray(inputs["values"], np.float64)
        if self.kind == "smoothed":
            return {"rows": values}
        centred = values - values.mean(axis=1, keepdims=True)
        return {"rows": centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)}


@dataclass(frozen=True)
class Rows:
    """The cases of one kind."""

    name: str
    summary: str

    def cases(self) -> tuple[RowCase, ...]:
        """Two sizes."""
        return tuple(RowCase(kind=self.name, shape=shape) for shape in ((256, 512), (2048, 1024)))


SMOOTHED = Rows("smoothed", "rows through a transform that the simulated device does not model")
NORMALISED = Rows("normalised", "rows with mean 0 and variance 1")
