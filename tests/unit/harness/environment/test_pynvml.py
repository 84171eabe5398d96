"""NVML as it answers and as it does not: a scripted module with the constants and exceptions of the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from harness.devices.base import GpuIdentity
from harness.environment.gpu_conditions import GpuUse, Limiter, Phase
from harness.environment.machine import fingerprint
from harness.environment.pynvml import (
    Gpu,
    GpuLostError,
    Nvml,
    gpu_facts,
    nvml_state,
    open_nvml,
)
from harness.errors import UnavailableError

pynvml = pytest.importorskip("pynvml", reason="python -m pip install nvidia-ml-py")

IDENTITY = GpuIdentity(
    index=0,
    name="NVIDIA H200",
    compute_capability="9.0",
    pci_bus_id="0000:3B:00.0",
    uuid="0102030405060708090a0b0c0d0e0f10",
    cuda_runtime="13.2",
)
UUID = "01020304-0506-0708-090a-0b0c0d0e0f10"

ANSWERS: dict[str, Any] = {
    "nvmlInit": None,
    "nvmlShutdown": None,
    "nvmlDeviceGetHandleByPciBusId": "whole",
    "nvmlDeviceGetMigMode": [0, 0],
    "nvmlDeviceGetUUID": f"GPU-{UUID}",
    "nvmlSystemGetDriverVersion": "580.65.06",
    "nvmlSystemGetCudaDriverVersion_v2": 13000,
    "nvmlDeviceGetVbiosVersion": "96.00.A5",
    "nvmlDeviceGetClockInfo": 1980,
    "nvmlDeviceGetMaxClockInfo": 2010,
    "nvmlDeviceGetEnforcedPowerLimit": 700_000,
    "nvmlDeviceGetTemperature": 41,
    "nvmlDeviceGetPowerUsage": 210_500,
    "nvmlDeviceGetEccMode": [1, 1],
    "nvmlDeviceGetPersistenceMode": 1,
    "nvmlDeviceGetComputeMode": 0,
    "nvmlDeviceGetPerformanceState": 0,
    "nvmlDeviceGetCurrPcieLinkGeneration": 5,
    "nvmlDeviceGetCurrPcieLinkWidth": 16,
    "nvmlDeviceGetMaxPcieLinkGeneration": 5,
    "nvmlDeviceGetMaxPcieLinkWidth": 16,
    "nvmlDeviceGetCurrentClocksEventReasons": 0x4,
    "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=50),
    "nvmlDeviceGetComputeRunningProcesses": [],
    "nvmlDeviceGetMPSComputeRunningProcesses": [],
}


class Module:
    """``pynvml`` with scripted functions: a value, an exception to raise, or a function to call."""

    def __init__(self, **answers: Any) -> None:
        self.answers = ANSWERS | answers
        self.asked: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml") or not name[4:5].isupper():
            return getattr(pynvml, name)  # constants and exceptions are the real ones
        answer = self.answers.get(name, pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED))

        def question(*about: Any) -> Any:
            self.asked.append((name, *about))
            if isinstance(answer, Exception):
                raise answer
            return answer(*about) if callable(answer) else answer

        return question


def error(code: int) -> Exception:
    made: Exception = pynvml.NVMLError(code)
    return made


def facts(module: Any, devices: list[str] | None = None) -> Any:
    return gpu_facts(
        devices or ["cuda:0"], identify=lambda index: IDENTITY, import_pynvml=lambda: module
    )


def counter(field: int, value: int, *, kind: int = 3, status: int = 0) -> Any:
    """One answer of ``nvmlDeviceGetFieldValues``, in NVML's own structure."""
    made = pynvml.c_nvmlFieldValue_t()
    made.fieldId, made.valueType, made.nvmlReturn = field, kind, status
    setattr(made.value, {1: "uiVal", 3: "ullVal"}[kind], value)
    return made


