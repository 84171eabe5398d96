"""The boundary between host and device: what crosses it is announced here, once, to whoever listens.

Operations know nothing of recordings. They announce; a sink, when one is attached, is called in the thread
that launched the event, in launch order over all threads. With no sink attached an announcement is one test.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any, NamedTuple

from harness.model.event import (
    Direction,
    Event,
    Kernel,
    MemoryKind,
    Memset,
    Sync,
    SyncKind,
    Transfer,
)
from harness.probes.simulated.site import user_line

__all__ = [
    "Lane",
    "Observation",
    "Sink",
    "attach",
    "detach",
    "device_to_device",
    "device_to_host",
    "host_to_device",
    "kernel",
    "lane",
    "memset",
    "read_back",
    "wait",
]


class Observation(NamedTuple):
    """One announced event: the model class to build and what it takes, apart from regions."""

    kind: type[Event]
    api: str
    file: str
    line: int
    function: str
    stream: int
    clock_ns: int
    details: Mapping[str, Any]


Sink = Callable[[Observation], None]


class Lane(threading.local):
    """The stream this thread launches on; 0 is the null stream."""

    stream: int = 0


lane = Lane()

_sinks: tuple[Sink, ...] = ()
_order = threading.RLock()
"""Held while an event is delivered; re-entrant, since a finaliser may run an operation in the middle of it."""

_NO_DETAILS: Mapping[str, Any] = {}

_WAIT_API = {
    SyncKind.STREAM: "cudaStreamSynchronize",
    SyncKind.EVENT: "cudaEventSynchronize",
    SyncKind.DEVICE: "cudaDeviceSynchronize",
}


def attach(sink: Sink) -> None:
    """Call ``sink`` with every event from now on."""
    global _sinks
    with _order:
        _sinks = (*_sinks, sink)


def detach(sink: Sink) -> None:
    """Stop calling ``sink``; an event being announced by another thread is delivered first."""
    global _sinks
    with _order:
        _sinks = tuple(other for other in _sinks if other != sink)


def kernel(name: str) -> None:
    """One kernel launch on the current stream."""
    if _sinks:
        _announce(Kernel, name, lane.stream, _NO_DETAILS)


def memset(size_bytes: int) -> None:
    """One asynchronous fill; nothing is launched for no bytes."""
    if _sinks and size_bytes:
        _announce(Memset, "cudaMemsetAsync", lane.stream, {"size_bytes": size_bytes})


def device_to_device(size_bytes: int) -> None:
    """One asynchronous copy inside device memory."""
    if _sinks and size_bytes:
        _copy(
            Direction.DEVICE_TO_DEVICE,
            size_bytes,
            (MemoryKind.DEVICE, MemoryKind.DEVICE),
            lane.stream,
        )


def host_to_device(size_bytes: int, *, source: MemoryKind, stream: int | None = None) -> None:
    """One asynchronous copy to the device; from pageable memory it holds the host all the same."""
    if _sinks and size_bytes:
        used = lane.stream if stream is None else stream
        _copy(Direction.HOST_TO_DEVICE, size_bytes, (source, MemoryKind.DEVICE), used)


def device_to_host(size_bytes: int, *, destination: MemoryKind, stream: int | None = None) -> None:
    """One asynchronous copy to the host; into pageable memory it holds the host all the same."""
    if _sinks and size_bytes:
        used = lane.stream if stream is None else stream
        _copy(Direction.DEVICE_TO_HOST, size_bytes, (MemoryKind.DEVICE, destination), used)


def wait(kind: SyncKind, stream: int | None = None) -> None:
    """One explicit wait of the host."""
    if _sinks:
        used = lane.stream if stream is None else stream
        _announce(Sync, _WAIT_API[kind], used, {"kind": kind})


def read_back(size_bytes: int) -> None:
    """The host reads a value the device computed: one copy into pageable memory and one stream wait.

    This is what ``int(x)``, ``bool(x)`` and every data-dependent shape come down to
    (``ndarray.get``, cupy/_core/core.pyx:2198-2205).
    """
    device_to_host(size_bytes, destination=MemoryKind.PAGEABLE)
    wait(SyncKind.STREAM)


def _copy(
    direction: Direction, size_bytes: int, ends: tuple[MemoryKind, MemoryKind], stream: int
) -> None:
    source, destination = ends
    details = {
        "direction": direction,
        "size_bytes": size_bytes,
        "source": source,
        "destination": destination,
        "blocking": MemoryKind.PAGEABLE in ends,
    }
    _announce(Transfer, "cudaMemcpyAsync", stream, details)


def _announce(kind: type[Event], api: str, stream: int, details: Mapping[str, Any]) -> None:
    file, line, function = user_line(sys._getframe(1))
    with _order:
        observation = Observation(
            kind, api, file, line, function, stream, perf_counter_ns(), details
        )
        for sink in _sinks:
            sink(observation)
