"""The CUDA device: what it needs, told one thing at a time, and what it does with arrays.

Arrays are those of the simulated namespace, which follows CuPy; the CUDA runtime is scripted.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harness.devices.base import GpuIdentity
from harness.devices.cuda_faults import DeviceFaultError
from harness.devices.cupy import CudaDevice, gpu_identity
from harness.errors import ExitCode, UnavailableError
from harness.model.outcome import Outcome
from harness.probes.simulated import SimulatedProbe
from harness.probes.simulated import namespace as xp
from harness.session.observe import positive_control


class CUDARuntimeError(RuntimeError):
    """Has what CuPy's exception of this name has."""

    def __init__(self, status: int, name: str) -> None:
        super().__init__(f"{name}: as CUDA says it")
        self.status = status


PROPERTIES = {
    "name": b"NVIDIA H200",
    "major": 9,
    "minor": 0,
    "l2CacheSize": 50 << 20,
    "uuid": bytes(range(1, 17)),
}


@dataclass
class Machine:
    """A machine with GPUs as CuPy would describe it; ``fails`` maps a runtime call to the error it gives."""

    driver: int = 13000
    built_for: int = 13020
    count: int = 1
    properties: dict[str, Any] = field(default_factory=lambda: dict(PROPERTIES))
    fails: dict[str, Exception] = field(default_factory=dict)
    is_hip: bool = False
    used: list[int] = field(default_factory=list)
    uploaded: list[Any] = field(default_factory=list)

    def library(self, name: str) -> Any:
        def version(pointer: Any) -> int:
            ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int))[0] = self.driver
            return 0

        return SimpleNamespace(cuDriverGetVersion=version)

    def cupy(self) -> Any:
        return _Cupy(self)

    def answer(self, call: str, value: Any = None) -> Any:
        if call in self.fails:
            raise self.fails[call]
        return value

    def device(self, index: int = 0, **options: Any) -> CudaDevice:
        arguments: dict[str, Any] = {
            "probe": SimulatedProbe,
            "import_cupy": self.cupy,
            "load_library": self.library,
            "variables": {},
        }
        return CudaDevice(index, **(arguments | options))


