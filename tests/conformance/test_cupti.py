"""The CUPTI probe passes the suite every probe must pass, on a real GPU and with a real CuPy."""

from __future__ import annotations

import numpy as np
import pytest

from harness.errors import UnavailableError
from harness.probes.conformance import PlantedActions, ProbeConformance

pytestmark = pytest.mark.gpu

NAMES = [name for name in vars(ProbeConformance) if name[0] != "_" and name != "checks"]


@pytest.fixture(scope="module")
def device():
    """GPU 0 with its CUPTI probe; skips with the one line about what is missing here."""
    from harness.devices.cupy import CudaDevice

    try:
        return CudaDevice(0)
    except UnavailableError as error:
        pytest.skip(f"no GPU: {getattr(error, 'cause', error)}")


@pytest.fixture(scope="module")
def actions(device):
    """What CuPy does on the device, each once before it counts: kernels compiled, pools filled."""
    import cupy

    array = cupy.arange(3, dtype="float32")
    pageable = np.empty(3, "float32")

    def copy_to_host():
        array.get()

    planted = PlantedActions(
        copy_to_host=copy_to_host,
        copied_bytes=12,
        wait=lambda: cupy.cuda.Stream.null.synchronize(),
        pageable_copy=lambda: array.get(out=pageable, blocking=False),
        copy_to_device=lambda: cupy.asarray([1, 2]),
        uploaded_bytes=16,
        work=lambda: array + 1,
        host_callback=lambda: cupy.cuda.Stream.null.launch_host_func(lambda arg: None, 0),
    )
    for action in (planted.copy_to_device, planted.pageable_copy, planted.work, planted.wait):
        action()
    copy_to_host()
    return planted


@pytest.fixture(scope="module")
def checks(device, actions):
    """The suite's checks by name."""
    return {check.name: check.run for check in ProbeConformance(device.probe, actions).checks()}


@pytest.mark.parametrize("name", NAMES)
def test_the_cupti_probe_conforms(checks, name):
    checks[name]()


@pytest.mark.parametrize("name", NAMES)
def test_it_conforms_within_one_shared_session(device, checks, name):
    with device.probe.session():
        checks[name]()


def test_an_ordinary_read_leaves_no_doubt(device, actions):
    with device.probe.record() as recording:
        actions.copy_to_host()
    assert recording.trace().doubts == ()


def test_a_launched_graph_shows_the_copy_in_it(device):
    """Captured and launched within one session, since CUPTI follows a graph only there."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    array = cupy.arange(3, dtype="float32")
    pinned = cupy.cuda.alloc_pinned_memory(array.nbytes)
    with device.probe.session():
        with stream:
            stream.begin_capture()
            doubled = array * 2
            cupy.cuda.runtime.memcpyAsync(
                pinned.ptr,
                doubled.data.ptr,
                array.nbytes,
                cupy.cuda.runtime.memcpyDefault,
                stream.ptr,
            )
            graph = stream.end_capture()
        with device.probe.record() as recording:
            graph.launch(stream)
    trace = recording.trace()
    assert (trace.counts().d2h, trace.counts().d2h_bytes) == (1, 12)
    assert not trace.transfers[0].blocking
    assert trace.kernels
