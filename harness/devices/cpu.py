"""Plain NumPy: values and timing. There is no boundary here, so nothing can be said about traffic."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from harness.devices.base import GpuIdentity, Plant
from harness.devices.host_copy import host_copier
from harness.devices.host_layout import change_host_layout
from harness.probes.base import Probe, Witness
from harness.timers.base import Timer
from harness.timers.host import HostTimer

__all__ = ["CpuDevice"]


class CpuDevice:
    """The host itself."""

    name = "cpu"
    probe: Probe | None = None
    is_host = True
    namespace: Any = np
    identity: GpuIdentity | None = None
    witness: Witness | None = None
    notes: tuple[str, ...] = ()

    def to_device(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A copy, so that a workload cannot change the inputs it will be judged by."""
        return array.copy(order="K")

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """The array itself, a scalar as an array of no dimensions."""
        if not self.owns(array):
            raise TypeError(f"expected a NumPy array, got {type(array).__name__}")
        return np.asarray(array)

    def owns(self, value: object) -> bool:
        """Whether ``value`` is a NumPy array or a NumPy scalar, which NumPy returns for zero dimensions."""
        return isinstance(value, np.ndarray | np.generic)

    def synchronize(self) -> None:
        """Nothing runs behind the host's back."""

    def timer(self) -> Timer:
        """The host's monotonic clock."""
        return HostTimer()

    def change_layout(self, chance: random.Random) -> object:
        """Keep blocks of random size alive."""
        return change_host_layout(chance)

    def copier(self, size_bytes: int) -> Callable[[], object]:
        """A copy by NumPy, on one thread."""
        return host_copier(size_bytes)

    def plants(self) -> tuple[Plant, ...]:
        """No boundary, no traffic to plant."""
        return ()
