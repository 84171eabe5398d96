"""Watches a GPU while it is timed: one sample before, one every 25 ms, one after."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType

from harness.devices.base import GpuIdentity
from harness.environment.gpu_conditions import GpuSample, Phase, check_conditions
from harness.environment.pynvml import Gpu, GpuLostError, Nvml, open_nvml
from harness.errors import UnavailableError
from harness.model.verdict import CheckResult

__all__ = ["GpuMonitor"]

_PERIOD_S = 0.025
"""Forty samples a second: enough to see a dip of a clock, while the four questions of a sample, under 1 ms in
all, take the interpreter from the timed loop for a few per cent at most."""

_SETTLE_S = 1.0
"""NVML's utilisation is a mean over up to a second (nvml.h, nvmlUtilization_t), so our own work before it shows
for as long."""

_SETTLED_PERCENT = 10

_PATIENCE_S = 5.0
"""A sample of a healthy GPU takes milliseconds; a library that hangs must not hang the run."""


class GpuMonitor:
    """``with GpuMonitor(identity) as monitor: ...`` around a measurement, then ``monitor.check()``.

    Where NVML cannot be read ``unavailable`` says why, there are no samples and ``check()`` is ``None``: that is
    a normal state, to be said once per run. A GPU lost meanwhile is a sample that says so. One monitor, one
    measurement; the thread it starts makes no CUDA call.
    """

    def __init__(
        self,
        identity: GpuIdentity,
        *,
        open_session: Callable[[], AbstractContextManager[Nvml]] = open_nvml,
        period_s: float = _PERIOD_S,
        settle_s: float = _SETTLE_S,
        patience_s: float = _PATIENCE_S,
        own_pid: int | None = None,
    ) -> None:
        self._identity, self._open = identity, open_session
        self._period_s, self._settle_s, self._patience_s = period_s, settle_s, patience_s
        self._own_pid = os.getpid() if own_pid is None else own_pid
        self._samples: list[GpuSample] = []
        self._stop, self._stack = threading.Event(), ExitStack()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._since_us = 0
        self.unavailable = ""

    @property
    def samples(self) -> tuple[GpuSample, ...]:
        """What was seen so far, in order."""
        return tuple(self._samples)

    def check(self) -> CheckResult | None:
        """Whether the timings taken meanwhile can be trusted; ``None`` where the GPU says nothing."""
        return check_conditions(self.samples, own_pid=self._own_pid)

    def __enter__(self) -> GpuMonitor:
        try:
            nvml = self._stack.enter_context(self._open())
            gpu = nvml.find(self._identity)
        except (UnavailableError, GpuLostError) as error:
            self.unavailable = str(error)
            self._stack.close()
            return self
        if gpu is None:
            self.unavailable = f"NVML is not read: it knows no GPU at {self._identity.pci_bus_id}"
            self._stack.close()
            return self
        self._since_us = time.time_ns() // 1000
        if self._take(nvml, gpu, Phase.BEFORE):
            self._wait_until_settled(nvml, gpu)
            self._thread = threading.Thread(
                target=self._watch, args=(nvml, gpu), name="gpu-monitor", daemon=True
            )
            self._thread.start()
        self._stack.callback(self._finish, nvml, gpu)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()
        if self._failure is not None and error is None:
            raise self._failure

    def _finish(self, nvml: Nvml, gpu: Gpu) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(self._patience_s)
            if self._thread.is_alive():
                self._lost(Phase.AFTER)
                return
        if self._samples and not self._samples[-1].lost:
            self._take(nvml, gpu, Phase.AFTER, since_us=self._since_us)

    def _watch(self, nvml: Nvml, gpu: Gpu) -> None:
        try:
            while not self._stop.wait(self._period_s):
                if not self._take(nvml, gpu, Phase.DURING):
                    return
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that left the context
            self._failure = error

    def _take(self, nvml: Nvml, gpu: Gpu, phase: Phase, *, since_us: int | None = None) -> bool:
        """Whether the GPU is still there."""
        try:
            self._samples.append(nvml.sample(gpu, phase, since_us=since_us))
        except GpuLostError:
            self._lost(phase)
            return False
        return True

    def _lost(self, phase: Phase) -> None:
        self._samples.append(GpuSample(phase=phase, at_ns=time.monotonic_ns(), lost=True))

    def _wait_until_settled(self, nvml: Nvml, gpu: Gpu) -> None:
        """Where processes are not listed, utilisation must tell others, once our own work has faded from it."""
        if self._samples[-1].tenants:
            return
        give_up = time.monotonic() + self._settle_s
        while (self._samples[-1].utilization or 0) > _SETTLED_PERCENT:
            if time.monotonic() >= give_up or self._stop.wait(self._period_s):
                return
            if not self._take(nvml, gpu, Phase.BEFORE):
                return
