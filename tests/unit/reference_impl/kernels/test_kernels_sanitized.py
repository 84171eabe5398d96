"""The CUDA source on the host with AddressSanitizer and UndefinedBehaviorSanitizer: the first finding ends a test."""

import ml_dtypes
import numpy as np
import pytest

from reference_impl.kernels.cuda_on_host import Order, Sanitizer
from reference_impl.kernels.planner import plan_rows
from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy as oracle

pytestmark = pytest.mark.slow  # compiles the kernels anew, under sanitizers or with a defect

CASES = [
    ("float32", 10, "sm_90"),
    ("float32", 33, "sm_90"),
    ("float32", 1027, "sm_90"),
    ("float32", 2051, "sm_90"),
    ("float32", 40001, "sm_90"),
    ("float32", 40001, "sm_120"),
    ("float32", 40001, "sm_75"),
    ("float64", 101, "sm_90"),
    ("float16", 101, "sm_90"),
    ("bfloat16", 1003, "sm_90"),
]


@pytest.fixture(scope="module")
def sanitized_gpu(build_kernels, host_parts, fused_on_host, devices):
    kernels = {
        plan_rows(dtype=dtype, rows=1, classes=classes, limits=devices[architecture]).kernel
        for dtype, classes, architecture in CASES
    }
    others = ("count_labels", "rows_read_twice<float, 1, 1024>", "scale_gradient<float, 4>")
    kernels = (*sorted(kernels), *others)
    sanitizer = Sanitizer.ADDRESS_AND_UNDEFINED
    return fused_on_host(build_kernels(host_parts, kernels, sanitizer=sanitizer))


@pytest.mark.parametrize(("dtype", "classes", "architecture"), CASES)
def test_no_kernel_leaves_its_memory_or_what_cpp_defines(
    sanitized_gpu, logits_of, labels_of, assert_fused, dtype, classes, architecture
):
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x, t = logits_of((5, classes), dtype), labels_of(5, classes, np.int32)
    t[3] = -1
    gpu = sanitized_gpu.like(architecture)
    got = gpu.forward_backward(x, t, ignore_index=-1, order=Order.RANDOM)
    assert_fused(got, oracle(x, t, ignore_index=-1), rows=4)


def test_a_bad_label_reads_and_writes_nothing_it_should_not(sanitized_gpu, logits_of):
    x, t = logits_of((3, 10), np.float32), np.array([2**40, -1, 10])
    got = sanitized_gpu.forward_backward(x, t, reduction="none")
    assert np.isnan(got["losses"]).all()


@pytest.mark.parametrize("misalignment", [0, 4])
def test_no_row_is_read_or_written_outside_whatever_its_alignment(
    sanitized_gpu, logits_of, labels_of, assert_fused, misalignment
):
    x, t = logits_of((4, 1027), np.float32), labels_of(4, 1027)
    got = sanitized_gpu.forward_backward(x, t, misalignment=misalignment)
    assert_fused(got, oracle(x, t), rows=4)


def test_backward_stays_inside_the_gradient(sanitized_gpu, logits_of):
    gradient = logits_of((5, 2051), np.float32)
    got = sanitized_gpu.scale_gradient(gradient, np.array([2.0], np.float32))
    np.testing.assert_array_equal(got, gradient * 2)


@pytest.mark.parametrize("classes", [10, 1000, 2051])
def test_a_row_beyond_int32_elements_is_found(
    sanitized_gpu, far_row, logits_of, labels_of, assert_fused, classes
):
    x, t = logits_of((1, classes), np.float32), labels_of(1, classes)
    got = far_row(sanitized_gpu, x, t, row=3 * 2**31 // classes // 32 * 32)
    assert_fused(got, oracle(x, t, reduction="none"), loss="losses")
