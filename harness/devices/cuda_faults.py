"""What a CUDA error means for a run: whose fault it is, whether anything still works, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = [
    "STICKY",
    "DeviceFault",
    "DeviceFaultError",
    "FaultKind",
    "device_failure",
    "fault_of",
    "fault_of_status",
]


class FaultKind(Enum):
    """Whose fault an error of a device is."""

    MEMORY = "memory"
    """The device has no room; the next, smaller case may fit."""

    KERNEL = "kernel"
    """A kernel did what it must not: the code under test, now or in an earlier call."""

    DEVICE = "device"
    """The GPU, its driver or the machine; says nothing about the code under test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFault:
    """One error of a device.

    ``name`` is CUDA's own (``cudaErrorIllegalAddress``), ``cause`` says it in words, ``next_step`` what to do.
    A ``sticky`` one leaves the process without a working device: every later call gives it again.
    """

    kind: FaultKind
    name: str
    cause: str
    next_step: str
    sticky: bool

    def __str__(self) -> str:
        return f"{self.cause} ({self.name}); {self.next_step}"


class DeviceFaultError(RuntimeError):
    """A device stopped working under the harness's own hands, outside the code under test."""

    def __init__(self, device: str, doing: str, fault: DeviceFault) -> None:
        super().__init__(f"{device} stopped while {doing}: {fault}")
        self.fault = fault


_OUT_OF_MEMORY = 2
_RERUN = "run the remaining cases in a new process"
_SANITIZE = (
    "find the kernel with `compute-sanitizer python -m harness run --time-limit 0 ...`, " + _RERUN
)
_HARDWARE = "see `nvidia-smi` and `dmesg | grep -i xid`, reset the GPU or reboot"

_KERNEL_FAULTS = {
    700: "a kernel accessed memory that is not its own",
    702: "a kernel ran longer than the driver allows and was stopped",
    710: "an assertion in a kernel failed",
    714: "a kernel broke the device's call stack",
    715: "a kernel met an instruction the device does not know",
    716: "a kernel accessed a misaligned address",
    717: "a kernel used an address of the wrong memory space",
    718: "a kernel's program counter left its code",
    719: "a kernel died while running",
    721: "a kernel ended without giving back tensor memory",
}
"""Raised by whichever call comes next, since kernels run behind the host's back."""

_DEVICE_FAULTS = {
    3: ("the driver could not be initialised", _HARDWARE),
    34: (
        "the CUDA driver found here is a stub for linking",
        "take the stubs folder out of LD_LIBRARY_PATH",
    ),
    46: (
        "the GPU is busy or reserved for one process",
        "end the other process, or set its compute mode with `nvidia-smi --compute-mode=0`",
    ),
    100: (
        "the driver sees no GPU",
        "see `nvidia-smi`, and CUDA_VISIBLE_DEVICES if it is set",
    ),
    209: (
        "this CuPy has no code for a GPU of this generation",
        "install a CuPy for a CUDA version that supports it",
    ),
    214: ("the GPU's memory has an error it cannot correct", _HARDWARE),
    220: ("an NVLink of the GPU has an error it cannot correct", _HARDWARE),
    226: ("a hardware error was contained in this process", _HARDWARE),
    304: ("the operating system refused the driver a call", "see `dmesg`"),
    709: ("the GPU's context was destroyed", _RERUN),
    802: (
        "the GPUs of this system are not ready",
        "start the NVIDIA Fabric Manager (`systemctl start nvidia-fabricmanager`)",
    ),
    803: (
        "the loaded kernel driver and the driver library differ",
        "reboot after the driver update, or match the library in the container",
    ),
    804: (
        "the CUDA compatibility package does not support this GPU",
        "remove cuda-compat from LD_LIBRARY_PATH, or update the driver",
    ),
    805: ("the MPS server does not answer", "restart nvidia-cuda-mps-control"),
    806: ("the MPS server does not answer", "restart nvidia-cuda-mps-control"),
    807: ("the MPS server is not ready", "wait for it, or stop nvidia-cuda-mps-control"),
    808: ("the MPS server has no room for another client", "end another client"),
    809: ("the MPS server has no room for another connection", "end another client"),
    810: ("the MPS server ended this client", _RERUN),
    911: ("a device outside CUDA failed that the GPU waited for", _HARDWARE),
    999: ("the driver gave up for a reason it does not know; the GPU may be lost", _HARDWARE),
}
"""Status of ``cudaError_t``; the driver's ``CUresult`` has the same numbers for these."""

STICKY = frozenset(_KERNEL_FAULTS) | {214, 220, 226, 709, 810, 911, 999}
"""After these CUDA says "the process must be terminated and relaunched" (driver_types.h, cudaError), and the
context is gone for 709, 810 and, as far as seen, 999."""

_ERRORS_WITH_STATUS = frozenset({"CUDARuntimeError", "CUDADriverError"})
"""CuPy's exceptions, told by their names: this module must work where CuPy is not installed."""


def fault_of(error: BaseException) -> DeviceFault | None:
    """What an exception says about the device; ``None`` when it is not one of the device."""
    if isinstance(error, DeviceFaultError):
        return error.fault
    kind = type(error)
    if isinstance(error, MemoryError) and kind.__module__.partition(".")[0] == "cupy":
        return _no_memory(" ".join(str(error).split()), kind.__name__)
    status = getattr(error, "status", None)
    if kind.__name__ not in _ERRORS_WITH_STATUS or not isinstance(status, int):
        return None
    return fault_of_status(status, str(error))


def fault_of_status(status: int, text: str = "") -> DeviceFault | None:
    """What a ``cudaError_t`` says about the device; ``text`` is CUDA's ``name: sentence``.

    ``None`` for an error that only says that one call was wrong.
    """
    name = text.partition(":")[0].strip() or f"CUDA error {status}"
    if status == _OUT_OF_MEMORY:
        return _no_memory("the GPU's memory is full", name)
    if status in _KERNEL_FAULTS:
        cause, next_step, kind = _KERNEL_FAULTS[status], _SANITIZE, FaultKind.KERNEL
    elif status in _DEVICE_FAULTS:
        (cause, next_step), kind = _DEVICE_FAULTS[status], FaultKind.DEVICE
    else:
        return None
    return DeviceFault(
        kind=kind, name=name, cause=cause, next_step=next_step, sticky=status in STICKY
    )


def device_failure(error: BaseException) -> str | None:
    """One line when ``error`` says nothing about the code under test; ``None`` when it may.

    A faulting kernel counts against the code under test only where that code itself met the error: the
    harness's own calls (``DeviceFaultError``) meet what an earlier call left behind.
    """
    if isinstance(error, DeviceFaultError):
        return str(error)
    fault = fault_of(error)
    return None if fault is None or fault.kind is FaultKind.KERNEL else str(fault)


def _no_memory(cause: str, name: str) -> DeviceFault:
    return DeviceFault(
        kind=FaultKind.MEMORY,
        name=name,
        cause=cause.rstrip("."),
        next_step="run a smaller case, or end what else uses the GPU (`nvidia-smi`)",
        sticky=False,
    )
