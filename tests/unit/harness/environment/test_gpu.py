"""From what a GPU says to facts, hard and soft."""

from __future__ import annotations

import pytest

from harness.devices.base import GpuIdentity
from harness.environment.gpu import GpuReadings, mig_profile, readings_facts

IDENTITY = GpuIdentity(
    index=0,
    name="NVIDIA H200",
    compute_capability="9.0",
    pci_bus_id="0000:3B:00.0",
    uuid="00" * 16,
    cuda_runtime="13.2",
)
FULL = GpuReadings(
    identity=IDENTITY,
    uuid="GPU-1234",
    driver="580.65.06",
    driver_cuda=13000,
    vbios="96.00",
    clocks={"sm": 1980, "memory": 3201},
    max_clocks={"sm": 1980, "memory": 3201},
    power_limit=700_000,
    temperature=41,
    ecc=True,
    persistence=False,
    compute_mode=0,
    performance_state=0,
    pcie=(4, 16),
    pcie_max=(5, 16),
)


def test_what_decides_comparability_is_the_kind_of_gpu_and_of_software():
    assert readings_facts([FULL]).hard == {
        "gpu.name": "NVIDIA H200",
        "gpu.compute_capability": "9.0",
        "gpu.cuda_runtime": "13.2",
        "gpu.driver_branch": "580",
    }


def test_what_explains_is_this_gpu_and_this_moment():
    assert readings_facts([FULL]).soft == {
        "gpu.clock.memory": "3201 MHz",
        "gpu.clock.memory_max": "3201 MHz",
        "gpu.clock.sm": "1980 MHz",
        "gpu.clock.sm_max": "1980 MHz",
        "gpu.compute_mode": "default",
        "gpu.driver": "580.65.06",
        "gpu.driver_cuda": "13.0",
        "gpu.ecc": "on",
        "gpu.pci_bus_id": "0000:3B:00.0",
        "gpu.pcie": "gen 4 x16 of gen 5 x16",
        "gpu.performance_state": "P0",
        "gpu.persistence": "off",
        "gpu.power_limit": "700 W",
        "gpu.temperature": "41 C",
        "gpu.uuid": "GPU-1234",
        "gpu.vbios": "96.00",
    }


def test_a_gpu_without_nvml_has_the_same_hard_facts_but_the_drivers_branch():
    bare = readings_facts([GpuReadings(identity=IDENTITY, missing="NVML is not read: why")])
    assert bare.hard == {
        name: value
        for name, value in readings_facts([FULL]).hard.items()
        if name != "gpu.driver_branch"
    }
    assert bare.soft == {
        "gpu.nvml": "NVML is not read: why",
        "gpu.pci_bus_id": "0000:3B:00.0",
    }


def test_zero_is_an_answer_and_no_answer_is_no_fact():
    cold = readings_facts([GpuReadings(identity=IDENTITY, temperature=0, performance_state=0)]).soft
    assert cold["gpu.temperature"] == "0 C"
    assert cold["gpu.performance_state"] == "P0"
    assert "gpu.ecc" not in cold


def test_each_gpu_has_facts_of_its_own():
    hard = readings_facts([FULL, FULL]).hard
    assert hard["gpu.name"] == hard["gpu.1.name"] == "NVIDIA H200"


@pytest.mark.parametrize(
    ("name", "memory_mb", "slices", "profile"),
    [
        ("NVIDIA H200 MIG 1g.18gb", None, None, "1g.18gb"),
        ("NVIDIA A100-SXM4-40GB MIG 1c.2g.10gb", 9856, 2, "1c.2g.10gb"),
        ("NVIDIA H200 MIG 1g.18gb+me", None, None, "1g.18gb+me"),
        ("NVIDIA H200", 16384, 1, "1g.16gb"),
        ("NVIDIA H200", None, None, ""),
    ],
)
def test_the_profile_of_a_mig_instance_is_read_off_its_name_else_off_its_size(
    name, memory_mb, slices, profile
):
    assert mig_profile(name, memory_mb=memory_mb, slices=slices) == profile


def test_a_mig_instance_is_another_kind_of_gpu():
    instance = readings_facts([GpuReadings(identity=IDENTITY, mig="1g.18gb")]).hard
    assert instance["gpu.mig_profile"] == "1g.18gb"
    assert "gpu.mig_profile" not in readings_facts([FULL]).hard
