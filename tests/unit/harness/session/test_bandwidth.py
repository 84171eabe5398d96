"""The copy bandwidth of a run: measured around what is timed, a roof and a canary, and never a correction."""

import numpy as np
import pytest
from builders import a_copy_bandwidth, a_verdict, an_estimate
from toy_workload import Toy, ToyCase

from harness.devices.cpu import CpuDevice
from harness.devices.registry import Devices, choose_devices
from harness.errors import UnavailableError
from harness.model.measurement import Throughput
from harness.session.bandwidth import SOFT_FACT, BandwidthMeter, canary, soft_fact, with_rates
from harness.session.catalogue import Selection
from harness.session.conduct import Request, conduct
from harness.session.verify import Settings

BRIEF = Settings(repeats=2, seconds_per_case=0.05)


def run_of(*cases, devices=None, settings=BRIEF):
    request = Request(
        selections=(Selection("toys", Toy(), cases),),
        devices=devices or choose_devices("cpu"),
        settings=settings,
        command="harness run",
    )
    return conduct(request, progress=lambda *told: None)


class FullDevice(CpuDevice):
    def copier(self, size_bytes):
        raise MemoryError("no room for two buffers")


def test_a_timed_run_knows_what_its_device_copied_before_and_after():
    run = run_of(ToyCase(timed=True))
    copy = run.copy_bandwidth
    assert copy is not None
    assert copy.device == "cpu"
    assert copy.size_bytes >= 64 << 20
    for rate in (copy.before, copy.after):
        assert rate is not None
        assert 1e8 < rate.median <= rate.best < 1e13
    (verdict,) = run.verdicts
    assert verdict.rates is not None
    assert verdict.rates.of_copy == pytest.approx(verdict.rates.bytes_per_second / copy.best)
    assert run.environment.soft[SOFT_FACT].endswith("MB/s on cpu")
    assert SOFT_FACT not in run.environment.hard


def test_nothing_is_copied_where_nothing_is_timed():
    for run in (
        run_of(ToyCase()),
        run_of(ToyCase(timed=True), settings=Settings(repeats=2, benchmark=False)),
        run_of(ToyCase(timed=True), devices=choose_devices("simulated")),
    ):
        assert run.copy_bandwidth is None
        assert SOFT_FACT not in run.environment.soft


def test_a_device_without_room_for_a_copy_is_a_note_and_fails_nothing():
    device = FullDevice()
    run = run_of(ToyCase(timed=True), devices=Devices(device, device))
    assert run.copy_bandwidth is None
    (note,) = [note for note in run.notes if "copy bandwidth" in note]
    assert "of cpu was not measured" in note
    assert "no room for two buffers" in note
    assert run.verdicts[0].rates is not None
    assert run.verdicts[0].rates.of_copy is None


def test_the_copier_copies_memory_that_was_written():
    copy = CpuDevice().copier(1 << 20)
    source, target = (cell.cell_contents for cell in copy.__closure__)
    target, source = (
        (target, source) if copy.__code__.co_freevars[0] == "source" else (source, target)
    )
    source[:] = 7
    copy()
    assert np.all(target == 7)


def test_a_meter_gives_up_after_its_first_problem():
    class Broken(CpuDevice):
        asked = 0

        def copier(self, size_bytes):
            self.asked += 1
            raise UnavailableError("no clock")

    device = Broken()
    meter = BandwidthMeter(device)
    meter.measure()
    meter.measure()
    assert device.asked == 1
    assert meter.result is None
    assert meter.problem.endswith("no clock")


def test_a_machine_that_copies_a_third_slower_was_slow():
    fast, slow = (a_copy_bandwidth(before=best, after=best) for best in (30e9, 20e9))
    (sentence,) = canary(slow, soft_fact(fast))
    assert sentence.startswith("the machine was slow now: memory copies ran at 19.0 GB/s now and")
    assert "(-33.3 %); no number was corrected" in sentence
    (sentence,) = canary(fast, soft_fact(slow))
    assert sentence.startswith("the machine was slow then")


def test_a_machine_that_slows_down_while_it_times_is_slow():
    then = soft_fact(a_copy_bandwidth())
    assert list(canary(a_copy_bandwidth(after=10e9), then))


@pytest.mark.parametrize(
    "then",
    [
        soft_fact(a_copy_bandwidth(before=21e9, after=None)),  # within a tenth
        soft_fact(a_copy_bandwidth(before=90e9, device="cuda:0")),
        {},
        {SOFT_FACT: "fast"},
        {SOFT_FACT: "0 MB/s on cpu"},
    ],
)
def test_nothing_is_said_where_nothing_is_known(then):
    assert list(canary(a_copy_bandwidth(), then)) == []


def test_a_bandwidth_that_means_nothing_is_no_fact():
    assert soft_fact(a_copy_bandwidth(before=0.0)) == {}
    assert soft_fact(a_copy_bandwidth(before=float("nan"), after=None)) == {}


def test_rates_are_of_the_device_the_case_was_timed_on():
    timed = a_verdict(
        call_time=an_estimate(value=1e6),
        throughput=Throughput(unit="samples", units_per_call=1, bytes_per_call=10_000_000),
    )
    assert with_rates(timed, a_copy_bandwidth()).rates.of_copy == pytest.approx(0.5)
    assert with_rates(timed, None).rates.of_copy is None
    assert with_rates(a_verdict(), a_copy_bandwidth()).rates is None
