"""What the sections work with: the GPU and CuPy, or what stands in for both in a dry run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from harness.devices.base import Device, GpuIdentity
from harness.devices.cupy import CudaDevice
from harness.environment.gpu_monitor import GpuMonitor
from harness.environment.pynvml import open_nvml
from harness.errors import UnavailableError
from harness.probes.base import Witness
from harness.probes.cupti import CuptiProbe
from harness.timers.base import Timer
from harness.timers.cuda_event import CudaEventTimer

from .tracing import Tracer

__all__ = ["Bench", "GpuBench"]


class Bench(Protocol):
    """One device with its names, its CUPTI, its clock and its sensors.

    ``xp``, ``cuda`` and ``cupyx`` are CuPy's modules; ``kernels`` is ``reference_impl.kernels.cuda``.
    ``is_dry`` says that nothing here is a GPU, so that sizes stay small and figures mean nothing.
    """

    is_dry: bool
    name: str
    xp: Any
    cuda: Any
    cupyx: Any
    kernels: Any
    device: Device
    identity: GpuIdentity

    def foreign(self, array: Any, *, stream: int | None = None) -> Any:
        """Another library's array in the memory of one of CuPy's."""
        ...

    def open_nvml(self) -> AbstractContextManager[Any]:
        """NVML; ``UnavailableError`` where it cannot be read."""
        ...

    def tracer(self, *, unified_memory: bool = False, buffer_bytes: int = 8 << 20) -> Tracer:
        """CUPTI's records as they are; ``UnavailableError`` for what is missing."""
        ...

    def probe(self, *, buffer_bytes: int = 8 << 20) -> CuptiProbe:
        """The harness's probe over the same CUPTI."""
        ...

    def watched(self) -> Device:
        """The device with its probe, as ``harness run`` uses it."""
        ...

    def witness(self) -> Witness:
        """The harness's capture witness; ``UnavailableError`` or ``NotImplementedError`` where there is none."""
        ...

    def by_cudnn(self) -> Callable[..., Any]:
        """``ByCudnn`` of ``reference_impl.kernels.cudnn_convolution``; ``UnavailableError`` where it is not installed."""
        ...

    def timer(self, *, replay: bool = True) -> Timer:
        """A clock of the device."""
        ...

    def monitor(self) -> GpuMonitor:
        """Samples of the sensors around a measurement."""
        ...

    def spin(self, seconds: float) -> None:
        """Launch a kernel of this duration on the current stream."""
        ...

    def view(self, pointer: int, count: int) -> Any:
        """The float32 array at an address the device can reach; the memory stays the caller's."""
        ...

    def read_host(self, pointer: int, size_bytes: int) -> bytes:
        """Read memory by the host's own loads."""
        ...

    def free_bytes(self) -> int:
        """Device memory that is free."""
        ...


_SPIN = r"""
extern "C" __global__ void spin(unsigned long long nanoseconds) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
"""
"""One thread that watches the GPU's own clock of nanoseconds."""


class ForeignOnGpu:
    """An array of another library in CuPy's memory; ``stream`` makes it version 3 of the protocol."""

    def __init__(self, array: Any, *, stream: int | None = None) -> None:
        self._array, self._stream = array, stream

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        interface = dict(self._array.__cuda_array_interface__)
        interface.pop("stream", None)
        if self._stream is None:
            return {**interface, "version": 2}
        return {**interface, "version": 3, "stream": self._stream}


class GpuBench:
    """The first GPU. ``UnavailableError`` in one line where it cannot be used."""

    is_dry = False
    name = "cuda:0"

    def __init__(self) -> None:
        # First, since it says in one line what is missing. The probe is made by the section that needs it:
        # the kernels can be checked without CUPTI.
        self.device: Device = CudaDevice(0, probe=lambda: None)
        import cupyx

        from reference_impl.kernels import cuda as kernels

        self.xp: Any = self.device.namespace
        self.cuda: Any = self.xp.cuda
        self.cupyx: Any = cupyx
        self.kernels: Any = kernels
        identity = self.device.identity
        assert identity is not None
        self.identity = identity
        self._spin: Any = None

    def foreign(self, array: Any, *, stream: int | None = None) -> Any:
        """Through ``__cuda_array_interface__``."""
        return ForeignOnGpu(array, stream=stream)

    def open_nvml(self) -> AbstractContextManager[Any]:
        """Through nvidia-ml-py."""
        return open_nvml()

    def tracer(self, *, unified_memory: bool = False, buffer_bytes: int = 8 << 20) -> Tracer:
        """CUPTI's records as they are."""
        return Tracer(unified_memory=unified_memory, buffer_bytes=buffer_bytes)

    def probe(self, *, buffer_bytes: int = 8 << 20) -> CuptiProbe:
        """The harness's probe."""
        return CuptiProbe(buffer_bytes=buffer_bytes)

    def watched(self) -> Device:
        """The device with its probe."""
        return CudaDevice(0)

    def witness(self) -> Witness:
        """The harness's capture witness."""
        from harness.probes.capture import CaptureProbe

        return CaptureProbe(cupy=self.xp)

    def by_cudnn(self) -> Callable[..., Any]:
        """The package's own, where its frontend is installed."""
        from reference_impl.kernels.cudnn_convolution import ByCudnn, is_installed

        if not is_installed():
            raise UnavailableError(
                'needs nvidia-cudnn-frontend: python -m pip install -e ".[cudnn]"'
            )
        return ByCudnn

    def timer(self, *, replay: bool = True) -> Timer:
        """CUDA events around each call, with a cold L2."""
        return CudaEventTimer(self.xp, device=0, replay=replay)

    def monitor(self) -> GpuMonitor:
        """NVML before, during and after."""
        return GpuMonitor(self.identity)

    def spin(self, seconds: float) -> None:
        """Launch one thread that spins; the first call compiles it."""
        if self._spin is None:
            self._spin = self.xp.RawKernel(_SPIN, "spin")
        self._spin((1,), (1,), (np.uint64(seconds * 1e9),))

    def view(self, pointer: int, count: int) -> Any:
        """The float32 array at ``pointer``."""
        memory = self.cuda.UnownedMemory(pointer, 4 * count, self, 0)
        return self.xp.ndarray(
            (count,), dtype=np.float32, memptr=self.cuda.MemoryPointer(memory, 0)
        )

    def read_host(self, pointer: int, size_bytes: int) -> bytes:
        """Read through the host's page tables."""
        return ctypes.string_at(pointer, size_bytes)

    def free_bytes(self) -> int:
        """As CUDA says it, with CuPy's cached blocks given back first."""
        self.xp.get_default_memory_pool().free_all_blocks()
        return int(self.cuda.runtime.memGetInfo()[0])
