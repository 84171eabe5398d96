"""The matrix product of a timed run's device: the roof of what computes more than it moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.benchmark.matmul import measure_matmul
from harness.devices.base import Device
from harness.devices.cuda_faults import DeviceFaultError
from harness.errors import UnavailableError, WorkloadError
from harness.model.conditions import MatmulRate
from harness.session.foreign import foreign

__all__ = ["MatmulMeter"]

_TILE = 256
"""Rows of random numbers that a matrix is tiled with: making 4,096 rows of them on the host takes 0.2 s."""


class MatmulMeter:
    """Times the matrix product of one device, once; what hinders it is kept as a sentence.

    The product is that of the device's own namespace, with the threads this process gives it: on the host as many as
    NumPy's BLAS takes, which an op under test that multiplies matrices gets too. A roof of one thread would be one
    that such an op rises above.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.result: MatmulRate | None = None
        self.problem = ""

    def measure(self) -> None:
        """Multiply for 0.25 s at most, the first time only; nothing here fails a run."""
        if self.problem or self.result is not None:
            return
        device = self._device
        try:
            with foreign(f"multiplying matrices on {device.name}"):
                speed = measure_matmul(_maker(device), timer=device.timer())
        except (DeviceFaultError, MemoryError, UnavailableError, WorkloadError) as error:
            self.problem = f"the matrix product of {device.name} was not timed: {error}"
            return
        self.result = MatmulRate(
            device=device.name,
            dtype="float32",
            size=speed.size,
            flops_per_second=speed.flops_per_second,
        )


def _maker(device: Device) -> Callable[[int], Callable[[], object]]:
    xp = device.namespace
    tile = device.to_device(
        np.random.default_rng(0).standard_normal((_TILE, _TILE), dtype=np.float32)
    )

    def make(size: int) -> Callable[[], object]:
        repeats = (size // _TILE, size // _TILE)
        left: Any = xp.tile(tile, repeats)
        right, product = left.copy(), xp.empty((size, size), dtype=np.float32)
        return lambda: xp.matmul(left, right, out=product)

    return make