class _Cupy:
    """The simulated namespace with a runtime that can fail."""

    def __init__(self, machine: Machine) -> None:
        class Device:
            def __init__(self, index: int) -> None:
                self.index = index

            def use(self) -> None:
                machine.answer("use")
                machine.used.append(self.index)

            def synchronize(self) -> None:
                machine.answer("synchronize")

            @property
            def mem_info(self) -> tuple[int, int]:
                return machine.answer("mem_info", (1_000_000_000, 141_000_000_000))

        self._machine = machine
        self.cuda = SimpleNamespace(
            Device=Device,
            Stream=xp.cuda.Stream,
            Event=xp.cuda.Event,
            get_current_stream=xp.cuda.get_current_stream,
            nvrtc=SimpleNamespace(getVersion=lambda: machine.answer("nvrtc", (13, 0))),
            runtime=SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                is_hip=machine.is_hip,
                getDeviceCount=lambda: machine.answer("getDeviceCount", machine.count),
                runtimeGetVersion=lambda: machine.built_for,
                getDeviceProperties=lambda index: machine.answer(
                    "getDeviceProperties", machine.properties
                ),
                deviceGetPCIBusId=lambda index: "0000:3B:00.0",
                deviceSynchronize=lambda: machine.answer("deviceSynchronize"),
            ),
        )

    def array(self, host: np.ndarray[Any, Any], **options: Any) -> Any:
        self._machine.answer("array")
        self._machine.uploaded.append(host)
        return xp.array(host, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(xp, name)


def refusal(make: Callable[[], object]) -> str:
    with pytest.raises(UnavailableError) as caught:
        make()
    text = str(caught.value)
    assert caught.value.exit_code is ExitCode.UNAVAILABLE
    assert text.startswith("device 'cuda:")
    assert "\n" not in text
    return text


# --- what is missing ------------------------------------------------------------------------------------


def test_no_driver_gives_the_install_line_and_the_way_without_a_gpu():
    def no_library(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    text = refusal(lambda: Machine().device(load_library=no_library))
    assert "libcuda.so.1: cannot open" in text
    assert '"ondevice-harness[cuda13]"' in text
    assert '"ondevice-harness[cuda12]"' in text
    assert "--device auto" in text


@pytest.mark.parametrize(("driver", "extra"), [(13010, "cuda13"), (12040, "cuda12")])
def test_without_cupy_the_install_line_is_that_of_the_driver(driver, extra):
    def missing() -> Any:
        raise ModuleNotFoundError("No module named 'cupy'", name="cupy")

    text = refusal(lambda: Machine(driver=driver).device(import_cupy=missing))
    assert f'python -m pip install "ondevice-harness[{extra}]"' in text
    assert text.count("pip install") == 1


def test_a_cupy_that_does_not_import_says_why_in_one_line():
    def broken() -> Any:
        raise ImportError("libcudart.so.13:\n cannot open shared object file")

    text = refusal(lambda: Machine().device(import_cupy=broken))
    assert "CuPy does not import (ImportError: libcudart.so.13: cannot open" in text


def test_a_module_missing_inside_cupy_is_not_taken_for_cupy_missing():
    def broken() -> Any:
        raise ModuleNotFoundError("No module named 'fastrlock'", name="fastrlock")

    assert "CuPy does not import" in refusal(lambda: Machine().device(import_cupy=broken))


def test_a_cupy_for_a_newer_cuda_than_the_driver_gives_both_versions_and_both_ways_out():
    insufficient = {"getDeviceCount": CUDARuntimeError(35, "cudaErrorInsufficientDriver")}
    text = refusal(Machine(driver=12040, fails=insufficient).device)
    assert "supports CUDA 12.4 and this CuPy is built for 13.2" in text
    assert "pip uninstall cupy-cuda13x" in text
    assert '"ondevice-harness[cuda12]"' in text
    assert "580 or newer" in text


def test_a_driver_older_than_cupy_14_needs_is_to_be_updated():
    text = refusal(Machine(driver=11080).device)
    assert "supports CUDA 11.8 and CuPy 14 needs 12.0" in text
    assert "525" in text


def test_a_stub_driver_library_is_named():
    assert "does not say its version" in refusal(Machine(driver=0).device)


def test_an_index_out_of_range_says_how_many_there_are_and_who_hides_the_others():
    text = refusal(lambda: Machine(count=2).device(2, variables={"CUDA_VISIBLE_DEVICES": "0,1"}))
    assert "only 2 GPUs here (CUDA_VISIBLE_DEVICES='0,1')" in text
    assert text.endswith("use cuda:0, cuda:1")


@pytest.mark.parametrize(
    "machine",
    [
        Machine(count=0),
        Machine(fails={"getDeviceCount": CUDARuntimeError(100, "cudaErrorNoDevice")}),
    ],
)
def test_a_driver_without_a_gpu_says_so(machine):
    assert "the driver sees no GPU" in refusal(machine.device)


def test_a_gpu_too_old_for_this_cuda_gets_the_cupy_that_still_supports_it():
    volta = Machine(properties=PROPERTIES | {"major": 7, "minor": 0})
    text = refusal(volta.device)
    assert "compute capability 7.0 is too old for CUDA 13, which starts at 7.5" in text
    assert text.endswith('then python -m pip install "ondevice-harness[cuda12]"')
    volta.built_for = 12090
    assert volta.device().name == "cuda:0"


def test_a_missing_kernel_compiler_is_noticed_before_the_first_kernel():
    text = refusal(Machine(fails={"nvrtc": RuntimeError("no libnvrtc.so.13")}).device)
    assert "NVRTC" in text
    assert '"ondevice-harness[cuda13]"' in text


@pytest.mark.parametrize(
    ("status", "name", "cause"),
    [
        (2, "cudaErrorMemoryAllocation", "memory is full"),
        (46, "cudaErrorDevicesUnavailable", "busy or reserved"),
        (802, "cudaErrorSystemNotReady", "fabricmanager"),
        (803, "cudaErrorSystemDriverMismatch", "reboot"),
    ],
)
def test_a_gpu_that_refuses_a_context_says_why(status, name, cause):
    text = refusal(Machine(fails={"deviceSynchronize": CUDARuntimeError(status, name)}).device)
    assert cause in text
    assert name in text


def test_a_cupy_for_rocm_is_refused():
    assert "ROCm" in refusal(Machine(is_hip=True).device)


def test_a_missing_probe_package_passes_its_own_line_on():
    def no_cupti() -> Any:
        raise UnavailableError("cupti-python is not installed; python -m pip install cupti-python")

    text = refusal(lambda: Machine().device(probe=no_cupti))
    assert text.endswith("cupti-python is not installed; python -m pip install cupti-python")


def test_this_machine_answers_in_one_line_or_has_a_gpu():
    try:
        device = CudaDevice(0, probe=lambda: None)
    except UnavailableError as error:
        assert "pip install" in str(error) or "driver" in str(error)  # noqa: PT017 - either way
    else:
        assert device.name == "cuda:0"


def test_the_real_cupy_without_a_driver_is_an_old_driver():
    cupy = pytest.importorskip("cupy", reason="python -m pip install cupy-cuda13x")
    if cupy.cuda.is_available():
        pytest.skip("there is a GPU")
    built = cupy.cuda.runtime.runtimeGetVersion()
    text = refusal(
        lambda: CudaDevice(
            0,
            probe=lambda: None,
            import_cupy=lambda: cupy,
            load_library=Machine(driver=12020).library,
            variables={},
        )
    )
    assert f"CUDA 12.2 and this CuPy is built for {built // 1000}." in text


# --- arrays ---------------------------------------------------------------------------------------------


LAYOUTS = {
    "rows": np.arange(12, dtype=np.float32).reshape(3, 4),
    "columns": np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4)),
    "channels last": np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(0, 2, 1),
    "every other": np.arange(24, dtype=np.int64).reshape(4, 6)[:, ::2],
    "backwards": np.arange(6, dtype=np.float64)[::-1],
    "repeated": np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3)),
    "scalar": np.array(3.0, dtype=np.float32),
    "empty": np.empty((0, 5), dtype=np.int32),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shares_memory", [False, True])
