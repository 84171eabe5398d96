"""NVML through nvidia-ml-py: what a GPU is, and what it is doing right now. No NVML is a normal state."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from harness.devices.base import GpuIdentity
from harness.devices.cupy import gpu_identity
from harness.environment.facts import Facts
from harness.environment.gpu import GpuReadings, mig_profile, readings_facts
from harness.environment.gpu_conditions import GpuSample, GpuUse, Limiter, Phase
from harness.errors import UnavailableError

__all__ = ["Gpu", "GpuLostError", "Nvml", "gpu_facts", "nvml_state", "open_nvml"]

_INSTALL = "python -m pip install nvidia-ml-py"

_CLOCKS = {"sm": 1, "memory": 2}
"""``nvmlClockType_t``."""

_CORE_TEMPERATURE = 0
"""``NVML_TEMPERATURE_GPU``."""

_COUNTERS = {
    74: Limiter.POWER_CAP,
    76: Limiter.SYNC_BOOST,
    77: Limiter.BOARD_LIMIT,
    269: Limiter.SOFTWARE_THERMAL,
    270: Limiter.HARDWARE_THERMAL,
    271: Limiter.POWER_BRAKE,
}
"""Field numbers (``NVML_FI_DEV_CLOCKS_EVENT_REASON_*``, ``NVML_FI_DEV_PERF_POLICY_*``) of the cumulative times a
limiter acted for, in nanoseconds by nvml.h. Not yet compared with a throttling GPU."""

_VALUE_FIELDS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Members of ``nvmlValue_t`` in the order of ``nvmlValueType_t``."""

_MOST_PERCENT = 100
"""Some drivers report shares in the thousands for processes that are gone."""

_CUDA_NAME = re.compile(r"cuda:(\d+)")


class GpuLostError(Exception):
    """NVML says that the GPU fell off the bus or must be reset."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """NVML's handles of one GPU: the whole one, and its MIG instance if the program only sees that."""

    whole: Any
    instance: Any | None = None

    @property
    def visible(self) -> Any:
        """What this program may use of it."""
        return self.whole if self.instance is None else self.instance


def _import_pynvml() -> Any:
    import pynvml  # only when a GPU is asked about

    return pynvml


@contextmanager
def open_nvml(import_pynvml: Callable[[], Any] = _import_pynvml) -> Iterator[Nvml]:
    """NVML for as long as the context is open.

    Raises ``UnavailableError`` with the cause where the package, the library or the driver is missing.
    """
    try:
        module = import_pynvml()
    except ImportError as error:
        raise UnavailableError(f"NVML is not read: nvidia-ml-py is missing; {_INSTALL}") from error
    try:
        module.nvmlInit()
    except module.NVMLError as error:
        raise UnavailableError(f"NVML is not read: {_why(module, error)}") from error
    try:
        yield Nvml(module)
    finally:
        with suppress(module.NVMLError):  # after a lost GPU there is nothing left to close
            module.nvmlShutdown()


def nvml_state(import_pynvml: Callable[[], Any] = _import_pynvml) -> str:
    """Empty where NVML can be read, else why not."""
    try:
        with open_nvml(import_pynvml):
            return ""
    except UnavailableError as error:
        return str(error)


def gpu_facts(
    devices: Sequence[str],
    *,
    identify: Callable[[int], GpuIdentity] = gpu_identity,
    import_pynvml: Callable[[], Any] = _import_pynvml,
) -> Facts:
    """Facts about the GPUs among ``devices`` (``"cuda:0"``), without importing anything when there is none.

    Hard facts come from CUDA, so that they do not depend on NVML being readable; only the driver's branch does.
    Never raises for what NVML does not say. Costs about 20 ms per GPU, most of it starting NVML.
    """
    indices = [int(found[1]) for name in devices if (found := _CUDA_NAME.fullmatch(name))]
    if not indices:
        return Facts()
    try:
        identities = [identify(index) for index in sorted(set(indices))]
    except RuntimeError as error:  # CUDA's own errors: a lost GPU has no facts
        return Facts(soft={"gpu.state": f"CUDA does not say: {error}"})
    try:
        with open_nvml(import_pynvml) as nvml:
            return readings_facts([nvml.read(identity) for identity in identities])
    except UnavailableError as error:
        without = [GpuReadings(identity=identity, missing=str(error)) for identity in identities]
        return readings_facts(without)


