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

    ``timing`` is ``None`` where time means nothing.
    """

    traffic: Device
    timing: Device | None

    @property
    def all(self) -> tuple[Device, ...]:
        """Both, without repeating one."""
        if self.timing is None or self.timing is self.traffic:
            return (self.traffic,)
        return (self.traffic, self.timing)


def choose_devices(name: str) -> Devices:
    """Resolve a device name.

    ``auto`` is the GPU when there is one, else traffic on ``simulated`` and timing on ``cpu``: a simulated
    device's time says nothing. Raises ``UsageError`` for a name that is none, ``UnavailableError`` for a
    device that this machine or this version lacks.
    """
    from harness.devices.cpu import CpuDevice
    from harness.devices.simulated import SimulatedDevice

    if name == "auto":
        return Devices(traffic=SimulatedDevice(), timing=CpuDevice())
    if name == "simulated":
        return Devices(traffic=SimulatedDevice(), timing=None)
    if name == "cpu":
        cpu = CpuDevice()
        return Devices(traffic=cpu, timing=cpu)
    if re.fullmatch(r"cuda:\d+", name):
        raise UnavailableError(
            f"device {name!r} cannot be used: this version has no CUDA probe; "
            "use --device auto, which watches traffic on a simulated device and times on the CPU"
        )
    known = ", ".join(DEVICE_NAMES)
    raise UsageError(f"unknown device {name!r}; use one of {known}")
