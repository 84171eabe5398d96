"""The seam between the harness and the places where arrays live."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from harness.model.budget import Quantity
from harness.probes.base import Probe, Witness
from harness.timers.base import Timer

__all__ = ["Device", "GpuIdentity", "Plant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuIdentity:
    """What CUDA says a GPU is; name and UUID are those of its MIG instance where the program sees only one.

    ``uuid`` is 32 hexadecimal digits, empty where it cannot be told.
    """

    index: int
    name: str
    compute_capability: str
    pci_bus_id: str
    uuid: str
    cuda_runtime: str


@dataclass(frozen=True, slots=True)
class Plant:
    """An action that must be seen by any probe worth trusting, and exactly what it must look like."""

    name: str
    action: Callable[[], None]
    expected: Mapping[Quantity, int]


class Device(Protocol):
    """Where the arrays of a workload live.

    ``probe`` is ``None`` where there is no boundary to watch. All methods may be called any number of
    times, in any order, from the thread that runs the workload.
    """

    @property
    def name(self) -> str:
        """As given on the command line: ``"cpu"``, ``"simulated"``, ``"cuda:0"``."""
        ...

    @property
    def probe(self) -> Probe | None:
        """What watches this device's boundary."""
        ...

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        """A copy of a host array in this device's memory, same shape, dtype and memory order."""
        ...

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """A host copy of an array of this device; ``TypeError`` for anything else."""
        ...

    def owns(self, value: object) -> bool:
        """Whether ``value`` is an array in this device's memory."""
        ...

    def synchronize(self) -> None:
        """Wait until all work given to the device is done."""
        ...

    @property
    def witness(self) -> Witness | None:
        """A second view of a call beside the probe, where there is one."""
        ...

    @property
    def namespace(self) -> Any:
        """The module of this device's array functions: ``numpy``, ``cupy`` or what stands for it."""
        ...

    @property
    def is_host(self) -> bool:
        """Whether this device's arrays are host memory, so that plain NumPy code runs on them."""
        ...

    @property
    def identity(self) -> GpuIdentity | None:
        """What the GPU is; ``None`` where there is none."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of this device's results should know, one sentence each."""
        ...

    def timer(self) -> Timer:
        """A clock that counts the work of one case on this device."""
        ...

    def change_layout(self, chance: random.Random) -> object:
        """Make the buffers allocated next land elsewhere while what is returned is kept alive."""
        ...

    def copier(self, size_bytes: int) -> Callable[[], object]:
        """What copies so many bytes from one place in this device's memory to another when called."""
        ...

    def plants(self) -> tuple[Plant, ...]:
        """The positive controls of this device's probe: a D2H copy, a wait, a pageable "async" copy."""
        ...
