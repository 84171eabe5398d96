"""The simulated device: true values, every crossing of its boundary counted, no GPU needed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from harness.devices.base import GpuIdentity, Plant
from harness.devices.host_copy import host_copier
from harness.devices.host_layout import change_host_layout
from harness.model.budget import Quantity
from harness.probes.base import Probe, Witness
from harness.probes.simulated import DeviceArray, SimulatedProbe, Stream
from harness.probes.simulated import namespace as xp
from harness.timers.base import Timer
from harness.timers.host import HostTimer

__all__ = ["SimulatedDevice"]


class SimulatedDevice:
    """NumPy-backed device arrays that follow CuPy's rules about what copies and what waits."""

    name = "simulated"
    is_host = False
    namespace: Any = xp
    identity: GpuIdentity | None = None
    witness: Witness | None = None
    notes: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.probe: Probe | None = SimulatedProbe()

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        """A device array of the same shape, dtype and order."""
        return xp.asarray(array)

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """A host copy; ``TypeError`` for anything that is not on this device."""
        if not self.owns(array):
            raise TypeError(f"expected a simulated device array, got {type(array).__name__}")
        host: np.ndarray[Any, Any] = array.get()
        return host

    def owns(self, value: object) -> bool:
        """Whether ``value`` is an array in simulated device memory."""
        return isinstance(value, DeviceArray)

    def synchronize(self) -> None:
        """Wait for the null stream, where all simulated work is already done."""
        Stream.null.synchronize()

    def timer(self) -> Timer:
        """The host's clock; the time it shows is the simulation's, and says nothing about a GPU."""
        return HostTimer()

    def change_layout(self, chance: random.Random) -> object:
        """Keep blocks of random size alive: simulated memory is host memory."""
        return change_host_layout(chance)

    def copier(self, size_bytes: int) -> Callable[[], object]:
        """A copy on the host: simulated memory is host memory."""
        return host_copier(size_bytes)

    def plants(self) -> tuple[Plant, ...]:
        """One float32 read, one stream wait, one read into pageable memory that only looks asynchronous."""
        source = xp.zeros(1, dtype=np.float32)
        pageable = np.zeros(1, dtype=np.float32)
        size_bytes = source.nbytes
        return (
            Plant(
                "a D2H copy",
                lambda: source.get(),
                {Quantity.D2H: 1, Quantity.D2H_BYTES: size_bytes, Quantity.SYNCS: 1},
            ),
            Plant(
                "a stream synchronize",
                Stream.null.synchronize,
                {Quantity.D2H: 0, Quantity.SYNCS: 1},
            ),
            Plant(
                "a pageable async copy",
                lambda: source.get(out=pageable, blocking=False),
                {Quantity.D2H: 1, Quantity.BLOCKING_COPIES: 1, Quantity.SYNCS: 0},
            ),
        )
