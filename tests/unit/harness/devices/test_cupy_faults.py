"""What CUDA's errors mean, with CuPy's own exceptions where CuPy is installed."""

from __future__ import annotations

import pytest

from harness.devices.cuda_faults import (
    STICKY,
    DeviceFaultError,
    FaultKind,
    device_failure,
    fault_of,
    fault_of_status,
)


class CUDARuntimeError(RuntimeError):
    """Has what CuPy's exception of this name has: a status, and CUDA's name and sentence as its text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


ILLEGAL_ADDRESS = CUDARuntimeError(
    700, "cudaErrorIllegalAddress: an illegal memory access was encountered"
)
ECC = CUDARuntimeError(214, "cudaErrorECCUncorrectable: uncorrectable ECC error encountered")


def test_a_faulting_kernel_is_told_from_a_broken_gpu_and_from_full_memory():
    kinds = {
        status: fault.kind
        for status in (2, 700, 710, 214, 999)
        if (fault := fault_of_status(status))
    }
    assert kinds == {
        2: FaultKind.MEMORY,
        700: FaultKind.KERNEL,
        710: FaultKind.KERNEL,
        214: FaultKind.DEVICE,
        999: FaultKind.DEVICE,
    }


def test_a_fault_names_cudas_error_the_cause_and_the_next_step():
    text = str(fault_of(ILLEGAL_ADDRESS))
    assert "a kernel accessed memory that is not its own" in text
    assert "cudaErrorIllegalAddress" in text
    assert "compute-sanitizer" in text


@pytest.mark.parametrize("status", [1, 13, 400, 600, 900, 901, 906])
def test_a_wrong_call_is_no_fault_of_the_device(status):
    assert fault_of_status(status, "cudaErrorInvalidValue: invalid argument") is None


def test_full_memory_does_not_end_the_process_and_a_faulting_kernel_does():
    full, faulting = fault_of_status(2), fault_of_status(719)
    assert full is not None
    assert not full.sticky
    assert faulting is not None
    assert faulting.sticky


@pytest.mark.parametrize("error", [ValueError("status 700"), RuntimeError("x"), KeyError(700)])
def test_other_exceptions_are_left_alone(error):
    assert fault_of(error) is None
    assert device_failure(error) is None


def test_an_exception_of_the_same_name_without_a_status_is_left_alone():
    error = type("CUDARuntimeError", (RuntimeError,), {})("cudaErrorIllegalAddress")
    assert fault_of(error) is None


def test_a_kernel_fault_counts_against_the_code_that_met_it_but_not_against_the_next_case():
    fault = fault_of(ILLEGAL_ADDRESS)
    assert fault is not None
    assert device_failure(ILLEGAL_ADDRESS) is None
    later = device_failure(DeviceFaultError("cuda:0", "copying an input to it", fault))
    assert later is not None
    assert later.startswith("cuda:0 stopped while copying an input to it: a kernel accessed memory")


def test_a_broken_gpu_never_counts_against_the_code_under_test():
    text = device_failure(ECC)
    assert text is not None
    assert "nvidia-smi" in text


def test_every_sentence_fits_one_line_and_ends_without_a_full_stop():
    for status in range(1000):
        fault = fault_of_status(status)
        if fault is not None:
            assert "\n" not in str(fault)
            assert not str(fault).endswith(".")


def test_the_statuses_are_those_of_this_cuda():
    cupy = pytest.importorskip("cupy", reason="python -m pip install cupy-cuda13x")
    unknown = [status for status in range(1000) if fault_of_status(status) or status in STICKY]
    for status in unknown:
        error = cupy.cuda.runtime.CUDARuntimeError(status)
        assert str(error).startswith("cudaError"), status
        fault = fault_of(error)
        assert fault is not None
        assert fault.name == str(error).partition(":")[0]


def test_cupys_out_of_memory_is_full_memory():
    cupy = pytest.importorskip("cupy", reason="python -m pip install cupy-cuda13x")
    fault = fault_of(cupy.cuda.memory.OutOfMemoryError(1 << 40, 5, 0))
    assert fault is not None
    assert fault.kind is FaultKind.MEMORY
    assert "1,099,511,627,776 bytes" in str(fault)
    assert fault_of(MemoryError("NumPy's own")) is None
