"""A CUDA GPU through CuPy."""

from __future__ import annotations

import ctypes
import importlib
import os
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from harness.devices.base import GpuIdentity, Plant
from harness.devices.cuda_faults import DeviceFaultError, FaultKind, fault_of
from harness.devices.cuda_requirements import (
    Surroundings,
    require_cupy,
    ump_enabled,
    unavailable,
)
from harness.errors import UnavailableError
from harness.model.budget import Quantity
from harness.probes.base import Probe, Witness
from harness.timers.cuda_event import CudaEventTimer
from harness.units import bytes_text

__all__ = ["CudaDevice", "cupti_probe", "gpu_identity"]

_LAYOUT_BLOCKS = 3
_LAYOUT_BYTES = (1 << 20, 4 << 20)
"""As on the host (harness/benchmark/interleave.py): blocks of random size move what is allocated next. How
much placement matters on a GPU has not been measured."""

_UUID_BYTES = 16


def _import_cupy() -> Any:
    import cupy  # the one heavy import, only when a GPU is asked for

    return cupy


def gpu_identity(index: int, import_cupy: Callable[[], Any] = _import_cupy) -> GpuIdentity:
    """What GPU ``index`` is, as CUDA says it; raises CuPy's errors where there is none."""
    return _identity(import_cupy(), index)


def cupti_probe() -> Probe:
    """The probe of a real GPU; ``UnavailableError`` where CUPTI's Python package is missing."""
    module = importlib.import_module("harness.probes.cupti")
    probe: Probe = module.CuptiProbe()
    return probe


def capture_witness(cupy: Any) -> Witness:
    """The capture of this CuPy's streams; ``UnavailableError`` where their graphs cannot be read."""
    from harness.probes.capture import CaptureProbe

    return CaptureProbe(cupy=cupy)


