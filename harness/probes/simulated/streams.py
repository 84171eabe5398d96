"""Streams, events and the device they belong to.

The simulated device runs an operation when it is launched, so ordering calls have nothing left to order: they
keep CuPy's state and cost nothing. Only what holds one side for the other is announced.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, ClassVar

from harness.model.event import SyncKind
from harness.probes.simulated import boundary
from harness.probes.simulated.refusal import absent, not_modelled

__all__ = [
    "Device",
    "Event",
    "Stream",
    "get_current_stream",
    "get_elapsed_time",
    "runtime",
]

_FIRST_FREE_STREAM = 3
"""CUDA reserves 0 for the null stream, 1 for the legacy and 2 for the per-thread default stream."""

_numbers = itertools.count(_FIRST_FREE_STREAM)


class Event:
    """A point in a stream (``cupy.cuda.Event``)."""

    def __init__(
        self, block: bool = False, disable_timing: bool = False, interprocess: bool = False
    ) -> None:
        if interprocess and not disable_timing:
            raise ValueError("an interprocess event takes disable_timing=True")
        self._timed = not disable_timing
        self._recorded_ns: int | None = None
        self._stream = 0

    def __getattr__(self, name: str) -> Any:
        raise absent("cuda.Event", name)

    @property
    def done(self) -> bool:
        """Whether the work before the event is done; a poll, not a wait."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Place the event in a stream, the current one by default."""
        self._stream = boundary.lane.stream if stream is None else stream.ptr
        self._recorded_ns = perf_counter_ns()

    def synchronize(self) -> None:
        """Hold the host until the work before the event is done."""
        boundary.wait(SyncKind.EVENT, self._stream)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two recorded events; host time, since the simulated device has no other."""
    times = start_event._recorded_ns, end_event._recorded_ns
    if times[0] is None or times[1] is None:
        raise ValueError("get_elapsed_time() takes two recorded events")
    if not (start_event._timed and end_event._timed):
        raise ValueError("get_elapsed_time() takes events made without disable_timing")
    return (times[1] - times[0]) / 1e6


class Stream:
    """A queue of work (``cupy.cuda.Stream``); ``ptr`` is the number its events carry."""

    null: ClassVar[Stream]
    ptds: ClassVar[Stream]

    def __init__(
        self,
        null: bool = False,
        non_blocking: bool = False,
        ptds: bool = False,
        priority: int | None = None,
    ) -> None:
        if null and ptds:
            raise ValueError(
                "a stream is the null stream or the per-thread default stream, not both"
            )
        self.ptr = 0 if null else 2 if ptds else next(_numbers)
        self.is_non_blocking = non_blocking
        self.priority = 0 if priority is None else priority
        self.device_id = 0

    def __getattr__(self, name: str) -> Any:
        raise absent("cuda.Stream", name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return self.ptr

    def __repr__(self) -> str:
        return f"<Stream {self.ptr} (simulated device 0)>"

    def use(self) -> Stream:
        """Launch on this stream from now on, in this thread."""
        _make_current(self)
        return self

    def __enter__(self) -> Stream:
        _current.entered.append(self)
        _make_current(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _current.entered.pop()
        _make_current(_current.entered[-1] if _current.entered else Stream.null)

    @property
    def done(self) -> bool:
        """Whether all work of the stream is done; a poll, not a wait."""
        return True

    def synchronize(self) -> None:
        """Hold the host until all work of the stream is done."""
        boundary.wait(SyncKind.STREAM, self.ptr)

    def record(self, event: Event | None = None) -> Event:
        """Place an event, a new one by default, in the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make later work of the stream wait for an event; the host does not wait."""

    def launch_host_func(self, callback: Callable[[Any], object], arg: Any) -> None:
        """Run ``callback(arg)`` on the host when the work so far is done, which is now; later work waits for it."""
        boundary.host_callback("cudaLaunchHostFunc", self.ptr)
        callback(arg)

    def add_callback(self, callback: Callable[[Stream, int, Any], object], arg: Any) -> None:
        """Run ``callback(stream, 0, arg)`` on the host when the work so far is done; later work waits for it."""
        boundary.host_callback("cudaStreamAddCallback", self.ptr)
        callback(self, 0, arg)

    def is_capturing(self) -> bool:
        """Never: capture is not modelled."""
        return False

    def begin_capture(self, mode: int | None = None) -> None:
        """Refused: a captured operation is not run, and the simulated device only runs them."""
        raise not_modelled("Stream.begin_capture", "capture on a CUDA device")


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


class _Current(threading.local):
    def __init__(self) -> None:
        self.stream = Stream.null
        self.entered: list[Stream] = []


_current = _Current()


def _make_current(stream: Stream) -> None:
    _current.stream = stream
    boundary.lane.stream = stream.ptr


def get_current_stream() -> Stream:
    """The stream this thread launches on."""
    return _current.stream


class Device:
    """The one simulated device (``cupy.cuda.Device``)."""

    def __init__(self, device: int | Device | None = None) -> None:
        self.id = 0 if device is None else int(device)
        if self.id != 0:
            boundary.doubt(
                f"xp.cuda.Device({self.id})", "is one of several GPUs, and one is simulated"
            )
            raise ValueError(f"there is one simulated device, number 0, not {self.id}")

    def __getattr__(self, name: str) -> Any:
        raise absent("cuda.Device", name)

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<simulated device {self.id}>"

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def use(self) -> Device:
        """Make it the current device, which it is."""
        return self

    def synchronize(self) -> None:
        """Hold the host until all work of the device is done."""
        boundary.wait(SyncKind.DEVICE, 0)


class _Runtime:
    """``cupy.cuda.runtime``: the calls that hold the host, and the questions that have one answer here."""

    def __getattr__(self, name: str) -> Any:
        raise absent("cuda.runtime", name)

    @staticmethod
    def deviceSynchronize() -> None:  # noqa: N802 - CUDA's name
        """Hold the host until all work of the device is done."""
        Device().synchronize()

    @staticmethod
    def streamSynchronize(stream: int) -> None:  # noqa: N802 - CUDA's name
        """Hold the host until all work of a stream is done."""
        boundary.wait(SyncKind.STREAM, stream)

    @staticmethod
    def getDevice() -> int:  # noqa: N802 - CUDA's name
        """The current device."""
        return 0

    @staticmethod
    def getDeviceCount() -> int:  # noqa: N802 - CUDA's name
        """How many devices there are."""
        return 1


runtime: Any = _Runtime()
