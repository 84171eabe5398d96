"""Only the calls that hold the host are waits; ordering and polling are free."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from harness.model.event import SyncKind
from harness.probes.simulated import Device, Event, SimulatedProbe, Stream, cuda, launch, namespace
from harness.probes.simulated.cuda import get_current_stream, get_elapsed_time


def test_each_wait_says_what_it_waits_for() -> None:
    stream, event = Stream(), Event()
    event.record(stream)
    with SimulatedProbe().record() as recording:
        stream.synchronize()
        event.synchronize()
        Device().synchronize()
        cuda.runtime.streamSynchronize(stream.ptr)
    waits = recording.trace().syncs
    assert [wait.kind for wait in waits] == [
        SyncKind.STREAM,
        SyncKind.EVENT,
        SyncKind.DEVICE,
        SyncKind.STREAM,
    ]
    assert [wait.api for wait in waits][:3] == [
        "cudaStreamSynchronize",
        "cudaEventSynchronize",
        "cudaDeviceSynchronize",
    ]
    assert [wait.stream for wait in waits] == [stream.ptr, stream.ptr, 0, stream.ptr]


def test_work_is_launched_on_the_current_stream_of_its_thread() -> None:
    a = namespace.ones(2)
    first, second = Stream(non_blocking=True), Stream()
    with SimulatedProbe().record() as recording:
        _ = a + 1
        with first:
            _ = a + 1
            with second:
                assert get_current_stream() is second
                _ = a + 1
            _ = a + 1
            thread = threading.Thread(target=lambda: a + 1)
            thread.start()
            thread.join()
        _ = a + 1
        second.use()
        _ = a + 1
        Stream.null.use()
    streams = [event.stream for event in recording.trace().events]
    assert streams == [0, first.ptr, second.ptr, first.ptr, 0, 0, second.ptr]
    assert get_current_stream() == Stream.null == Stream(null=True)
    assert hash(Stream.null) == 0
    assert Stream.ptds.ptr == 2
    assert "Stream 0" in repr(Stream.null)


def test_ordering_and_polling_are_free() -> None:
    stream = Stream()
    with SimulatedProbe().record() as recording:
        event = stream.record()
        Stream().wait_event(event)
        assert event.done
        assert stream.done
        assert not stream.is_capturing()
        with Device(0) as device:
            device.use()
    assert recording.trace().events == ()


def test_a_host_callback_runs_and_holds_the_device_once() -> None:
    stream = Stream()
    called: list[Any] = []
    with SimulatedProbe().record() as recording:
        stream.launch_host_func(called.append, 1)
        stream.add_callback(lambda *arguments: called.append(arguments[1:]), 2)
    assert called == [1, (0, 2)]
    seen = [(wait.api, wait.kind, wait.stream) for wait in recording.trace().syncs]
    assert seen == [
        ("cudaLaunchHostFunc", SyncKind.HOST_CALLBACK, stream.ptr),
        ("cudaStreamAddCallback", SyncKind.HOST_CALLBACK, stream.ptr),
    ]


def test_events_can_be_timed() -> None:
    start, end = Event(), Event()
    with pytest.raises(ValueError, match="recorded"):
        get_elapsed_time(start, end)
    start.record()
    end.record()
    assert get_elapsed_time(start, end) >= 0
    untimed = Event(disable_timing=True)
    untimed.record()
    with pytest.raises(ValueError, match="disable_timing"):
        get_elapsed_time(start, untimed)
    with pytest.raises(ValueError, match="interprocess"):
        Event(interprocess=True)


def test_there_is_one_device_and_no_capture() -> None:
    with pytest.raises(ValueError, match="one simulated device"):
        Device(1)
    assert int(Device(Device(0))) == 0
    assert len({Device(), Device(0)}) == 1
    assert repr(Device()) == "<simulated device 0>"
    with pytest.raises(NotImplementedError, match="begin_capture"):
        Stream().begin_capture()
    with pytest.raises(ValueError, match="not both"):
        Stream(null=True, ptds=True)
    assert cuda.is_available()


def test_pools_wait_only_where_cupys_do() -> None:
    pool = cuda.MemoryPool()
    assert pool.malloc(64).ptr != 0
    assert namespace.get_default_memory_pool() is namespace.get_default_memory_pool()
    namespace.get_default_pinned_memory_pool().free_all_blocks()
    with SimulatedProbe().record() as recording:
        pool.free_all_blocks()
        cuda.PinnedMemoryPool().free_all_blocks()
    assert recording.trace().events == ()
    stream = Stream()
    with SimulatedProbe().record() as recording:
        cuda.MemoryAsyncPool().free_all_blocks(stream)
    assert [wait.stream for wait in recording.trace().syncs] == [stream.ptr]


def test_a_kernel_is_one_launch_over_the_memory_of_its_arguments() -> None:
    def saxpy(alpha: float, x: Any, y: Any) -> None:
        y += alpha * x

    x, y = namespace.ones(3), namespace.zeros(3)
    with SimulatedProbe().record() as recording:
        launch(saxpy, 2.0, x, y=y)
        launch(saxpy, 1.0, x, y, name="fused")
        namespace.launch(saxpy, 1.0, x, y)
    assert [(type(event).__name__, event.api) for event in recording.trace().events] == [
        ("Kernel", "saxpy"),
        ("Kernel", "fused"),
        ("Kernel", "saxpy"),
    ]
    assert y.tolist() == [4, 4, 4]


def test_a_kernel_takes_no_host_arrays_returns_nothing_and_warns_about_nothing() -> None:
    x = namespace.zeros(2)
    with pytest.raises(TypeError, match=r"numpy\.ndarray in kernel negate"):
        launch(lambda a: None, x.get(), name="negate")
    with pytest.raises(TypeError, match="kernel total returned float64"):
        launch(lambda a: a.sum(), x, name="total")

    def invert(a: Any) -> None:
        a[:] = 1 / a

    launch(invert, x)
    assert x.tolist() == [float("inf")] * 2