class CudaDevice:
    """One GPU, its arrays those of ``import cupy``.

    Making one checks everything a run needs and raises ``UnavailableError`` with one line about the first
    thing missing. The GPU then is the calling thread's current device, and again after each ``to_device``.
    What CUDA itself refuses later raises ``DeviceFaultError``, or ``MemoryError`` when the GPU is full.
    """

    def __init__(
        self,
        index: int,
        *,
        probe: Callable[[], Probe | None] = cupti_probe,
        witness: Callable[[Any], Witness] = capture_witness,
        import_cupy: Callable[[], Any] = _import_cupy,
        load_library: Callable[[str], Any] = ctypes.CDLL,
        variables: Mapping[str, str] = os.environ,
    ) -> None:
        surroundings = Surroundings(
            import_cupy=import_cupy, load_library=load_library, variables=variables
        )
        self.name = f"cuda:{index}"
        self.index = index
        self._cupy = require_cupy(index, surroundings)
        self._shares_memory = ump_enabled(variables)
        self.probe: Probe | None = self._made(probe)
        self._witness, self._without_witness = _made_witness(witness, self._cupy)

    @property
    def witness(self) -> Witness | None:
        """Stream capture; ``None``, with a note, where ``cuda.bindings`` is missing to read its graphs."""
        return self._witness

    @property
    def namespace(self) -> Any:
        """CuPy."""
        return self._cupy

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of this device's results should know, one sentence each."""
        if not self._shares_memory:
            return self._without_witness
        return (
            *self._without_witness,
            "CUPY_ENABLE_UMP is set: CuPy then reads and writes host memory without copying it, so no probe "
            "can see that traffic; unset it to have traffic certified",
        )

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        """A copy in the GPU's memory, same shape, dtype and memory order, done when this returns.

        A layout that is neither row- nor column-major costs one more copy on the host, since CuPy keeps
        only those two.
        """
        with self._guarded("copying an input to it"):
            self._cupy.cuda.Device(self.index).use()
            if self._shares_memory:  # CuPy would use the host array itself as device memory
                array = array.copy(order="K")
            if array.flags.forc:
                return self._cupy.array(array, order="K", blocking=True)
            axes = _axes_outermost_first(array)
            dense = np.ascontiguousarray(array.transpose(axes))
            held = self._cupy.array(dense, order="C", blocking=True)
            return held.transpose([int(axis) for axis in np.argsort(axes)])

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """A host copy, after all work on the GPU is done; ``TypeError`` for what is not on this GPU."""
        if not self.owns(array):
            raise TypeError(f"expected an array on {self.name}, got {self._described(array)}")
        self.synchronize()
        with self._guarded("copying an output to the host"):
            host: np.ndarray[Any, Any] = array.get()
            return host.copy() if self._shares_memory else host

    def owns(self, value: object) -> bool:
        """Whether ``value`` is a CuPy array in this GPU's memory."""
        return isinstance(value, self._cupy.ndarray) and int(value.device) == self.index

    def synchronize(self) -> None:
        """Wait for all streams of the GPU; errors of kernels run before appear here."""
        with self._guarded("waiting for its kernels"):
            self._cupy.cuda.Device(self.index).synchronize()

    def plants(self) -> tuple[Plant, ...]:
        """One float32 read, one stream wait, one read into pageable memory that only looks asynchronous."""
        with self._guarded("preparing the positive controls"):
            self._cupy.cuda.Device(self.index).use()
            source = self._cupy.zeros(1, dtype=np.float32)
        self.synchronize()
        pageable = np.zeros(1, dtype=np.float32)
        stream = self._cupy.cuda.Stream.null
        return (
            self._plant(
                "a D2H copy",
                lambda: source.get(),
                {Quantity.D2H: 1, Quantity.D2H_BYTES: source.nbytes, Quantity.SYNCS: 1},
            ),
            self._plant(
                "a stream synchronize",
                lambda: stream.synchronize(),
                {Quantity.D2H: 0, Quantity.SYNCS: 1},
            ),
            self._plant(
                "a pageable async copy",
                lambda: source.get(out=pageable, blocking=False),
                {Quantity.D2H: 1, Quantity.BLOCKING_COPIES: 1, Quantity.SYNCS: 0},
            ),
        )

    is_host = False

    def timer(self) -> CudaEventTimer:
        """A timer for one case on this GPU; it refuses to time while the probe records."""
        probe = self.probe
        with self._guarded("preparing its timer"):
            return CudaEventTimer(
                self._cupy,
                device=self.index,
                recording=lambda: bool(getattr(probe, "recording", False)),
            )

    def change_layout(self, chance: random.Random) -> object:
        """Allocate blocks of random size on the GPU; the buffers allocated next land elsewhere."""
        with self._guarded("changing the layout of its memory"):
            return [
                self._cupy.empty(chance.randint(*_LAYOUT_BYTES), dtype=np.uint8)
                for _ in range(_LAYOUT_BLOCKS)
            ]

    def copier(self, size_bytes: int) -> Callable[[], object]:
        """The driver's own copy on the current stream, which the timer waits for."""
        with self._guarded("allocating what it copies"):
            self._cupy.cuda.Device(self.index).use()
            source = self._cupy.zeros(size_bytes, dtype=np.uint8)
            target = self._cupy.zeros(size_bytes, dtype=np.uint8)
        return lambda: target.data.copy_from_device_async(source.data, size_bytes)

    @property
    def identity(self) -> GpuIdentity:
        """What the GPU is, as CUDA says it."""
        with self._guarded("asking what it is"):
            return _identity(self._cupy, self.index)

    def _made(self, probe: Callable[[], Probe | None]) -> Probe | None:
        try:
            return probe()
        except ModuleNotFoundError as error:
            raise unavailable(
                self.index, f"its probe does not import ({error})", "use --device auto"
            ) from error
        except UnavailableError as error:
            raise UnavailableError(f"device {self.name!r} cannot be used: {error}") from error

    def _plant(
        self, name: str, action: Callable[[], object], expected: Mapping[Quantity, int]
    ) -> Plant:
        def guarded() -> None:
            with self._guarded(f"planting {name}"):
                action()

        return Plant(name, guarded, expected)

    def _described(self, value: object) -> str:
        if isinstance(value, self._cupy.ndarray):
            return f"one on cuda:{int(value.device)}"
        return f"{type(value).__module__}.{type(value).__qualname__}"

    @contextmanager
    def _guarded(self, doing: str) -> Iterator[None]:
        """Errors of the device itself leave here as what they mean; all others as they are."""
        try:
            yield
        except DeviceFaultError:
            raise
        except (RuntimeError, MemoryError) as error:
            fault = fault_of(error)
            if fault is None:
                raise
            if fault.kind is FaultKind.MEMORY:
                raise MemoryError(f"{self.name} while {doing}: {fault}{self._room()}") from error
            raise DeviceFaultError(self.name, doing, fault) from error

    def _room(self) -> str:
        """How full the GPU is, when it still says so."""
        try:
            free, total = self._cupy.cuda.Device(self.index).mem_info
        except RuntimeError:
            return ""
        return f" ({bytes_text(free)} of {bytes_text(total)} are free)"


def _made_witness(
    make: Callable[[Any], Witness], cupy: Any
) -> tuple[Witness | None, tuple[str, ...]]:
    try:
        return make(cupy), ()
    except UnavailableError as error:
        return None, (f"no second witness: {error}",)


def _identity(cupy: Any, index: int) -> GpuIdentity:
    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(index)
    version = runtime.runtimeGetVersion()
    uuid = properties.get("uuid", b"")
    return GpuIdentity(
        index=index,
        name=properties["name"].decode("utf-8", "replace"),
        compute_capability=f"{properties['major']}.{properties['minor']}",
        pci_bus_id=runtime.deviceGetPCIBusId(index),
        # CuPy takes the bytes for a C string: a zero among them cuts the rest off.
        uuid=uuid[:_UUID_BYTES].hex() if len(uuid) >= _UUID_BYTES else "",
        cuda_runtime=f"{version // 1000}.{version % 1000 // 10}",
    )


def _axes_outermost_first(array: np.ndarray[Any, Any]) -> list[int]:
    """The order of axes in which a dense copy of ``array`` lies in memory, slowest first."""
    strides = array.copy(order="K").strides
    return sorted(range(array.ndim), key=lambda axis: -strides[axis])