def test_a_copy_on_the_device_has_the_values_and_the_order_of_a_numpy_copy(layout, shares_memory):
    host = LAYOUTS[layout]
    device = Machine().device(variables={"CUPY_ENABLE_UMP": "1"} if shares_memory else {})
    held = device.to_device(host)
    assert device.owns(held)
    assert held.dtype == host.dtype
    assert held.strides == host.copy(order="K").strides
    np.testing.assert_array_equal(device.to_host(held), host)


def test_only_arrays_of_this_gpu_are_its_own():
    device = Machine(count=2).device(1)
    elsewhere = xp.zeros(3)  # the simulated device is number 0
    assert not device.owns(elsewhere)
    with pytest.raises(TypeError, match="expected an array on cuda:1, got one on cuda:0"):
        device.to_host(elsewhere)


@pytest.mark.parametrize("stranger", [np.zeros(2), [1.0], 3.0, None])
def test_a_host_value_is_refused_by_type(stranger):
    device = Machine().device()
    assert not device.owns(stranger)
    with pytest.raises(TypeError, match=r"expected an array on cuda:0, got (numpy|builtins)\."):
        device.to_host(stranger)


def test_the_gpu_is_the_current_one_after_every_copy_to_it():
    machine = Machine(count=4)
    device = machine.device(3)
    machine.used.clear()
    device.to_device(np.zeros(2))
    assert machine.used == [3]


def test_where_memory_is_shared_neither_side_gets_the_others():
    """CuPy then makes a device array of the host's own memory, and ``get`` gives the device's."""

    class Shared:
        device = 0

        def __init__(self, memory: np.ndarray[Any, Any]) -> None:
            self.memory = memory

        def get(self) -> np.ndarray[Any, Any]:
            return self.memory

    machine = Machine()
    cupy = machine.cupy()
    cupy.ndarray = Shared
    host, held = np.arange(4.0), Shared(np.arange(3.0))
    for shares, variables in ((True, {"CUPY_ENABLE_UMP": "1"}), (False, {})):
        device = machine.device(import_cupy=lambda: cupy, variables=variables)
        device.to_device(host)
        assert np.shares_memory(machine.uploaded[-1], host) is not shares
        assert np.shares_memory(device.to_host(held), held.memory) is not shares


# --- the probe ------------------------------------------------------------------------------------------


def test_its_plants_are_seen_exactly_by_a_probe_that_sees():
    result = positive_control(Machine().device())
    assert result is not None
    assert result.outcome is Outcome.PASSED, result


