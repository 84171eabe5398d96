"""Copies are announced with their direction, bytes, kinds of memory and whether they hold the host."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest

from harness.model.event import Direction, MemoryKind, Memset, Sync, SyncKind, Transfer
from harness.model.trace import Trace
from harness.probes.simulated import (
    ForeignArray,
    SimulatedProbe,
    Stream,
    alloc_pinned_memory,
    empty_like_pinned,
    empty_pinned,
    namespace,
    zeros_pinned,
)
from harness.probes.simulated.extensions import zeros_like_pinned


def record(action: Any) -> Trace:
    with SimulatedProbe().record() as recording:
        action()
    return recording.trace()


@pytest.fixture
def a() -> Any:
    return namespace.asarray(np.arange(6, dtype="float32").reshape(2, 3))


def test_a_host_read_is_one_pageable_copy_and_one_stream_wait(a: Any) -> None:
    copy, wait = record(lambda: a.get()).events
    assert isinstance(copy, Transfer)
    assert copy.api == "cudaMemcpyAsync"
    assert copy.direction is Direction.DEVICE_TO_HOST
    assert copy.size_bytes == 24
    assert (copy.source, copy.destination) == (MemoryKind.DEVICE, MemoryKind.PAGEABLE)
    assert copy.blocking
    assert isinstance(wait, Sync)
    assert wait.kind is SyncKind.STREAM
    assert wait.api == "cudaStreamSynchronize"


def test_a_copy_into_pinned_memory_does_not_hold_the_host(a: Any) -> None:
    out = empty_like_pinned(a)
    (copy,) = record(lambda: a.get(out=out, blocking=False)).events
    assert isinstance(copy, Transfer)
    assert copy.destination is MemoryKind.PINNED
    assert not copy.blocking
    np.testing.assert_array_equal(out, a.get())


def test_a_non_blocking_copy_into_pageable_memory_holds_the_host_without_a_wait(a: Any) -> None:
    trace = record(lambda: a.get(blocking=False))
    assert trace.syncs == ()
    assert trace.transfers[0].blocking


def test_every_view_of_pinned_memory_is_pinned_and_a_copy_of_it_is_not() -> None:
    block = np.frombuffer(alloc_pinned_memory(64), "float32")
    for pinned in (block, block[2:5], block.reshape(4, 4).T, zeros_pinned((2, 2)), empty_pinned(3)):
        a = namespace.ones(pinned.shape, pinned.dtype)
        trace = record(
            lambda a=a, pinned=pinned: a.set(pinned) if pinned.flags.c_contiguous else None
        )
        for copy in trace.transfers:
            assert copy.source is MemoryKind.PINNED
            assert not copy.blocking
    copied = block.copy()
    (copy,) = record(lambda: namespace.ones(16, "float32").set(copied)).transfers
    assert copy.source is MemoryKind.PAGEABLE


def test_uploads_are_staged_in_pinned_memory_and_set_copies_straight_from_its_source(
    a: Any,
) -> None:
    host = np.ones((2, 3), "float32")
    (staged,) = record(lambda: namespace.asarray(host)).events
    assert isinstance(staged, Transfer)
    assert (staged.source, staged.blocking, staged.size_bytes) == (MemoryKind.PINNED, False, 24)
    (direct,) = record(lambda: a.set(host)).events
    assert isinstance(direct, Transfer)
    assert (direct.source, direct.blocking) == (MemoryKind.PAGEABLE, True)
    np.testing.assert_array_equal(a.get(), host)


def test_device_memory_is_never_host_memory(a: Any) -> None:
    host = np.zeros(3)
    on_device = namespace.asarray(host)
    host[:] = 7
    assert float(on_device.sum()) == 0
    back = on_device.get()
    back[:] = 5
    assert float(on_device.sum()) == 0


@pytest.mark.parametrize(
    ("read", "size_bytes"),
    [
        ("float(a[0, 1])", 4),
        ('a.sum(dtype="float64").item()', 8),
        ("bool((a > 1).any())", 1),
        ("a.tolist()", 24),
        ("a[a > 1]", 4),
        ('xp.bincount(a.ravel().astype("int16"))', 1 + 2),
        ('xp.trim_zeros(a.ravel(), "f")', 8),
    ],
)
def test_reads_have_the_bytes_of_the_value_read(a: Any, read: str, size_bytes: int) -> None:
    trace = record(lambda: eval(read, {"a": a, "xp": namespace}))
    assert trace.counts().d2h_bytes == size_bytes


def test_strided_arrays_are_made_contiguous_on_the_device_first(a: Any) -> None:
    kernel, copy, _ = record(lambda: a[:, ::2].get()).events
    assert kernel.api == "copy"
    assert isinstance(copy, Transfer)
    assert copy.size_bytes == 16
    np.testing.assert_array_equal(a[:, ::2].get(), [[0, 2], [3, 5]])
    assert a.T.get(order="F").flags.f_contiguous
    assert record(lambda: a.T.get(order="A")).kernels == ()


def test_an_empty_array_copies_nothing() -> None:
    empty = namespace.zeros((0, 3))
    assert record(lambda: (empty.get(), namespace.asarray([]), empty.tolist())).events == ()


def test_zeros_are_a_memset_and_other_values_a_kernel() -> None:
    zeros, fill, strided = record(
        lambda: (
            namespace.zeros(4, "int32"),
            namespace.ones(3).fill(2),
            namespace.ones((2, 2))[:, 0].fill(0),
        )
    ).events[0::2]
    assert isinstance(zeros, Memset)
    assert zeros.size_bytes == 16
    assert (fill.api, strided.api) == ("fill", "fill")


def test_filling_with_negative_zero_writes_positive_zero_like_a_memset() -> None:
    a = namespace.ones(2)
    a.fill(-0.0)
    assert not np.signbit(a.get()).any()


def test_a_stream_given_to_a_copy_is_the_one_it_runs_and_waits_on(a: Any) -> None:
    stream = Stream()
    trace = record(lambda: (a.get(stream=stream), a.set(np.ones((2, 3), "float32"), stream=stream)))
    assert {event.stream for event in trace.events} == {stream.ptr}


@pytest.mark.parametrize(
    ("out", "error"),
    [
        ([0.0] * 6, TypeError),
        (np.empty((2, 3)), TypeError),
        (np.empty(6, "float32"), ValueError),
        (np.empty((4, 6), "float32")[::2, ::2], RuntimeError),
    ],
)
def test_a_wrong_destination_is_refused_before_any_copy(a: Any, out: Any, error: Any) -> None:
    with SimulatedProbe().record() as recording, pytest.raises(error):
        a.get(out=out)
    assert recording.trace().events == ()


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ([[1.0] * 3] * 2, TypeError),
        (np.ones((2, 3)), TypeError),
        (np.ones(6, "float32"), ValueError),
    ],
)
def test_a_wrong_source_is_refused_before_any_copy(a: Any, source: Any, error: Any) -> None:
    with SimulatedProbe().record() as recording, pytest.raises(error):
        a.set(source)
    assert recording.trace().events == ()
    with pytest.raises(RuntimeError, match="contiguous"):
        a[:, ::2].set(np.ones((2, 2), "float32"))


def test_only_dtypes_of_a_device_are_accepted() -> None:
    for value in (["a"], [object()], np.zeros(2, "longdouble"), np.array(["2020"], "M8[Y]")):
        with pytest.raises(ValueError, match="unsupported dtype"):
            namespace.asarray(value)
    with pytest.raises(NotImplementedError, match="structured"):
        namespace.zeros(2, [("x", "f4")])
    big_endian = namespace.asarray(np.arange(3, dtype=">i4"))
    assert big_endian.dtype.isnative
    assert big_endian.tolist() == [0, 1, 2]


def test_lists_of_host_arrays_are_one_copy_and_lists_of_device_arrays_none(a: Any) -> None:
    host = np.ones(3)
    assert record(lambda: namespace.asarray([host, host])).counts().h2d == 1
    trace = record(lambda: namespace.array([a[0], a[1]]))
    assert (trace.counts().h2d, trace.counts().d2h) == (0, 0)
    assert trace.counts().kernels == 2
    np.testing.assert_array_equal(namespace.array([a[0], a[1]]).get(), a.get())
    assert namespace.array([[a[0, 0], a[0, 1]]], dtype="int8").tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="differ in shape"):
        namespace.array([a[0], a[0, :2]])
    with pytest.raises(TypeError, match="implicitly"):
        namespace.array([a[0, 0], 1.0])


def test_asarray_of_a_device_array_is_the_array_itself(a: Any) -> None:
    assert namespace.asarray(a) is a
    assert namespace.array(a) is not a
    assert namespace.asarray(a, dtype="float32") is a
    assert namespace.asarray(a, order="F") is not a
    with pytest.raises(ValueError, match="copy cannot be avoided"):
        namespace.array(a, dtype="int8", copy=False)
    assert namespace.array(a[0], ndmin=3).shape == (1, 1, 3)
    assert namespace.ascontiguousarray(a, "float64").dtype == np.float64
    with pytest.raises(NotImplementedError, match="subclasses"):
        namespace.array(a, subok=True)
    assert record(lambda: namespace.array([a, a], blocking=True)).counts().syncs == 1
    with pytest.raises(ValueError, match="unsupported order"):
        a.get(order="X")
    assert zeros_like_pinned(a.get()).tolist() == [[0] * 3] * 2
    assert record(lambda: namespace.copyto(a[0, 0], np.array([5.0]))).counts().kernels == 1
    assert a[0, 0].item() == 5


def test_a_pickled_array_comes_back_to_the_device(a: Any) -> None:
    data = pickle.dumps(a)
    trace = record(lambda: pickle.loads(data))
    assert trace.counts().h2d == 1
    restored = pickle.loads(data)
    assert type(restored) is type(a)
    np.testing.assert_array_equal(restored.get(), a.get())
    buffer = io.BytesIO()
    a.dump(buffer)
    assert pickle.loads(buffer.getvalue()).tolist() == a.tolist()
    assert pickle.loads(a.dumps()).tolist() == a.tolist()


def test_numpy_can_take_a_host_copy_through_dlpack(a: Any) -> None:
    class OnTheCpu:
        def __dlpack__(self, **options: Any) -> Any:
            return a.__dlpack__(dl_device=(1, 0), max_version=options.get("max_version"))

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    trace = record(lambda: np.from_dlpack(OnTheCpu()))
    assert (trace.counts().d2h, trace.counts().syncs) == (1, 1)
    np.testing.assert_array_equal(np.from_dlpack(OnTheCpu()), a.get())
    assert a.__dlpack_device__() == (2, 0)
    with pytest.raises(ValueError, match="without a copy"):
        a.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(NotImplementedError, match="no CUDA address"):
        a.__dlpack__()
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(10, 0))


def test_arrays_of_other_libraries_share_memory_and_wait_for_their_stream(a: Any) -> None:
    trace = record(lambda: namespace.asarray(ForeignArray(a, stream=1)))
    (wait,) = trace.events
    assert isinstance(wait, Sync)
    assert wait.stream == 1
    shared = namespace.asarray(ForeignArray(a))
    shared[0, 0] = 9
    assert a[0, 0].item() == 9
    assert namespace.asnumpy(ForeignArray(a))[0, 0] == 9

    class Unknown:
        __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (1, False)}  # noqa: RUF012

    with pytest.raises(NotImplementedError, match="does not model the memory of"):
        namespace.asarray(Unknown())


def test_asnumpy_passes_host_values_through(a: Any) -> None:
    host = np.arange(3)
    assert namespace.asnumpy(host) is host
    out = np.zeros((2, 3), "float32")
    assert namespace.asnumpy(a, out=out) is out
    filled = np.zeros(3, int)
    assert namespace.asnumpy(host, out=filled) is filled
    assert filled.tolist() == [0, 1, 2]


def test_device_to_device_copies_are_copies_when_the_layouts_agree(a: Any) -> None:
    b = namespace.zeros((2, 3), "float32")
    cases = {
        "D2D": [lambda: a.__setitem__(slice(None), b), lambda: namespace.copyto(a, b)],
        "kernel": [
            lambda: a.__setitem__(slice(None), b[::-1]),
            lambda: namespace.copyto(a, b.astype("int32")),
            lambda: namespace.copyto(a, b, where=a > 1),
            lambda: namespace.copyto(a, 3.0),
        ],
        "nothing": [lambda: a.__setitem__(slice(None), a)],
    }
    for kind, actions in cases.items():
        for action in actions:
            trace = record(action)
            assert trace.counts().d2d == (1 if kind == "D2D" else 0), kind
            if kind == "D2D":
                assert trace.counts().d2h + trace.counts().syncs == 0
                assert not trace.transfers[0].blocking
            if kind == "nothing":
                assert trace.events == ()
    with pytest.raises(ValueError, match="one element only"):
        namespace.copyto(a, np.ones((2, 3)))
