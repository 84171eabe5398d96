"""Ops with exactly one planted defect each, every one of them a defect that some published op has had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reference_impl.autograd import Operation
from reference_impl.backend import namespace
from tests.seeded_regressions.twins import FLT_MIN, SingaTwin, Twin

__all__ = ["MUTANTS", "Mutant"]

Array = Any


class MaximumStartsAtZero(Twin):
    """A running maximum that starts at 0: a row far below 0 underflows to 0/0 (SINGA's CPU softmax)."""

    def row_maximum(self, x: Array) -> Array:
        return namespace(x).maximum(super().row_maximum(x), 0)


class NoMaximumSubtracted(Twin):
    """exp of the logits themselves overflows from 89 on (cuDNN's FAST softmax, in SINGA until PR #598)."""

    def row_maximum(self, x: Array) -> Array:
        return namespace(x).zeros((x.shape[0], 1), dtype=x.dtype)


class ClassZeroSkipped(Twin):
    """Rows of class 0 have neither loss nor gradient (SINGA's OpenCL kernels return early there)."""

    def target(self, x: Array) -> Array:
        return super().target(x) * (namespace(x).arange(x.shape[1]) != 0)


class UpstreamGradientDropped(Twin):
    """The gradient of the loss is taken for 1 (SINGA in all versions; Paddle#5395)."""

    def per_row(self, dy: Array) -> Array:
        return super().per_row(1.0)


class MeanOverAllEntries(Twin):
    """The mean divides by N * C."""

    def mean(self, losses: Array, x: Array) -> Array:
        return super().mean(losses, x) / x.shape[1]


class GradientNotDivided(Twin):
    """The gradient is that of the sum, the loss that of the mean (SINGA's C++ layer)."""

    def per_row(self, dy: Array) -> Array:
        return dy


class FloatLabelsReadAsBits(Twin):
    """Soft labels read as the integers that have their bits (SINGA casts any label block to int*)."""

    def rows(self, x: Array) -> Array:
        counts = self.labels.view(np.int32).astype(x.dtype)
        return counts / counts.sum(axis=1, keepdims=True)


class IdsWheneverOnePerRow(Twin):
    """As many labels as rows are taken for ids, so that with one class one-hot rows are (SINGA)."""

    def are_ids(self, x: Array) -> bool:
        return bool(self.labels.size == x.shape[0])


class HostScalarRead(Twin):
    """The sum goes to the host for its division and back (SINGA-502 itself)."""

    def mean(self, losses: Array, x: Array) -> Array:
        return namespace(x).full((), float(losses.sum()) / x.shape[0], dtype=x.dtype)


class LossMadeOnTheHost(Twin):
    """The loss is created in host memory (SINGA's CrossEntropy before PR #577)."""

    def mean(self, losses: Array, x: Array) -> Array:
        return np.asarray(float(losses.sum()) / x.shape[0], dtype=x.dtype)


class SavedProbabilitiesChanged(Twin):
    """Backward subtracts the target from what forward saved (SINGA's MeanSquareError; unsloth#5002)."""

    def difference(self, p: Array, target: Array) -> Array:
        p -= target
        return p


class SynchronizesPerCall(Twin):
    """A profiler's wait for the stream, left in (SINGA-510)."""

    def reduced(self, losses: Array, x: Array) -> Array:
        cuda = getattr(namespace(x), "cuda", None)
        if cuda is not None:
            cuda.get_current_stream().synchronize()
        return super().reduced(losses, x)


class ClampMissing(SingaTwin):
    """A probability of 0 goes into the logarithm."""

    def clamped(self, p: Array) -> Array:
        return p


class ClampNegative(SingaTwin):
    """Probabilities are kept above -FLT_MIN, which is no clamp (SINGA's OpenCL kernels)."""

    def clamped(self, p: Array) -> Array:
        return namespace(p).maximum(p, -FLT_MIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """``op`` fails ``check``, the check meant for its defect, on ``case``; ``also`` names others that fail with it."""

    op: type[Operation]
    twin: type[Operation]
    case: str
    check: str
    also: frozenset[str] = frozenset()

    @property
    def failing(self) -> frozenset[str]:
        """All checks that fail; every other must pass."""
        return self.also | {self.check}


def _mutant(op: type[Operation], case: str, check: str, *also: str) -> Mutant:
    twin = next(base for base in op.__mro__ if base in (Twin, SingaTwin))
    return Mutant(op=op, twin=twin, case=case, check=check, also=frozenset(also))


MUTANTS = (
    _mutant(MaximumStartsAtZero, "extreme-float32", "values"),
    _mutant(NoMaximumSubtracted, "extreme-float32", "values"),
    _mutant(ClassZeroSkipped, "64x10-float32", "values", "gradients"),
    _mutant(ClassZeroSkipped, "ids-first-class", "values", "gradients"),
    _mutant(UpstreamGradientDropped, "dy-2", "values"),
    _mutant(MeanOverAllEntries, "64x10-float32", "values"),
    _mutant(GradientNotDivided, "64x10-float32", "gradients", "values"),
    _mutant(FloatLabelsReadAsBits, "soft-float32", "values", "gradients"),
    _mutant(IdsWheneverOnePerRow, "single-class-one-hot", "values", "gradients"),
    _mutant(HostScalarRead, "64x10-float32", "traffic"),
    _mutant(LossMadeOnTheHost, "64x10-float32", "placement", "traffic"),
    _mutant(SavedProbabilitiesChanged, "backward-twice", "values"),
    _mutant(SynchronizesPerCall, "64x10-float32", "traffic"),
    _mutant(ClampMissing, "singa-saturated", "values"),
    _mutant(ClampNegative, "singa-saturated", "values"),
)
"""One line per defect and case: what is planted, where it shows, and the check that must fail."""
