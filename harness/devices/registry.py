"""Device names to devices, and what ``auto`` means on this machine."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.devices.base import Device
from harness.errors import UnavailableError, UsageError

__all__ = ["DEVICE_NAMES", "Devices", "choose_devices"]

DEVICE_NAMES = ("auto", "cpu", "simulated", "cuda:N")


@dataclass(frozen=True, slots=True)
class Devices:
    """Where traffic is watched and where time is measured: one device on a real GPU.

    ``timing`` is ``None`` where time means nothing. ``notes`` say what a reader should know of the choice.
    """

    traffic: Device
    timing: Device | None
    notes: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[Device, ...]:
        """Both, without repeating one."""
        if self.timing is None or self.timing is self.traffic:
            return (self.traffic,)
        return (self.traffic, self.timing)


def choose_devices(name: str) -> Devices:
    """Resolve a device name.

    ``auto`` is the first GPU when it can be used, else traffic on ``simulated`` and timing on ``cpu`` (a
    simulated device's time says nothing), with the reason in ``notes``. Raises ``UsageError`` for a name that
    is none, ``UnavailableError`` for a device that this machine lacks.
    """
    from harness.devices.cpu import CpuDevice
    from harness.devices.simulated import SimulatedDevice

    if name == "auto":
        try:
            return _cuda(0)
        except UnavailableError as error:
            cause = getattr(error, "cause", error)
            return Devices(SimulatedDevice(), CpuDevice(), notes=(f"no GPU was used: {cause}",))
    if name == "simulated":
        return Devices(SimulatedDevice(), None)
    if name == "cpu":
        cpu = CpuDevice()
        return Devices(cpu, cpu)
    if match := re.fullmatch(r"cuda:(\d{1,3})", name):
        return _cuda(int(match[1]))
    known = ", ".join(DEVICE_NAMES)
    raise UsageError(f"unknown device {name!r}; use one of {known}")


def _cuda(index: int) -> Devices:
    from harness.devices.cupy import CudaDevice

    gpu = CudaDevice(index)
    return Devices(gpu, gpu, notes=gpu.notes)