# --- no NVML --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("NVML_ERROR_LIBRARY_NOT_FOUND", "libnvidia-ml.so.1 is not here"),
        ("NVML_ERROR_DRIVER_NOT_LOADED", "not loaded"),
        ("NVML_ERROR_LIB_RM_VERSION_MISMATCH", "reboot"),
        ("NVML_ERROR_NO_PERMISSION", "/dev/nvidiactl"),
        ("NVML_ERROR_UNKNOWN", "nvidia-smi"),
    ],
)
def test_an_nvml_that_does_not_start_is_told_once_and_raises_nothing(code, cause):
    module = Module(nvmlInit=error(getattr(pynvml, code)))
    found = facts(module)
    assert cause in found.soft["gpu.nvml"]
    assert found.hard["gpu.name"] == "NVIDIA H200"
    assert nvml_state(lambda: module) == found.soft["gpu.nvml"]


def test_a_missing_package_gives_the_install_line():
    def missing() -> Any:
        raise ImportError("No module named 'pynvml'")

    assert nvml_state(missing).endswith("python -m pip install nvidia-ml-py")


def test_this_machine_has_nvml_or_says_why_not():
    state = nvml_state()
    assert state == "" or state.startswith("NVML is not read: ")


def test_without_a_gpu_among_the_devices_nothing_is_imported_or_asked():
    def never(*about: Any) -> Any:
        raise AssertionError("asked")

    nothing = gpu_facts(["cpu", "simulated"], identify=never, import_pynvml=never)
    assert nothing.hard == nothing.soft == {}


