"""Softmax cross-entropy that reads its logits once: loss and gradient come out of one kernel."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.backend import Array, accumulation_dtype, is_host, namespace
from reference_impl.kernels import fused_cpu
from reference_impl.kernels.complaint import raise_if_complained
from reference_impl.kernels.task import COMPLAINT
from reference_impl.ops.softmax_cross_entropy import Reduction, SoftMaxCrossEntropy
from reference_impl.tensor import Tensor

__all__ = ["FusedSoftMaxCrossEntropy", "fused_softmax_cross_entropy"]

_LEAST_BYTES = 4
"""Of a logit, see ``FusedSoftMaxCrossEntropy``."""


class FusedSoftMaxCrossEntropy(SoftMaxCrossEntropy):
    """``SoftMaxCrossEntropy`` by a fused kernel where there is one for its arrays, else as its parent does it.

    There is one for C-ordered float32 and float64 logits with class ids, without weights and smoothing. Logits
    of 16 bits are left to the parent: a gradient rounded in forward and again when multiplied by dy would be
    rounded once too often. CUDA C++ on a GPU, numba
    (extra ``fast``) on the host, and the latter as one launch on a simulated device. It moves 8 bytes per
    float32 logit for forward and backward together, the least there is: the gradient is formed in forward, and
    ``backward`` hands it over, multiplied by ``dy``. A second ``backward`` has to read the logits again.

    On the host a bad label raises at once. On a device it makes its row NaN and is noted in host memory the
    device can write; ``check``, or on a GPU the next call, raises it without a copy or a wait.
    """

    def forward(self, x: Array) -> Array:
        """The loss of logits ``x`` (N, C), and its gradient kept."""
        self._kernel = self._kernel_for(x)
        if self._kernel is None:
            return super().forward(x)
        rows = x.shape[0]
        xp = namespace(x, self._labels)
        shape = (rows,) if self._reduction is Reduction.NONE else ()
        loss = xp.empty(shape, dtype=accumulation_dtype(x.dtype))
        self._gradient = xp.empty(x.shape, dtype=x.dtype) if self.recording else None
        self._run(x, loss)
        if self.recording:
            self._logits = x
        return loss

    def backward(self, dy: Array | float) -> Array:
        """The gradient formed in forward, times ``dy``."""
        if self._kernel is None:
            return super().backward(dy)
        if self._gradient is None:
            xp = namespace(self._logits)
            self._gradient = xp.empty(self._logits.shape, dtype=self._logits.dtype)
            spare = xp.empty(self._loss_shape, dtype=accumulation_dtype(self._logits.dtype))
            self._run(self._logits, spare)
        gradient, self._gradient = self._gradient, None
        self._kernel.scale(gradient, dy)
        return gradient

    def check(self) -> None:
        """Raise ``ValueError`` naming row and label if a finished launch met a label out of range."""
        if self._kernel is not None:
            self._kernel.check()

    @property
    def p(self) -> Array:
        """The probabilities (N, C) of a recorded call, computed anew from the logits at each use."""
        if self._kernel is None:
            return super().p
        plain = SoftMaxCrossEntropy(self._labels)
        plain.recording = True
        plain.forward(self._logits)
        return plain.p

    @property
    def _loss_shape(self) -> tuple[int, ...]:
        return (self._logits.shape[0],) if self._reduction is Reduction.NONE else ()

    def _run(self, x: Array, loss: Array) -> None:
        assert self._kernel is not None
        self._kernel.run(
            x,
            self._labels,
            loss_out=loss,
            gradient_out=self._gradient,
            reduction=str(self._reduction),
            ignore_index=self._ignore_index,
        )

    def _kernel_for(self, x: Array) -> _Kernel | None:
        plain = self._weight is not None or self._smoothing > 0.0
        # Integers (N, 1) for one class may be counts, which no kernel reads.
        if plain or x.ndim != 2 or x.shape[1] == 1 or x.dtype.itemsize < _LEAST_BYTES:
            return None
        xp = namespace(x, self._labels)
        if is_host(x):
            fits = fused_cpu.takes(x, self._labels) and fused_cpu.is_available()
            return _HostKernel() if fits else None
        if hasattr(xp, "launch"):
            return _SimulatedKernel(xp) if _SimulatedKernel.takes(x, self._labels) else None
        return _CudaKernel.of(x, self._labels)


def fused_softmax_cross_entropy(
    x: Tensor,
    t: Tensor | Array,
    *,
    reduction: Reduction | str = Reduction.MEAN,
    ignore_index: int | None = None,
) -> Tensor:
    """The cross-entropy between ids ``t`` and the softmax of ``x``; see ``FusedSoftMaxCrossEntropy``."""
    return FusedSoftMaxCrossEntropy(t, reduction=reduction, ignore_index=ignore_index)(x)[0]


class _Kernel:
    """One fused implementation: its launch, the scaling by dy, and the look at what went wrong."""

    def run(self, x: Array, labels: Array, **options: Any) -> None:
        """Write loss and gradient."""
        raise NotImplementedError

    def scale(self, gradient: Array, dy: Array | float) -> None:
        """Multiply ``gradient`` in place by ``dy``."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise for a bad label that has been noted."""
        raise NotImplementedError