def test_shared_memory_is_told_since_no_probe_can_see_it():
    assert Machine().device().notes == ()
    (note,) = Machine().device(variables={"CUPY_ENABLE_UMP": "1"}).notes
    assert "CUPY_ENABLE_UMP" in note
    assert Machine().device(variables={"CUPY_ENABLE_UMP": "0"}).notes == ()


# --- the copy -------------------------------------------------------------------------------------------


class _Memory:
    """An array whose bytes are copied by its pointer, as CuPy's are."""

    def __init__(self, size_bytes: int) -> None:
        self.data = self
        self.size_bytes = size_bytes
        self.copied: list[tuple[_Memory, int]] = []

    def copy_from_device_async(self, source: _Memory, size_bytes: int) -> None:
        self.copied.append((source, size_bytes))


def test_a_copy_is_the_drivers_own_between_two_places_on_the_gpu():
    made: list[_Memory] = []

    def zeros(size_bytes: int, dtype: Any) -> _Memory:
        assert dtype is np.uint8
        made.append(_Memory(size_bytes))
        return made[-1]

    machine = Machine()
    cupy = machine.cupy()
    cupy.zeros = zeros
    copy = machine.device(index=0, import_cupy=lambda: cupy).copier(1 << 20)
    copy()
    source, target = made
    assert source.size_bytes == target.size_bytes == 1 << 20
    assert target.copied == [(source, 1 << 20)]
    assert source.copied == []


def test_a_gpu_too_full_for_two_buffers_says_so():
    machine = Machine()
    cupy = machine.cupy()

    def zeros(size_bytes: int, dtype: Any) -> Any:
        raise CUDARuntimeError(2, "cudaErrorMemoryAllocation")

    cupy.zeros = zeros
    device = machine.device(import_cupy=lambda: cupy)
    with pytest.raises(MemoryError, match=r"while allocating what it copies.* are free"):
        device.copier(1 << 40)


# --- mid-run --------------------------------------------------------------------------------------------


def test_what_an_earlier_kernel_broke_is_named_when_the_harness_meets_it():
    machine = Machine()
    device = machine.device()
    held = device.to_device(np.zeros(2))
    machine.fails["synchronize"] = CUDARuntimeError(700, "cudaErrorIllegalAddress")
    for meet in (device.synchronize, lambda: device.to_host(held), device.plants):
        with pytest.raises(DeviceFaultError, match=r"stopped while .*memory that is not its own"):
            meet()


def test_a_full_gpu_says_how_full_and_is_a_memory_error():
    machine = Machine()
    device = machine.device()
    machine.fails["array"] = CUDARuntimeError(2, "cudaErrorMemoryAllocation")
    with pytest.raises(MemoryError, match=r"cuda:0 while .*1\.00 GB of 141 GB are free"):
        device.to_device(np.zeros(2))


def test_a_full_gpu_that_answers_nothing_else_still_says_it_is_full():
    machine = Machine()
    device = machine.device()
    full = CUDARuntimeError(2, "cudaErrorMemoryAllocation")
    machine.fails |= {"array": full, "mem_info": full}
    with pytest.raises(MemoryError, match="memory is full"):
        device.to_device(np.zeros(2))


def test_a_refused_dtype_is_not_dressed_up_as_a_broken_gpu():
    with pytest.raises((TypeError, ValueError)):
        Machine().device().to_device(np.array(["text"]))


# --- identity and layout --------------------------------------------------------------------------------


def test_its_identity_is_what_cuda_says():
    expected = GpuIdentity(
        index=0,
        name="NVIDIA H200",
        compute_capability="9.0",
        pci_bus_id="0000:3B:00.0",
        uuid="0102030405060708090a0b0c0d0e0f10",
        cuda_runtime="13.2",
    )
    machine = Machine()
    assert machine.device().identity == expected
    assert gpu_identity(0, machine.cupy) == expected


def test_a_uuid_cut_short_at_a_zero_byte_is_no_uuid():
    machine = Machine(properties=PROPERTIES | {"uuid": b"\x01\x02"})
    assert machine.device().identity.uuid == ""


def test_a_changed_layout_lives_as_long_as_it_is_held():
    blocks = Machine().device().change_layout(random.Random(0))
    assert isinstance(blocks, list)
    assert all(1 << 20 <= block.nbytes <= 4 << 20 for block in blocks)