def test_importing_this_part_imports_neither_cupy_nor_pynvml():
    code = (
        "import sys, harness.environment.pynvml, harness.environment.gpu_monitor; "
        "print(sorted({'cupy', 'pynvml'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"


# --- facts ----------------------------------------------------------------------------------------------


def test_a_fingerprint_takes_the_facts_of_the_gpu():
    found = fingerprint(["cuda:0"], more=[lambda devices: facts(Module(), list(devices))])
    assert found.hard["gpu.driver_branch"] == "580"
    assert found.soft["gpu.uuid"] == f"GPU-{UUID}"
    assert found.soft["gpu.clock.sm_max"] == "2010 MHz"
    assert found.soft["gpu.pcie"] == "gen 5 x16 of gen 5 x16"


def test_a_gpu_is_found_by_its_bus_since_nvml_numbers_gpus_its_own_way():
    module = Module()
    facts(module)
    assert ("nvmlDeviceGetHandleByPciBusId", "0000:3B:00.0") in module.asked
    assert not [asked for asked in module.asked if asked[0] == "nvmlDeviceGetHandleByIndex"]


def test_where_the_bus_is_not_told_the_uuid_finds_it():
    module = Module(
        nvmlDeviceGetHandleByPciBusId=error(pynvml.NVML_ERROR_NOT_FOUND),
        nvmlDeviceGetHandleByUUID=lambda uuid: {f"GPU-{UUID}": "whole"}[uuid],
    )
    assert Nvml(module).find(IDENTITY) == Gpu("whole")


def test_a_gpu_nvml_does_not_know_is_a_missing_fact():
    module = Module(nvmlDeviceGetHandleByPciBusId=error(pynvml.NVML_ERROR_NOT_FOUND))
    assert facts(module).soft["gpu.nvml"] == "NVML knows no GPU at 0000:3B:00.0"


@pytest.mark.parametrize("name", sorted(name for name in ANSWERS if "DeviceGet" in name))
@pytest.mark.parametrize(
    "code",
    ["NVML_ERROR_NOT_SUPPORTED", "NVML_ERROR_NO_PERMISSION", "NVML_ERROR_FUNCTION_NOT_FOUND"],
)
def test_any_question_may_go_unanswered(name, code):
    found = facts(Module(**{name: error(getattr(pynvml, code))}))
    assert found.hard["gpu.name"] == "NVIDIA H200"
    Nvml(Module(**{name: error(getattr(pynvml, code))})).sample(Gpu("whole"), Phase.BEFORE)


def test_a_driver_too_old_for_a_versioned_call_gives_no_answer_instead_of_an_error():
    mismatch = pynvml.NVMLLibraryMismatchError("Unversioned function called")
    module = Module(nvmlDeviceGetComputeRunningProcesses=mismatch)
    sample = Nvml(module).sample(Gpu("whole"), Phase.BEFORE)
    assert sample.tenants == ()  # from the question that was answered


def test_a_function_an_old_package_lacks_is_no_answer():
    class Old:
        NVMLError = pynvml.NVMLError
        NVMLError_GpuIsLost = pynvml.NVMLError_GpuIsLost
        NVMLError_ResetRequired = pynvml.NVMLError_ResetRequired

    sample = Nvml(Old()).sample(Gpu("whole"), Phase.DURING)
    assert (sample.reasons, sample.sm_clock, sample.held_ns) == (None, None, {})


def test_text_of_an_old_package_comes_in_bytes():
    found = facts(Module(nvmlSystemGetDriverVersion=b"470.256.02"))
    assert found.hard["gpu.driver_branch"] == "470"


def test_a_gpu_cuda_itself_has_lost_has_no_facts_and_raises_nothing():
    def lost(index: int) -> Any:
        raise RuntimeError("cudaErrorUnknown: unknown error")

    found = gpu_facts(["cuda:0"], identify=lost, import_pynvml=Module)
    assert found.hard == {}
    assert "cudaErrorUnknown" in found.soft["gpu.state"]


@pytest.mark.parametrize("code", ["NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_RESET_REQUIRED"])
def test_a_lost_gpu_is_told_and_not_taken_for_one_that_does_not_support_a_question(code):
    module = Module(nvmlDeviceGetTemperature=error(getattr(pynvml, code)))
    assert "NVML says" in facts(module).soft["gpu.nvml"]
    with pytest.raises(GpuLostError):
        Nvml(module).sample(Gpu("whole"), Phase.DURING)


# --- MIG ------------------------------------------------------------------------------------------------


def a_mig(**more: Any) -> Module:
    def by_uuid(uuid: str) -> str:
        if uuid != f"MIG-{UUID}":
            raise error(pynvml.NVML_ERROR_NOT_FOUND)
        return "instance"

    answers: dict[str, Any] = {
        "nvmlDeviceGetMigMode": [1, 1],
        "nvmlDeviceGetHandleByUUID": by_uuid,
        "nvmlDeviceGetName": "NVIDIA H200 MIG 1g.18gb",
    }
    return Module(**(answers | more))


def test_the_profile_of_the_mig_instance_is_a_hard_fact():
    assert facts(a_mig()).hard["gpu.mig_profile"] == "1g.18gb"
    assert "gpu.mig_profile" not in facts(Module()).hard


def test_a_profile_the_name_does_not_hold_is_worked_out_from_its_size():
    size = SimpleNamespace(memorySizeMB=18_000, gpuInstanceSliceCount=1)
    module = a_mig(nvmlDeviceGetName="NVIDIA H200", nvmlDeviceGetAttributes_v2=size)
    assert facts(module).hard["gpu.mig_profile"] == "1g.18gb"


def test_the_only_instance_is_the_one_and_of_several_none_is_guessed():
    def instance(whole: str, number: int) -> str:
        if number not in there:
            raise error(pynvml.NVML_ERROR_NOT_FOUND)
        return f"instance {number}"

    module = a_mig(
        nvmlDeviceGetHandleByUUID=error(pynvml.NVML_ERROR_NOT_FOUND),
        nvmlDeviceGetMaxMigDeviceCount=7,
        nvmlDeviceGetMigDeviceHandleByIndex=instance,
    )
    there = {3}
    assert Nvml(module).find(IDENTITY) == Gpu("whole", "instance 3")
    there = {3, 4}
    assert Nvml(module).find(IDENTITY) == Gpu("whole", None)


def test_clocks_are_asked_of_the_whole_gpu_and_processes_of_the_instance():
    module = a_mig()
    Nvml(module).sample(Gpu("whole", "instance"), Phase.BEFORE)
    assert ("nvmlDeviceGetClockInfo", "whole", pynvml.NVML_CLOCK_SM) in module.asked
    assert ("nvmlDeviceGetComputeRunningProcesses", "instance") in module.asked


# --- samples --------------------------------------------------------------------------------------------


def test_a_sample_says_what_the_gpu_says():
    sample = Nvml(Module()).sample(Gpu("whole"), Phase.DURING)
    assert sample.reasons == Limiter.POWER_CAP.value
    assert (sample.sm_clock, sample.temperature, sample.power) == (1980, 41, 210_500)
    assert sample.utilization == 97
    assert sample.tenants is None  # asked for before and after only


def test_drivers_before_535_give_their_reasons_under_the_old_name():
    module = Module(
        nvmlDeviceGetCurrentClocksEventReasons=error(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND),
        nvmlDeviceGetCurrentClocksThrottleReasons=0x20,
    )
    assert Nvml(module).sample(Gpu("whole"), Phase.DURING).reasons == 0x20


def test_counters_are_read_by_their_type_and_those_without_an_answer_are_left_out():
    module = Module(
        nvmlDeviceGetFieldValues=lambda handle, fields: [
            counter(pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP, 2**40),
            counter(pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, 7, kind=1),
            counter(
                pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN,
                0,
                status=pynvml.NVML_ERROR_NOT_SUPPORTED,
            ),
        ]
    )
    held = Nvml(module).sample(Gpu("whole"), Phase.DURING).held_ns
    assert held == {Limiter.POWER_CAP: 2**40, Limiter.HARDWARE_THERMAL: 7}


def test_the_counters_asked_for_are_those_nvml_calls_by_these_names():
    asked: list[int] = []

    def fields(handle: str, numbers: list[int]) -> list[Any]:
        asked.extend(numbers)
        return []

    Nvml(Module(nvmlDeviceGetFieldValues=fields)).sample(Gpu("whole"), Phase.DURING)
    names = """
    NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST
    NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN
    NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT
    """
    assert sorted(asked) == sorted(getattr(pynvml, name) for name in names.split())


def test_the_bits_of_the_limiters_are_nvmls():
    names = {
        Limiter.POWER_CAP: "SwPowerCap",
        Limiter.HARDWARE_SLOWDOWN: "HwSlowdown",
        Limiter.SYNC_BOOST: "SyncBoost",
        Limiter.SOFTWARE_THERMAL: "SwThermalSlowdown",
        Limiter.HARDWARE_THERMAL: "HwThermalSlowdown",
        Limiter.POWER_BRAKE: "HwPowerBrakeSlowdown",
        Limiter.BOARD_LIMIT: "BoardLimit",
    }
    for limiter in Limiter:
        assert limiter.value == getattr(pynvml, f"nvmlClocksThrottleReason{names[limiter]}")


def test_processes_are_those_with_a_compute_context():
    module = Module(
        nvmlDeviceGetComputeRunningProcesses=[SimpleNamespace(pid=12), SimpleNamespace(pid=7)]
    )
    assert Nvml(module).sample(Gpu("whole"), Phase.BEFORE).tenants == (GpuUse(7), GpuUse(12))


def test_the_mps_server_is_nobodys_neighbour():
    names = {5: "/usr/bin/nvidia-cuda-mps-server", 12: "python"}
    module = Module(
        nvmlDeviceGetComputeRunningProcesses=[SimpleNamespace(pid=5)],
        nvmlDeviceGetMPSComputeRunningProcesses=[SimpleNamespace(pid=12)],
        nvmlSystemGetProcessName=lambda pid: names[pid],
    )
    assert Nvml(module).sample(Gpu("whole"), Phase.BEFORE).tenants == (GpuUse(12),)


def test_only_what_processes_did_since_is_told_and_impossible_shares_are_dropped():
    def use(pid: int, share: int, at: int) -> Any:
        return SimpleNamespace(pid=pid, smUtil=share, timeStamp=at)

    since = 1_000_000
    module = Module(
        nvmlDeviceGetProcessUtilization=lambda handle, seen: [
            use(12, 90, since + 5),
            use(13, 40, since - 5),
            use(14, 4_294_967, since + 5),
            use(0, 3, since + 5),
        ]
    )
    sample = Nvml(module).sample(Gpu("whole"), Phase.AFTER, since_us=since)
    assert sample.uses == (GpuUse(12, 90),)


def test_nvml_is_closed_again_whatever_happens():
    module = Module()

    def fail() -> None:
        with open_nvml(lambda: module):
            raise KeyError("inside")

    with pytest.raises(KeyError):
        fail()
    assert module.asked[-1] == ("nvmlShutdown",)


def test_an_nvml_that_died_meanwhile_can_still_be_left():
    module = Module(nvmlShutdown=error(pynvml.NVML_ERROR_UNINITIALIZED))
    with open_nvml(lambda: module):
        pass


def test_opening_says_why_it_cannot():
    opening: Callable[[], Any] = lambda: Module(nvmlInit=error(pynvml.NVML_ERROR_UNKNOWN))  # noqa: E731
    with pytest.raises(UnavailableError, match="NVML is not read"), open_nvml(opening):
        pass
