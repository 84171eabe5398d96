"""The defect of SINGA-502: the loss goes to the host and back on its way to the mean."""

from __future__ import annotations

import math

import numpy as np

from reference_impl.backend import Array, namespace
from reference_impl.ops.softmax_cross_entropy import SoftMaxCrossEntropy
from reference_impl.tensor import Tensor

__all__ = ["HostRoundTripSoftMaxCrossEntropy", "host_round_trip_softmax_cross_entropy"]


class HostRoundTripSoftMaxCrossEntropy(SoftMaxCrossEntropy):
    """The mean ``SoftMaxCrossEntropy`` as SINGA computed it before the fix of SINGA-502.

    Each forward on a device costs one device-to-host copy of 4 bytes and one wait for the stream. The way
    back is a fill: the value travels as an argument of the kernel, so no host-to-device copy is seen. The
    loss differs from the corrected one by at most 2 units in the last place of float32. It exists to be
    caught: a check that passes it is broken.
    """

    def __init__(self, t: Tensor | Array) -> None:
        super().__init__(t)

    def _reduced(self, losses: Array, count: Array | int) -> Array:
        total = losses.sum(dtype=np.float32, keepdims=True).reshape(())
        mean = float(total) / count if count else math.nan
        return namespace(losses).full((), mean, dtype=losses.dtype)


def host_round_trip_softmax_cross_entropy(x: Tensor, t: Tensor | Array) -> Tensor:
    """The mean softmax cross-entropy, by way of the host; see ``HostRoundTripSoftMaxCrossEntropy``."""
    return HostRoundTripSoftMaxCrossEntropy(t)(x)[0]
