"""The bench of a dry run: no GPU, the same code."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from harness.devices.base import Device, GpuIdentity
from harness.devices.simulated import SimulatedDevice
from harness.environment.gpu import GpuReadings
from harness.environment.gpu_conditions import GpuSample, GpuUse, Phase
from harness.environment.gpu_monitor import GpuMonitor
from harness.environment.pynvml import Gpu
from harness.errors import UnavailableError
from harness.probes.base import Witness
from harness.probes.cupti import CuptiProbe
from harness.probes.simulated import ForeignArray, extensions
from harness.timers.base import Timer
from harness.timers.host import HostTimer

from .scripted import ScriptedCupy, ScriptedGpu
from .scripted_kernels import scripted_kernels
from .tracing import Tracer

__all__ = ["DryBench"]

_FREE_BYTES = 1 << 30

_IDENTITY = GpuIdentity(
    index=0,
    name="no GPU: a dry run",
    compute_capability="9.0",
    pci_bus_id="0000:00:00.0",
    uuid="",
    cuda_runtime="13.4",
)


class DryBench:
    """Simulated arrays, scripted CUPTI and NVML, the host's clock, and the oracle for kernels."""

    is_dry = True
    name = "simulated"

    def __init__(self) -> None:
        self.gpu = ScriptedGpu()
        self.xp: Any = ScriptedCupy(self.gpu)
        self.cuda: Any = self.xp.cuda
        self.cupyx: Any = _Extensions(self.cuda.runtime)
        self.kernels: Any = scripted_kernels()
        self.device: Device = SimulatedDevice()
        self.identity = _IDENTITY

    def foreign(self, array: Any, *, stream: int | None = None) -> Any:
        """The simulated device's own."""
        return ForeignArray(array, stream=stream)

    def tracer(self, *, unified_memory: bool = False, buffer_bytes: int = 8 << 20) -> Tracer:
        """Over the scripted CUPTI."""
        return Tracer(
            module=self.gpu.cupti,
            host=self.gpu.host,
            unified_memory=unified_memory,
            buffer_bytes=buffer_bytes,
        )

    def probe(self, *, buffer_bytes: int = 8 << 20) -> CuptiProbe:
        """Over the scripted CUPTI."""
        return CuptiProbe(module=self.gpu.cupti, host=self.gpu.host, buffer_bytes=buffer_bytes)

    def watched(self) -> Device:
        """The simulated device, watched by the scripted CUPTI instead of its own probe."""
        device = SimulatedDevice()
        device.probe = self.probe()
        return device

    def witness(self) -> Witness:
        """There is none."""
        raise UnavailableError("the simulated device does not capture")

    def by_cudnn(self) -> Callable[..., Any]:
        """There is none."""
        raise UnavailableError("cuDNN has no stand-in without a GPU")

    def timer(self, *, replay: bool = True) -> Timer:
        """The host's clock."""
        return HostTimer()

    def monitor(self) -> GpuMonitor:
        """Over the scripted NVML."""
        return GpuMonitor(self.identity, open_session=self.open_nvml, period_s=0.005)

    @contextmanager
    def open_nvml(self) -> Iterator[Any]:
        """A scripted NVML."""
        yield _Nvml()

    def spin(self, seconds: float) -> None:
        """Keeps the scripted device busy."""
        self.gpu.spin(seconds)

    def view(self, pointer: int, count: int) -> Any:
        """A simulated array over a block of the scripted runtime."""
        return self.cuda.runtime.view(pointer, count)

    def read_host(self, pointer: int, size_bytes: int) -> bytes:
        """Read, and have the pages move as those of managed memory would."""
        self.gpu.migrate(pointer, to_host=True)
        return ctypes.string_at(pointer, size_bytes)

    def free_bytes(self) -> int:
        """Little, so that sizes stay small."""
        return _FREE_BYTES


class _Extensions:
    """``cupyx``: the simulated one, whose pinned memory the scripted runtime knows by address."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime

    def empty_pinned(self, shape: Any, dtype: Any = float, order: str = "C") -> Any:
        """A pinned host array."""
        array = extensions.empty_pinned(shape, dtype, order)
        self._runtime.pinned.add(int(array.ctypes.data))
        return array

    def __getattr__(self, name: str) -> Any:
        return getattr(extensions, name)


class _Nvml:
    """Answers as an idle GPU does."""

    def find(self, identity: GpuIdentity) -> Gpu | None:
        """The one GPU."""
        return Gpu("whole")

    def read(self, identity: GpuIdentity) -> GpuReadings:
        """What it is."""
        return GpuReadings(identity=identity, driver="0.0")

    def sample(self, gpu: Gpu, phase: Phase, *, since_us: int | None = None) -> GpuSample:
        """What it is doing."""
        return GpuSample(
            phase=phase, at_ns=time.monotonic_ns(), reasons=0, sm_clock=1000, tenants=(GpuUse(1),)
        )
