"""Watching a GPU around a measurement, with a scripted NVML."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from harness.devices.base import GpuIdentity
from harness.environment.gpu_conditions import GpuSample, GpuUse, Limiter, Phase
from harness.environment.gpu_monitor import GpuMonitor
from harness.environment.pynvml import Gpu, GpuLostError
from harness.errors import UnavailableError
from harness.model.outcome import Outcome

IDENTITY = GpuIdentity(
    index=0,
    name="NVIDIA H200",
    compute_capability="9.0",
    pci_bus_id="0000:3B:00.0",
    uuid="",
    cuda_runtime="13.2",
)
OWN = 100


class ScriptedNvml:
    """Answers each question for a sample with ``said``, after ``before`` was called with the phase."""

    def __init__(self, **said: Any) -> None:
        self.said: dict[str, Any] = {"sm_clock": 1980, "reasons": 0, "tenants": (GpuUse(OWN),)}
        self.said |= said
        self.enough = threading.Event()
        self.taken = 0
        self.closed = False
        self.known = True

    def find(self, identity: GpuIdentity) -> Gpu | None:
        assert identity == IDENTITY
        return Gpu("whole") if self.known else None

    def sample(self, gpu: Gpu, phase: Phase, *, since_us: int | None = None) -> GpuSample:
        assert (since_us is not None) == (phase is Phase.AFTER)
        self.taken += 1
        if self.taken > 4:
            self.enough.set()
        return self.answer(phase)

    def answer(self, phase: Phase) -> GpuSample:
        return GpuSample(phase=phase, at_ns=self.taken, **self.said)

    @contextmanager
    def session(self) -> Iterator[Any]:
        try:
            yield self
        finally:
            self.closed = True


def watching(nvml: ScriptedNvml, **options: Any) -> GpuMonitor:
    return GpuMonitor(IDENTITY, open_session=nvml.session, period_s=0.001, own_pid=OWN, **options)


def test_it_samples_before_during_and_after_and_closes_nvml():
    nvml = ScriptedNvml()
    with watching(nvml) as monitor:
        assert nvml.enough.wait(10)
        assert not nvml.closed
    phases = [sample.phase for sample in monitor.samples]
    assert phases[0] is Phase.BEFORE
    assert phases[-1] is Phase.AFTER
    assert set(phases[1:-1]) == {Phase.DURING}
    assert nvml.closed
    result = monitor.check()
    assert result is not None
    assert result.outcome is Outcome.PASSED


def test_its_thread_is_gone_when_the_measurement_is():
    before = threading.active_count()
    with watching(ScriptedNvml()):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


def test_a_throttled_measurement_is_inconclusive():
    nvml = ScriptedNvml(reasons=Limiter.POWER_CAP.value)
    with watching(nvml) as monitor:
        assert nvml.enough.wait(10)
    result = monitor.check()
    assert result is not None
    assert result.outcome is Outcome.INCONCLUSIVE


def test_without_nvml_the_measurement_goes_on_and_the_reason_is_kept():
    @contextmanager
    def no_nvml() -> Iterator[Any]:
        raise UnavailableError("NVML is not read: libnvidia-ml.so.1 is not here")
        yield

    with GpuMonitor(IDENTITY, open_session=no_nvml) as monitor:
        pass
    assert monitor.unavailable == "NVML is not read: libnvidia-ml.so.1 is not here"
    assert monitor.samples == ()
    assert monitor.check() is None


def test_a_gpu_nvml_does_not_know_is_like_no_nvml():
    nvml = ScriptedNvml()
    nvml.known = False
    with watching(nvml) as monitor:
        pass
    assert "0000:3B:00.0" in monitor.unavailable
    assert nvml.closed


@pytest.mark.parametrize("when", Phase)
def test_a_gpu_lost_at_any_moment_is_a_finding_and_not_an_error(when):
    nvml = ScriptedNvml()
    ordinary = nvml.answer

    def lost(phase: Phase) -> GpuSample:
        if phase is when:
            nvml.enough.set()
            raise GpuLostError("NVML says: GPU is lost")
        return ordinary(phase)

    nvml.answer = lost
    with watching(nvml) as monitor:
        assert when is Phase.AFTER or nvml.enough.wait(10)
        time.sleep(0.01)  # ten periods, in which nobody may ask a lost GPU again
    assert [sample.lost for sample in monitor.samples].count(True) == 1
    assert monitor.samples[-1].lost
    result = monitor.check()
    assert result is not None
    assert "lost" in result.summary


def test_an_error_of_the_measured_code_passes_through_and_the_thread_ends():
    nvml = ScriptedNvml()

    def measured() -> None:
        with watching(nvml):
            raise KeyError("workload")

    with pytest.raises(KeyError, match="workload"):
        measured()
    assert nvml.closed
    assert "gpu-monitor" not in {thread.name for thread in threading.enumerate()}


def test_an_unexpected_error_of_the_watching_thread_is_not_swallowed():
    nvml = ScriptedNvml()
    ordinary = nvml.answer

    def broken(phase: Phase) -> GpuSample:
        if phase is Phase.DURING:
            nvml.enough.set()
            raise ZeroDivisionError("in the monitor")
        return ordinary(phase)

    nvml.answer = broken

    def measured() -> None:
        with watching(nvml):
            assert nvml.enough.wait(10)

    with pytest.raises(ZeroDivisionError):
        measured()


def test_where_processes_are_not_listed_it_waits_for_our_own_work_to_fade():
    nvml = ScriptedNvml(tenants=())
    fading = iter([80, 40, 5])
    nvml.answer = lambda phase: GpuSample(
        phase=phase, at_ns=nvml.taken, sm_clock=1980, tenants=(), utilization=next(fading, 100)
    )
    with watching(nvml) as monitor:
        pass
    before = [sample for sample in monitor.samples if sample.phase is Phase.BEFORE]
    assert [sample.utilization for sample in before] == [80, 40, 5]
    result = monitor.check()
    assert result is not None
    assert result.outcome is Outcome.PASSED


def test_a_neighbour_who_never_rests_is_reported_after_the_wait():
    nvml = ScriptedNvml(tenants=(), utilization=60)
    with watching(nvml, settle_s=0.02) as monitor:
        pass
    result = monitor.check()
    assert result is not None
    assert result.summary == "it was 60 % busy before the measurement began"


def test_where_processes_are_listed_it_does_not_wait():
    nvml = ScriptedNvml(utilization=100)
    with watching(nvml, settle_s=60.0) as monitor:
        pass
    assert [sample.phase for sample in monitor.samples].count(Phase.BEFORE) == 1


def test_an_nvml_that_hangs_does_not_hang_the_run():
    nvml, freed = ScriptedNvml(), threading.Event()
    ordinary = nvml.answer

    def hanging(phase: Phase) -> GpuSample:
        if phase is Phase.DURING:
            nvml.enough.set()
            freed.wait(30)
        return ordinary(phase)

    nvml.answer = hanging
    with watching(nvml, patience_s=0.01) as monitor:
        assert nvml.enough.wait(10)
    result = monitor.check()
    freed.set()
    assert result is not None
    assert "stopped answering" in result.summary
