"""The boundary between host and device: what crosses it is announced here, once, to whoever listens.

Operations know nothing of recordings. They announce; a listener, when one is attached, is told in the thread
that launched the event, in launch order over all threads. With none attached an announcement is one test.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from time import perf_counter_ns
from typing import Any, NamedTuple, Protocol

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
    "Listener",
    "Observation",
    "attach",
    "detach",
    "device_to_device",
    "device_to_host",
    "doubt",
    "host_callback",
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


class Listener(Protocol):
    """Whoever wants to know what happens at the boundary."""

    def observe(self, observation: Observation) -> None:
        """Take one event."""
        ...

    def doubt(self, reason: str) -> None:
        """Take one reason, a sentence, why the events may not be all there were on a GPU."""
        ...


class Lane(threading.local):
    """The stream this thread launches on; 0 is the null stream."""

    stream: int = 0


lane = Lane()

_listeners: tuple[Listener, ...] = ()
_order = threading.RLock()
"""Held while an event is delivered; re-entrant, since a finaliser may run an operation in the middle of it."""

_NO_DETAILS: Mapping[str, Any] = {}

_WAIT_API = {
    SyncKind.STREAM: "cudaStreamSynchronize",
    SyncKind.EVENT: "cudaEventSynchronize",
    SyncKind.DEVICE: "cudaDeviceSynchronize",
}


def attach(listener: Listener) -> None:
    """Tell ``listener`` everything from now on."""
    global _listeners
    with _order:
        _listeners = (*_listeners, listener)


def detach(listener: Listener) -> None:
    """Tell ``listener`` no more; an event being announced by another thread is delivered first."""
    global _listeners
    with _order:
        _listeners = tuple(other for other in _listeners if other is not listener)


def doubt(subject: str, consequence: str) -> None:
    """Something was done that may hide events: ``subject at file:line consequence``."""
    if _listeners:
        file, line, _ = user_line(sys._getframe(1))
        with _order:
            for listener in _listeners:
                listener.doubt(f"{subject} at {file}:{line} {consequence}")


def kernel(name: str) -> None:
    """One kernel launch on the current stream."""
    if _listeners:
        _announce(Kernel, name, lane.stream, _NO_DETAILS)


def memset(size_bytes: int) -> None:
    """One asynchronous fill; nothing is launched for no bytes."""
    if _listeners and size_bytes:
        _announce(Memset, "cudaMemsetAsync", lane.stream, {"size_bytes": size_bytes})


def device_to_device(size_bytes: int) -> None:
    """One asynchronous copy inside device memory."""
    if _listeners and size_bytes:
        _copy(
            Direction.DEVICE_TO_DEVICE,
            size_bytes,
            (MemoryKind.DEVICE, MemoryKind.DEVICE),
            lane.stream,
        )


def host_to_device(size_bytes: int, *, source: MemoryKind, stream: int | None = None) -> None:
    """One asynchronous copy to the device; from pageable memory it holds the host all the same."""
    if _listeners and size_bytes:
        used = lane.stream if stream is None else stream
        _copy(Direction.HOST_TO_DEVICE, size_bytes, (source, MemoryKind.DEVICE), used)


def device_to_host(size_bytes: int, *, destination: MemoryKind, stream: int | None = None) -> None:
    """One asynchronous copy to the host; into pageable memory it holds the host all the same."""
    if _listeners and size_bytes:
        used = lane.stream if stream is None else stream
        _copy(Direction.DEVICE_TO_HOST, size_bytes, (MemoryKind.DEVICE, destination), used)


def wait(kind: SyncKind, stream: int | None = None) -> None:
    """One explicit wait of the host."""
    if _listeners:
        used = lane.stream if stream is None else stream
        _announce(Sync, _WAIT_API[kind], used, {"kind": kind})


def host_callback(api: str, stream: int) -> None:
    """One function that the stream runs on the host, and waits for."""
    if _listeners:
        _announce(Sync, api, stream, {"kind": SyncKind.HOST_CALLBACK})


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
        for listener in _listeners:
            listener.observe(observation)


def _new_lock_in_a_forked_child() -> None:
    # Another thread of the parent may have held it, and that thread does not exist here.
    global _order
    _order = threading.RLock()


os.register_at_fork(after_in_child=_new_lock_in_a_forked_child)