class Nvml:
    """NVML once it is open. Every question may go unanswered, which is ``None``, never zero."""

    def __init__(self, module: Any) -> None:
        self._nvml = module

    def find(self, identity: GpuIdentity) -> Gpu | None:
        """The GPU CUDA calls ``identity``; by PCI bus id, since NVML ignores ``CUDA_VISIBLE_DEVICES``."""
        whole = self._ask("nvmlDeviceGetHandleByPciBusId", identity.pci_bus_id)
        if whole is None and identity.uuid:
            whole = self._ask("nvmlDeviceGetHandleByUUID", f"GPU-{_dashed(identity.uuid)}")
        if whole is None:
            return None
        mode = self._ask("nvmlDeviceGetMigMode", whole)
        if not mode or not mode[0]:
            return Gpu(whole)
        return Gpu(whole, self._instance(whole, identity))

    def read(self, identity: GpuIdentity) -> GpuReadings:
        """What the GPU is and how it is set up."""
        try:
            gpu = self.find(identity)
            if gpu is None:
                return GpuReadings(
                    identity=identity, missing=f"NVML knows no GPU at {identity.pci_bus_id}"
                )
            return self._readings(identity, gpu)
        except GpuLostError as error:
            return GpuReadings(identity=identity, missing=str(error))

    def sample(self, gpu: Gpu, phase: Phase, *, since_us: int | None = None) -> GpuSample:
        """What the GPU is doing; with ``since_us`` (Unix time) also who used it from then on.

        Processes are asked for before and after only: that takes milliseconds. Raises ``GpuLostError``.
        """
        busy = self._ask("nvmlDeviceGetUtilizationRates", gpu.whole)
        return GpuSample(
            phase=phase,
            at_ns=time.monotonic_ns(),
            reasons=self._reasons(gpu),
            held_ns=self._held(gpu),
            sm_clock=self._ask("nvmlDeviceGetClockInfo", gpu.whole, _CLOCKS["sm"]),
            temperature=self._ask("nvmlDeviceGetTemperature", gpu.whole, _CORE_TEMPERATURE),
            power=self._ask("nvmlDeviceGetPowerUsage", gpu.whole),
            utilization=None if busy is None else int(busy.gpu),
            tenants=None if phase is Phase.DURING else self._tenants(gpu),
            uses=None if since_us is None else self._uses(gpu, since_us),
        )

    def _readings(self, identity: GpuIdentity, gpu: Gpu) -> GpuReadings:
        ask, whole = self._ask, gpu.whole
        pcie = "nvmlDeviceGet{}PcieLink{}"
        ecc = ask("nvmlDeviceGetEccMode", whole)
        persistence = ask("nvmlDeviceGetPersistenceMode", whole)
        return GpuReadings(
            identity=identity,
            uuid=_text(ask("nvmlDeviceGetUUID", gpu.visible)),
            mig=self._profile(gpu),
            driver=_text(ask("nvmlSystemGetDriverVersion")),
            driver_cuda=ask("nvmlSystemGetCudaDriverVersion_v2"),
            vbios=_text(ask("nvmlDeviceGetVbiosVersion", whole)),
            clocks=self._clocks("nvmlDeviceGetClockInfo", whole),
            max_clocks=self._clocks("nvmlDeviceGetMaxClockInfo", whole),
            power_limit=ask("nvmlDeviceGetEnforcedPowerLimit", whole),
            temperature=ask("nvmlDeviceGetTemperature", whole, _CORE_TEMPERATURE),
            ecc=None if ecc is None else bool(ecc[0]),
            persistence=None if persistence is None else bool(persistence),
            compute_mode=ask("nvmlDeviceGetComputeMode", whole),
            performance_state=ask("nvmlDeviceGetPerformanceState", whole),
            pcie=_both(*(ask(pcie.format("Curr", of), whole) for of in ("Generation", "Width"))),
            pcie_max=_both(*(ask(pcie.format("Max", of), whole) for of in ("Generation", "Width"))),
        )

    def _instance(self, whole: Any, identity: GpuIdentity) -> Any | None:
        """The MIG instance this program sees: by its UUID, else the only one there is."""
        if identity.uuid:
            found = self._ask("nvmlDeviceGetHandleByUUID", f"MIG-{_dashed(identity.uuid)}")
            if found is not None:
                return found
        most = self._ask("nvmlDeviceGetMaxMigDeviceCount", whole) or 0
        handles = (
            self._ask("nvmlDeviceGetMigDeviceHandleByIndex", whole, number)
            for number in range(most)
        )
        there = [handle for handle in handles if handle is not None]
        return there[0] if len(there) == 1 else None

    def _profile(self, gpu: Gpu) -> str:
        if gpu.instance is None:
            return ""
        name = _text(self._ask("nvmlDeviceGetName", gpu.instance))
        attributes = self._ask("nvmlDeviceGetAttributes_v2", gpu.instance)
        return mig_profile(
            name,
            memory_mb=getattr(attributes, "memorySizeMB", None),
            slices=getattr(attributes, "gpuInstanceSliceCount", None),
        )

    def _clocks(self, question: str, whole: Any) -> dict[str, int]:
        answers = {kind: self._ask(question, whole, number) for kind, number in _CLOCKS.items()}
        return {kind: mhz for kind, mhz in answers.items() if mhz is not None}

    def _reasons(self, gpu: Gpu) -> int | None:
        reasons = self._ask("nvmlDeviceGetCurrentClocksEventReasons", gpu.whole)
        if reasons is None:  # drivers before 535 know it by its old name
            reasons = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", gpu.whole)
        return None if reasons is None else int(reasons)

    def _held(self, gpu: Gpu) -> dict[Limiter, int]:
        values = self._ask("nvmlDeviceGetFieldValues", gpu.whole, list(_COUNTERS))
        held = {}
        for value in values if values is not None else ():
            known = value.nvmlReturn == 0 and value.fieldId in _COUNTERS
            if known and 0 <= value.valueType < len(_VALUE_FIELDS):
                member = _VALUE_FIELDS[value.valueType]
                held[_COUNTERS[value.fieldId]] = int(getattr(value.value, member))
        return held

    def _tenants(self, gpu: Gpu) -> tuple[GpuUse, ...] | None:
        """Processes with a compute context on what this program sees; the MPS server works for its clients."""
        plain = self._ask("nvmlDeviceGetComputeRunningProcesses", gpu.visible)
        clients = self._ask("nvmlDeviceGetMPSComputeRunningProcesses", gpu.visible)
        if plain is None and clients is None:
            return None
        pids = {int(process.pid) for process in (*(plain or ()), *(clients or ()))}
        if clients:
            pids = {pid for pid in pids if "mps-server" not in self._process_name(pid)}
        return tuple(GpuUse(pid) for pid in sorted(pids))

    def _process_name(self, pid: int) -> str:
        return _text(self._ask("nvmlSystemGetProcessName", pid))

    def _uses(self, gpu: Gpu, since_us: int) -> tuple[GpuUse, ...] | None:
        """Shares of the multiprocessors per process; NVML keeps none for a MIG instance."""
        samples = self._ask("nvmlDeviceGetProcessUtilization", gpu.whole, since_us)
        if samples is None:
            return None
        return tuple(
            GpuUse(int(sample.pid), int(sample.smUtil))
            for sample in samples
            if sample.pid and sample.smUtil <= _MOST_PERCENT and sample.timeStamp >= since_us
        )

    def _ask(self, question: str, *about: Any) -> Any:
        """The answer, or ``None`` where the package, the driver, the GPU or the permissions give none."""
        getter = getattr(self._nvml, question, None)
        if getter is None:
            return None
        try:
            return getter(*about)
        except (self._nvml.NVMLError_GpuIsLost, self._nvml.NVMLError_ResetRequired) as error:
            raise GpuLostError(f"NVML says: {error}; see `dmesg | grep -i xid`") from error
        except (self._nvml.NVMLError, self._mismatch):
            return None

    @property
    def _mismatch(self) -> type[Exception]:
        """What newer packages raise when the driver lacks a versioned call; it is no ``NVMLError``."""
        found: type[Exception] = getattr(self._nvml, "NVMLLibraryMismatchError", GpuLostError)
        return found


def _why(module: Any, error: Any) -> str:
    """The cause of a failed start, and what to do."""
    known = {
        module.NVML_ERROR_LIBRARY_NOT_FOUND: "libnvidia-ml.so.1 is not here; it comes with the NVIDIA driver",
        module.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded; see `nvidia-smi`",
        module.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "the driver was updated while loaded; reboot",
        module.NVML_ERROR_NO_PERMISSION: "this user may not read /dev/nvidiactl",
    }
    return known.get(error.value, f"{error}; see `nvidia-smi`")


def _text(answer: Any) -> str:
    """Text of an answer: old packages answer in bytes."""
    if answer is None:
        return ""
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else str(answer)


def _both(first: Any, second: Any) -> tuple[int, int] | None:
    return None if first is None or second is None else (int(first), int(second))


def _dashed(uuid: str) -> str:
    return f"{uuid[:8]}-{uuid[8:12]}-{uuid[12:16]}-{uuid[16:20]}-{uuid[20:]}"
