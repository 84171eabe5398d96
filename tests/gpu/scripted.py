"""The GPU of a dry run: a CuPy that is the simulated device, and a CUPTI that is told what crosses its boundary.

CUPTI's enums and records are the real ones of cupti-python, which needs no driver for them; what is recorded
is what the checklist expects of a device. A dry run therefore tries everything but the device.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from harness.errors import UnavailableError
from harness.model.event import Direction, Kernel, MemoryKind, Sync, SyncKind, Transfer
from harness.probes.cupti import Host
from harness.probes.simulated import boundary, cuda, namespace
from harness.probes.simulated.array import wrap
from harness.probes.simulated.boundary import Observation

__all__ = ["ScriptedCuda", "ScriptedCupy", "ScriptedGpu", "ScriptedRuntime"]

_SCRIPT = Path(__file__).parents[1] / "unit" / "harness" / "probes" / "cupti" / "conftest.py"
_INSTALL = 'python -m pip install -e ".[test]"'

_RUNTIME, _DRIVER = 2, 1
_ASYNC = 1
_PAGEABLE, _PINNED, _DEVICE = 1, 2, 3
_KINDS = {MemoryKind.PAGEABLE: _PAGEABLE, MemoryKind.PINNED: _PINNED, MemoryKind.DEVICE: _DEVICE}
_COPIES = {
    Direction.HOST_TO_DEVICE: (1, "cuMemcpyHtoD"),
    Direction.DEVICE_TO_HOST: (2, "cuMemcpyDtoH"),
    Direction.DEVICE_TO_DEVICE: (8, "cuMemcpyDtoD"),
}
"""CUPTI's kind of copy, and the stem of the driver's call inside the runtime's."""

_WAITS = {
    SyncKind.EVENT: (1, "cudaEventSynchronize_v3020", "cuEventSynchronize"),
    SyncKind.STREAM: (3, "cudaStreamSynchronize_v3020", "cuStreamSynchronize"),
    SyncKind.DEVICE: (4, "cudaDeviceSynchronize_v3020", "cuCtxSynchronize"),
    SyncKind.HOST_CALLBACK: (None, "cudaLaunchHostFunc_v10000", "cuLaunchHostFunc"),
}