class _HostKernel(_Kernel):
    def __init__(self) -> None:
        self._complaint: NDArray[Any] = np.zeros(1, COMPLAINT)

    def run(self, x: Array, labels: Array, **options: Any) -> None:
        self._classes = x.shape[1]
        fused_cpu.forward_backward(x, labels, complaint_out=self._complaint, **options)
        self.check()

    def scale(self, gradient: Array, dy: Array | float) -> None:
        fused_cpu.scale_gradient(gradient, dy)

    def check(self) -> None:
        raise_if_complained(self._complaint, classes=self._classes)


class _SimulatedKernel(_Kernel):
    """The host's loops over the memory of a simulated device, as one launch each."""

    def __init__(self, xp: Any) -> None:
        self._launch = xp.launch
        self._complaint: NDArray[Any] = np.zeros(1, COMPLAINT)

    @staticmethod
    def takes(x: Array, labels: Array) -> bool:
        """As ``fused_cpu.takes``, from what a device array says of itself on the host."""
        stand_ins = [
            np.lib.stride_tricks.as_strided(np.empty(1, each.dtype), each.shape, each.strides)
            for each in (x, labels)
        ]
        return fused_cpu.takes(*stand_ins) and fused_cpu.is_available()

    def run(self, x: Array, labels: Array, **options: Any) -> None:
        self._classes = x.shape[1]
        kernel = partial(fused_cpu.forward_backward, complaint_out=self._complaint)
        self._launch(kernel, x, labels, name="softmax_cross_entropy_fused", **options)

    def scale(self, gradient: Array, dy: Array | float) -> None:
        self._launch(fused_cpu.scale_gradient, gradient, dy, name="scale_gradient")

    def check(self) -> None:
        raise_if_complained(self._complaint, classes=self._classes)


class _CudaKernel(_Kernel):
    """The CUDA C++ kernels through CuPy; their workspaces are kept, since to pin host memory may stop the device."""

    def __init__(self, held: _Held) -> None:
        self._held = held

    @classmethod
    def of(cls, x: Array, labels: Array) -> _CudaKernel | None:
        """``None`` for arrays that no kernel is written for."""
        from reference_impl.kernels import (
            cuda,  # imports CuPy when used, which a device array means
        )

        if not cuda.takes(x, labels):
            return None
        stream = namespace(x).cuda.get_current_stream().ptr
        return cls(_held(x.device.id, stream, 1 << max(0, x.shape[0] - 1).bit_length()))

    def run(self, x: Array, labels: Array, **options: Any) -> None:
        from reference_impl.kernels import cuda

        self.check()
        self._held.classes = x.shape[1]
        cuda.forward_backward(x, labels, workspace=self._held.workspace, **options)

    def scale(self, gradient: Array, dy: Array | float) -> None:
        from reference_impl.kernels import cuda

        if isinstance(dy, int | float):
            if dy == 1:
                return
            dy = namespace(gradient).full(1, dy, dtype=accumulation_dtype(gradient.dtype))
        cuda.scale_gradient(gradient, dy.astype(accumulation_dtype(gradient.dtype), copy=False))

    def check(self) -> None:
        self._held.workspace.check(classes=self._held.classes)


class _Held:
    """A workspace, and the number of classes of its last launch, for the message of a bad label."""

    def __init__(self, workspace: Any) -> None:
        self.workspace = workspace
        self.classes = 0


@cache
def _held(device: int, stream: int, rows: int) -> _Held:
    from reference_impl.kernels import cuda

    return _Held(cuda.Workspace(rows))
