"""The capture witness on a real GPU: what it lets pass, what it finds in the graph, what is refused.

It cannot run the suite of the other probes, whose copies a capture refuses.
"""

from __future__ import annotations

import pytest

from harness.errors import UnavailableError
from harness.model.event import Direction, SyncKind

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def cupy():
    """CuPy with GPU 0 current; skips with the one line about what is missing here."""
    from harness.devices.cupy import CudaDevice

    try:
        CudaDevice(0, probe=lambda: None)
    except UnavailableError as error:
        pytest.skip(f"no GPU: {getattr(error, 'cause', error)}")
    import cupy

    return cupy


@pytest.fixture(scope="module")
def probe(cupy):
    """The witness, which needs cuda-bindings too."""
    from harness.probes.capture import CaptureProbe

    try:
        return CaptureProbe()
    except UnavailableError as error:
        pytest.skip(f"no GPU: {getattr(error, 'cause', error)}")


@pytest.fixture(scope="module")
def array(cupy):
    """Three numbers on the device, the operations used below compiled."""
    array = cupy.arange(3, dtype="float32")
    cupy.exp(array).sum().get()
    return array


def test_kernels_and_reductions_are_witnessed(cupy, probe, array):
    def op(region):
        with region("forward"):
            cupy.exp(array).sum()

    trace = probe.witness(op)
    assert len(trace.within("forward").kernels) >= 2
    assert (trace.transfers, trace.syncs, trace.doubts) == ((), (), ())


def test_reading_a_value_is_a_read_at_its_line(probe, array):
    def op(region):
        return float(array.sum())

    (read,) = probe.witness(op).transfers
    assert read.direction is Direction.DEVICE_TO_HOST
    assert (read.site.file, read.site.function) == (__file__, "op")


def test_a_copy_to_pinned_memory_is_found_in_the_graph_with_its_line(cupy, probe, array):
    pinned = cupy.cuda.alloc_pinned_memory(array.nbytes)

    def op(region):
        stream = cupy.cuda.get_current_stream()
        kind = cupy.cuda.runtime.memcpyDefault
        cupy.cuda.runtime.memcpyAsync(pinned.ptr, array.data.ptr, 12, kind, stream.ptr)

    (copy,) = probe.witness(op).transfers
    assert (copy.direction, copy.size_bytes) == (Direction.DEVICE_TO_HOST, 12)
    assert (copy.site.file, copy.site.function) == (__file__, "op")


def test_a_wait_is_refused_and_counted(cupy, probe):
    trace = probe.witness(lambda region: cupy.cuda.get_current_stream().synchronize())
    assert len(trace.syncs) == 1


def test_a_poll_is_a_doubt_and_no_wait(cupy, probe):
    trace = probe.witness(lambda region: cupy.cuda.get_current_stream().done)
    assert trace.syncs == ()
    assert trace.doubts


def test_a_host_function_is_found_in_the_graph(cupy, probe):
    def op(region):
        cupy.cuda.get_current_stream().launch_host_func(lambda _: None, None)

    assert [wait.kind for wait in probe.witness(op).syncs] == [SyncKind.HOST_CALLBACK]


def test_a_copy_on_the_legacy_stream_does_not_pass_unseen(cupy, probe, array):
    """It is refused, which proves no copy, but keeps the op from being witnessed."""
    pinned = cupy.cuda.alloc_pinned_memory(array.nbytes)

    def op(region):
        kind = cupy.cuda.runtime.memcpyDefault
        cupy.cuda.runtime.memcpy(pinned.ptr, array.data.ptr, 12, kind)

    trace = probe.witness(op)
    assert trace.doubts or trace.transfers or trace.syncs


def test_a_product_through_cublas_is_a_doubt_that_names_it(cupy, probe):
    square = cupy.ones((4, 4), dtype="float32")
    square @ square
    trace = probe.witness(lambda region: square @ square)
    assert any("cuBLAS" in doubt for doubt in trace.doubts)
    assert trace.transfers == ()


def test_the_device_works_after_a_refusal(cupy, probe, array):
    probe.witness(lambda region: float(array.sum()))
    assert float(array.sum()) == 3.0
