"""What stands in for the CUDA kernels in a dry run: the oracle behind the kernels' own signatures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import create_autospec

import numpy as np
from numpy.typing import NDArray

from harness.probes.simulated import launch
from reference_impl.kernels import cuda as real
from reference_impl.kernels.complaint import complain, raise_if_complained
from reference_impl.kernels.planner import DeviceLimits
from reference_impl.kernels.task import COMPLAINT
from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy

__all__ = ["scripted_kernels"]


class _Workspace:
    """As ``cuda.Workspace``, all of it on the host."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.complaint: NDArray[Any] = np.zeros(1, COMPLAINT)

    def check(self, *, classes: int) -> None:
        """As ``cuda.Workspace.check``."""
        raise_if_complained(self.complaint, classes=classes)


def scripted_kernels() -> Any:
    """An object with the names of ``reference_impl.kernels.cuda``; calls that do not fit them are refused."""
    return SimpleNamespace(
        Workspace=_Workspace,
        takes=real.takes,
        limits_of=create_autospec(real.limits_of, side_effect=_limits_of),
        forward_backward=create_autospec(real.forward_backward, side_effect=_forward_backward),
        scale_gradient=create_autospec(real.scale_gradient, side_effect=_scale_gradient),
    )


def _limits_of(device: int) -> DeviceLimits:
    return DeviceLimits(
        compute_capability=(9, 0), shared_memory_bytes=227 * 1024, l2_bytes=50 << 20
    )


def _forward_backward(
    logits: Any,
    labels: Any,
    *,
    workspace: _Workspace,
    loss_out: Any,
    gradient_out: Any | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    expected_dy: float = 1.0,
) -> None:
    if not real.takes(logits, labels):
        raise TypeError(f"no fused kernel for logits {logits.dtype} {logits.shape}")

    def kernel(x: Any, t: Any, loss: Any, *gradient: Any) -> None:
        ids = t.reshape(-1)
        bad = ((ids < 0) | (ids >= x.shape[1])) & (ids != ignore_index)
        truth = softmax_cross_entropy(
            x,
            np.where(bad, 0, ids).astype(np.int64),
            reduction=reduction,
            ignore_index=ignore_index,
            dy=np.full(len(ids), expected_dy) if reduction == "none" else expected_dy,
        )
        loss[...] = np.where(bad, np.nan, truth.loss) if reduction == "none" else truth.loss
        for out in gradient:
            out[...] = np.where(bad[:, None], np.nan, truth.gradient)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            complain(workspace.complaint, row=row, label=int(ids[row]))

    outputs = () if gradient_out is None else (gradient_out,)
    launch(kernel, logits, labels, loss_out, *outputs, name="rows_in_registers")


def _scale_gradient(gradient: Any, dy: Any, *, expected_dy: float = 1.0) -> None:
    def kernel(values: Any, factors: Any) -> None:
        factor = np.asarray(factors, np.float64).reshape(-1, 1) / expected_dy
        values[...] = np.where(values == 0, 0, values * factor)

    launch(kernel, gradient, dy, name="scale_gradient")
