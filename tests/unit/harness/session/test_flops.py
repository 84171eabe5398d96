"""The operations a case declares, and the matrix product they are held against."""

from dataclasses import dataclass
from typing import Any

import pytest
from toy_workload import Toy, ToyCase, verdict_of

from harness.devices.cpu import CpuDevice
from harness.devices.simulated import SimulatedDevice
from harness.errors import UnavailableError, WorkloadError
from harness.session.declared import declared_by
from harness.session.matmul import MatmulMeter


@dataclass(frozen=True, kw_only=True)
class Counted(ToyCase):
    flops: Any = None


@pytest.mark.parametrize(("flops", "read"), [(128, 128.0), (1e9, 1e9), (None, None)])
def test_flops_are_read_where_they_are_declared(flops, read):
    assert declared_by(Counted(flops=flops)).flops == read
    assert declared_by(ToyCase()).flops is None
    assert verdict_of(Toy(case=Counted(flops=flops))).flops_per_call == read


@pytest.mark.parametrize("flops", [0, -1.0, True, "many", float("nan"), float("inf"), 1j])
def test_flops_that_count_nothing_are_refused_with_what_to_give(flops):
    with pytest.raises(
        WorkloadError, match=r"toy: flops is .*; give the floating-point operations"
    ):
        declared_by(Counted(flops=flops))


@pytest.mark.parametrize("device", [CpuDevice(), SimulatedDevice()], ids=lambda each: each.name)
def test_a_device_has_a_roof_measured_once(device):
    meter = MatmulMeter(device)
    meter.measure()
    rate = meter.result
    assert rate is not None
    assert (rate.device, rate.dtype) == (device.name, "float32")
    assert 1e7 < rate.flops_per_second < 1e15
    assert rate.size in (256, 512, 1024, 2048, 4096)
    meter.measure()
    assert meter.result is rate


class Broken(CpuDevice):
    asked = 0

    def to_device(self, array):
        self.asked += 1
        raise MemoryError("no room")


def test_a_device_that_cannot_multiply_has_a_sentence_instead():
    device = Broken()
    meter = MatmulMeter(device)
    meter.measure()
    meter.measure()
    assert (meter.result, device.asked) == (None, 1)
    assert "the matrix product of cpu was not timed" in meter.problem
    assert "no room" in meter.problem


def test_a_clock_that_stands_still_is_a_sentence_too():
    class Still(CpuDevice):
        def timer(self):
            raise UnavailableError("no clock")

    meter = MatmulMeter(Still())
    meter.measure()
    assert meter.problem.endswith("no clock")
