"""What goes wrong on a GPU between two cases of a run: one clear line for the case it meets, and the others are run.

The device is the simulated one; what fails is scripted.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from toy_workload import QUICK, Toy, ToyCase, square_sum

from harness.devices.cuda_faults import DeviceFaultError, fault_of_status
from harness.devices.registry import Devices
from harness.devices.simulated import SimulatedDevice
from harness.errors import ExitCode
from harness.model.outcome import Outcome
from harness.probes.cupti.binding import subscription_refused
from harness.session.catalogue import Selection
from harness.session.conduct import Request, conduct


class Gpu(SimulatedDevice):
    """Runs well until ``error`` is set: then every copy to it raises that."""

    name = "a scripted cuda device"  # by the name of a real one, CuPy would be asked what it is
    error: Exception | None = None

    def to_device(self, array):
        if self.error is not None:
            raise self.error
        return super().to_device(array)


@pytest.fixture
def gpu():
    return Gpu()


def run(gpu, *cases):
    return conduct(
        Request(
            selections=(Selection("toys", Toy(), cases),),
            devices=Devices(gpu, None),
            settings=QUICK,
            command="harness run --device cuda:0",
        ),
        progress=lambda *seen: None,
    )


def the_line(verdict):
    (check,) = [check for check in verdict.checks if check.check == "run"]
    assert check.outcome is Outcome.INCONCLUSIVE
    assert "\n" not in check.summary
    return check.summary


def then(action):
    """An op that does its work, and something to the machine."""

    def calls(inputs, region):
        outputs = square_sum(inputs, region)
        action()
        return outputs

    return calls


def test_a_full_gpu_makes_its_case_inconclusive_and_the_next_case_is_run(gpu):
    def full():
        raise MemoryError("cuda:0 while copying an input to it: the GPU's memory is full")

    result = run(gpu, ToyCase(name="large", calls=then(full)), ToyCase(name="small"))
    large, small = result.verdicts
    assert "the GPU's memory is full" in the_line(large)
    assert small.outcome is Outcome.PASSED
    assert result.exit_code is ExitCode.INCONCLUSIVE


def test_a_lost_gpu_keeps_what_was_done_and_every_case_after_it_says_so(gpu):
    def lose():
        fault = fault_of_status(999, "cudaErrorUnknown: unknown error")
        gpu.error = DeviceFaultError("cuda:0", "copying an input to it", fault)

    cases = (ToyCase(name="a"), ToyCase(name="b", calls=then(lose)), ToyCase(name="c"))
    before, meets, after = run(gpu, *cases).verdicts
    assert before.outcome is Outcome.PASSED
    for verdict in (meets, after):
        assert "the GPU may be lost" in the_line(verdict)
        assert "nvidia-smi" in the_line(verdict)


def test_a_second_profiler_is_named_and_once_it_lets_go_the_next_case_is_run(gpu):
    class Probe:
        """The simulated one, but when somebody else holds CUPTI."""

        held = False

        def __init__(self, probe):
            self._probe = probe

        def __getattr__(self, name):
            return getattr(self._probe, name)

        def record(self):
            return refused() if self.held else self._probe.record()

    @contextmanager
    def refused():
        probe.held = False
        raise subscription_refused(["Nsight Systems (nsys)"])
        yield

    probe = gpu.probe = Probe(gpu.probe)

    def attach():
        probe.held = True

    meets, after = run(gpu, ToyCase(name="a", calls=then(attach)), ToyCase(name="b")).verdicts
    assert "CUPTI already serves another tool" in the_line(meets)
    assert "Nsight Systems" in the_line(meets)
    assert "run without that tool" in the_line(meets)
    assert after.outcome is Outcome.PASSED
