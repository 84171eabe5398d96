"""Where a program's arrays live: the host, a simulated device, or a GPU."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.backend import Array, Namespace, is_host
from reference_impl.training.errors import InputError, UnavailableError

__all__ = ["Device", "counted_on_simulated", "device_named", "on_host"]

_SIMULATED = "harness.probes.simulated"
"""Found by name, as the harness finds workloads: neither package imports the other."""
_WHOLE = "install the whole distribution, ondevice-harness"


@dataclass(frozen=True, slots=True)
class Device:
    """The namespace of its arrays, how to copy a host array to it, and how to wait for it."""

    name: str
    xp: Namespace
    synchronize: Callable[[], object]

    def put(self, host: NDArray[Any]) -> Array:
        """A copy of ``host`` on this device."""
        return self.xp.array(host)

    def put_all(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Array]:
        """Copies by name."""
        return {name: self.put(array) for name, array in arrays.items()}


def device_named(name: str) -> Device:
    """``cpu``, ``simulated`` or ``cuda:N``.

    Raises ``InputError`` for any other name, ``UnavailableError`` where the device is not to be had.
    """
    if name == "cpu":
        return Device(name, np, _nothing_to_wait_for)
    if name == "simulated":
        found = _imported(_SIMULATED, _WHOLE)
        return Device(name, found.namespace, found.Stream.null.synchronize)
    gpu = re.fullmatch(r"cuda:(\d{1,3})", name)
    if gpu is None:
        raise InputError(f"--device {name!r} is none of cpu, simulated, cuda:0, cuda:1, ...")
    cupy = _imported("cupy", "install CuPy (extra cuda13 or cuda12), or use --device cpu")
    try:
        cupy.cuda.Device(int(gpu[1])).use()
    except RuntimeError as error:
        raise UnavailableError(f"--device {name}: {' '.join(str(error).split())}") from error
    return Device(name, cupy, lambda: cupy.cuda.Stream.null.synchronize())


def on_host(array: Array) -> NDArray[Any]:
    """A host copy of an array of any device."""
    host: NDArray[Any] = array.copy() if is_host(array) else array.get()
    return host


def counted_on_simulated(run: Callable[[], object]) -> tuple[int, int]:
    """Waits and copies to the host of ``run``, whose arrays are on the simulated device."""
    probe = _imported(_SIMULATED, _WHOLE).SimulatedProbe()
    with probe.record() as recording:
        run()
    counts = recording.trace().counts()
    return int(counts.syncs), int(counts.d2h)


def _nothing_to_wait_for() -> None:
    """The host is where it is done."""


def _imported(module: str, step: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UnavailableError(f"{module} does not import ({error}); {step}") from error