@cache
def _script() -> ModuleType:
    """The scripted CUPTI that the probe's own unit tests use."""
    spec = importlib.util.spec_from_file_location("scripted_cupti", _SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise UnavailableError(f"a dry run needs {error.name}; {_INSTALL}") from error
    return module


class ScriptedGpu:
    """What CUPTI records of the simulated device, and a clock on which a kernel can take time."""

    def __init__(self) -> None:
        script = _script()
        try:
            from cupti import cupti as real
        except ImportError as error:
            raise UnavailableError(f"a dry run needs cupti-python; {_INSTALL}") from error
        self.cupti: Any = _with_small_buffers(script.FakeCupti)(real)
        self._busy_until_ns = 0
        self._managed: dict[int, int] = {}
        boundary.attach(self)

    def close(self) -> None:
        """Listen no more."""
        boundary.detach(self)

    @property
    def host(self) -> Host:
        """A machine on which everything CUPTI needs is there."""
        cupti = self.cupti
        return Host(
            environ={},
            mapped_files=lambda: frozenset({"/opt/cuda/lib64/libcupti.so.13"}),
            driver_version=lambda: 13040,
            package_version=lambda name: "13.4.0",
            synchronize=cupti.synchronize,
            monotonic=lambda: cupti.seconds,
            sleep=cupti.sleep,
        )

    def observe(self, seen: Observation) -> None:
        """Record one event of the simulated device as CUPTI would."""
        if seen.kind is Transfer:
            self._transfer(seen.details)
        elif seen.kind is Sync:
            kind, runtime, driver = _WAITS[seen.details["kind"]]
            with self.cupti.call(runtime, driver) as (number, _):
                if kind is not None:
                    self.cupti.synchronization(kind, number)
        elif seen.kind is Kernel:
            self.cupti.launch(seen.api)
        else:
            self._memset(seen.details["size_bytes"])

    def doubt(self, reason: str) -> None:
        """CUPTI has no word for it."""

    def copy(
        self, direction: Direction, ends: tuple[int, int], size_bytes: int, *, flags: int
    ) -> None:
        """One copy, by the runtime's call with the driver's inside."""
        kind, driver = _COPIES[direction]
        asynchronous = bool(flags & _ASYNC)
        suffix = "Async_v2" if asynchronous else "_v2"
        runtime = "cudaMemcpyAsync_v3020" if asynchronous else "cudaMemcpy_v3020"
        with self.cupti.call(runtime, driver + suffix) as numbers:
            if size_bytes:
                self.cupti.memcpy(
                    *numbers,
                    bytes=size_bytes,
                    copy_kind=kind,
                    src_kind=ends[0],
                    dst_kind=ends[1],
                    flags_=flags,
                )

    def call(self, name: str, *, until_idle: bool = False) -> None:
        """One runtime call, which may wait for the kernel that runs."""
        with self.cupti.api(_RUNTIME, name):
            if until_idle:
                self.cupti.tick(max(0, self._busy_until_ns - self.cupti.tick()))

    def spin(self, seconds: float) -> None:
        """A kernel that keeps the device busy."""
        self.cupti.launch("spin")
        self._busy_until_ns = self.cupti.tick() + int(seconds * 1e9)

    def order(self) -> None:
        """A stream waits for an event."""
        with self.cupti.call("cudaStreamWaitEvent_v3020", "cuStreamWaitEvent") as (number, _):
            self.cupti.synchronization(2, number)

    def manage(self, pointer: int, size_bytes: int) -> None:
        """Memory whose pages move."""
        self._managed[pointer] = size_bytes

    def forget(self, pointer: int) -> None:
        """Memory that is nobody's any more."""
        self._managed.pop(pointer, None)

    def migrate(self, pointer: int, *, to_host: bool) -> None:
        """Pages move to whoever touches them, if they are managed."""
        if pointer in self._managed:
            self.cupti.record(
                "ActivityUnifiedMemoryCounter3",
                kind=25,
                counter_kind=2 if to_host else 1,
                value=self._managed[pointer],
                address=pointer,
                start=self.cupti.tick(),
            )

    def _transfer(self, details: Any) -> None:
        ends = (_KINDS[details["source"]], _KINDS[details["destination"]])
        self.copy(details["direction"], ends, details["size_bytes"], flags=_ASYNC)

    def _memset(self, size_bytes: int) -> None:
        with self.cupti.call("cudaMemsetAsync_v3020", "cuMemsetD8Async") as (number, _):
            self.cupti.record(
                "ActivityMemset5",
                kind=2,
                bytes=size_bytes,
                correlation_id=number,
                start=self.cupti.tick(),
            )


class ScriptedRuntime:
    """The calls of ``cupy.cuda.runtime`` that the sections make, over host memory."""

    memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice, memcpyDefault = 1, 2, 3, 4  # noqa: N815 - CuPy's names
    hostAllocMapped = 2  # noqa: N815 - CuPy's name

    def __init__(self, gpu: ScriptedGpu) -> None:
        self._gpu = gpu
        self._blocks: dict[int, np.ndarray[Any, Any]] = {}
        self.pinned: set[int] = set()

    def memcpy(self, dst: int, src: int, size: int, kind: int) -> None:
        """``cudaMemcpy``."""
        self._copy(dst, src, size, kind, flags=0)

    def memcpyAsync(self, dst: int, src: int, size: int, kind: int, stream: int) -> None:
        """``cudaMemcpyAsync``."""
        self._copy(dst, src, size, kind, flags=_ASYNC)

    def malloc(self, size: int) -> int:
        """``cudaMalloc``: does not wait."""
        self._gpu.call("cudaMalloc_v3020")
        return self._block(size)

    def free(self, pointer: int) -> None:
        """``cudaFree``: waits for the device."""
        self._gpu.call("cudaFree_v3020", until_idle=True)
        self._gpu.forget(pointer)
        del self._blocks[pointer]

    def mallocManaged(self, size: int) -> int:
        """``cudaMallocManaged``."""
        pointer = self._block(size)
        self._gpu.manage(pointer, size)
        return pointer

    def hostAlloc(self, size: int, flags: int) -> int:
        """``cudaHostAlloc``."""
        return self._block(size)

    def freeHost(self, pointer: int) -> None:
        """``cudaFreeHost``."""
        del self._blocks[pointer]

    def deviceSynchronize(self) -> None:
        """``cudaDeviceSynchronize``."""
        cuda.Device().synchronize()

    def view(self, pointer: int, count: int) -> Any:
        """A device array over a block of this runtime."""
        self._gpu.migrate(pointer, to_host=False)
        return wrap(self._blocks[pointer].view(np.float32)[:count])

    def _block(self, size: int) -> int:
        block = np.zeros(size, np.uint8)
        pointer = int(block.ctypes.data)
        self._blocks[pointer] = block
        return pointer

    def _copy(self, dst: int, src: int, size: int, kind: int, *, flags: int) -> None:
        # A default kind is only used within the device here, and from it to pinned memory.
        host = {self.memcpyHostToDevice: src, self.memcpyDeviceToHost: dst}.get(kind)
        of_host = _PINNED if host in self.pinned else _PAGEABLE
        direction, ends = {
            self.memcpyHostToDevice: (Direction.HOST_TO_DEVICE, (of_host, _DEVICE)),
            self.memcpyDeviceToHost: (Direction.DEVICE_TO_HOST, (_DEVICE, of_host)),
        }.get(kind, (Direction.DEVICE_TO_DEVICE, (_DEVICE, _DEVICE)))
        self._gpu.copy(direction, ends, size, flags=flags)
        ctypes.memmove(dst, src, size)


class ScriptedCuda:
    """``cupy.cuda``: the simulated one, with this module's runtime and orderings that are recorded."""

    def __init__(self, gpu: ScriptedGpu) -> None:
        self.runtime = ScriptedRuntime(gpu)

        class Stream(cuda.Stream):
            """A stream whose orderings CUPTI records."""

            def wait_event(self, event: Any) -> None:
                """Wait on the device."""
                gpu.order()

        Stream.null = Stream(null=True)
        self.Stream = Stream

    def __getattr__(self, name: str) -> Any:
        return getattr(cuda, name)


class ScriptedCupy:
    """``cupy``: the simulated namespace, with this module's ``cuda``."""

    def __init__(self, gpu: ScriptedGpu) -> None:
        self.cuda = ScriptedCuda(gpu)

    def __getattr__(self, name: str) -> Any:
        return getattr(namespace, name)


def _with_small_buffers(base: Any) -> Any:
    """The scripted CUPTI, which otherwise insists on buffers of the size the probe uses."""

    class WithSmallBuffers(base):  # type: ignore[misc] # loaded at run time
        def activity_register_callbacks(self, requested: Any, completed: Any) -> None:
            self._completed = completed

    return WithSmallBuffers


def _as_if_installed(*classes: type) -> None:
    """Nobody's line, as CuPy's own code is not."""
    for of in classes:
        with suppress(UnavailableError):
            _script()._as_if_installed(of)


_as_if_installed(ScriptedGpu, ScriptedRuntime)
