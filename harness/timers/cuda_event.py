"""CUDA events around calls: the device's own clock, with a cold L2 and without the host's launch latency."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from itertools import repeat
from typing import Any

from harness.errors import WorkloadError

__all__ = ["L2", "CudaEventTimer", "Launch"]

_BATCH = 32
"""Windows opened before the host waits for the last: the launches of the next then hide behind the work of the
one before. CUDA queues about a thousand launches, so 32 windows of 30 kernels each still fit."""

_LEAST_FLUSH_BYTES = 64 << 20
"""Reading this takes a GPU of 4 TB/s 16 us, about what CuPy needs to record an event and launch a kernel: the
host is ahead when the window opens."""

_FLUSHED_CACHES = 2
"""Times the L2's size: its two halves may each keep a copy, and its replacement is no strict queue."""

_FLUSH_ROWS = 4096
"""One block per row and 30 blocks per multiprocessor of the largest GPU, so that reading runs at full speed."""

_NODE = re.compile(r'"graph_\d+_node_\d+"')
"""A node in the DOT text of ``cudaGraphDebugDotPrint``."""


class L2(Enum):
    """What the second-level cache holds when a call begins."""

    COLD = "cold L2"
    """Nothing of the call's data; each call has a window of its own."""

    WARM = "warm L2"
    """What the call before left; one window around all calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a call reaches the device while it is timed: replayed from a CUDA graph or not, and why."""

    replayed: bool
    why: str


@dataclass(frozen=True, slots=True)
class _Subject:
    """A call as it is timed; ``kept`` holds the memory a graph works in."""

    invoke: Callable[[], object]
    launch: Launch
    kept: tuple[Any, ...] = ()


class CudaEventTimer:
    """Device time of calls on the current stream.

    With a cold L2, each call is ``flush | event | call | event`` in one stream. The flush ends before the first
    event fires, so none of it is timed; meanwhile the host launches the call, so the time from the first event
    to the first kernel is not the host's. The flush reads and writes nothing back, so that no dirty line is
    evicted at the call's expense.

    A call that can be captured is captured once and then replayed as a graph: a call of a few microseconds is
    otherwise a measurement of Python. Every such call is, whatever its size, because a choice by size would flip
    from run to run near its threshold, and samples of different timers are not compared. A large call takes the
    same time both ways. Its temporaries live in memory of the graph's own, which doubles what it needs.

    Not timed: work on streams that the call does not join to the current one, and host work done before the
    first kernel while the flush runs. Make one timer per case: it keeps graphs and memory until it is dropped.
    """

    resolution_ns = 500.0
    """``cudaEventElapsedTime`` resolves about half a microsecond (CUDA runtime API)."""

    def __init__(
        self,
        cupy: Any,
        *,
        device: int = 0,
        l2: L2 = L2.COLD,
        replay: bool = True,
        recording: Callable[[], bool] = lambda: False,
    ) -> None:
        self._cupy, self._l2, self._replay, self._recording = cupy, l2, replay, recording
        self._device = cupy.cuda.Device(device)
        self._device.use()
        self._pairs = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(_BATCH)]
        self._flush = _l2_flush(cupy, device) if l2 is L2.COLD else None
        self._subjects: dict[Callable[[], object], _Subject] = {}

    @property
    def name(self) -> str:
        """Clock, state of the cache and way of launching; the last once the first call has been timed."""
        first = next(iter(self._subjects.values()), None)
        if first is None:
            return f"cuda events, {self._l2.value}"
        way = "graph replay" if first.launch.replayed else "eager launches"
        return f"cuda events, {self._l2.value}, {way}"

    def launch_of(self, call: Callable[[], object]) -> Launch:
        """How ``call`` is launched; runs and captures it if it was not timed before."""
        self._device.use()
        return self._subject(call).launch

    def measure(self, call: Callable[[], object], calls: int) -> float:
        """Nanoseconds of device time for ``calls`` calls, all done when this returns.

        The first time a call is seen it is run, and captured if possible. An eager call is run once more
        before each measurement, untimed: after a change of the memory's layout the pool grows, and that
        waits for the device. Raises ``RuntimeError`` while a probe records: what is traced is not timed.
        """
        if self._recording():
            raise RuntimeError("a probe is recording; time calls outside of recordings")
        self._device.use()
        subject = self._subject(call)
        if not subject.launch.replayed:
            subject.invoke()
        with _collector_off():
            if self._flush is None:
                return self._one_window(subject.invoke, calls)
            return self._window_per_call(subject.invoke, calls, self._flush)

    def now_ns(self) -> float:
        """The host's monotonic clock, which flushes and waits also spend."""
        return float(time.perf_counter_ns())

    def _one_window(self, invoke: Callable[[], object], calls: int) -> float:
        stream = self._cupy.cuda.get_current_stream()
        start, end = self._pairs[0]
        stream.synchronize()
        start.record(stream)
        for _ in repeat(None, calls):
            invoke()
        end.record(stream)
        end.synchronize()
        return self._elapsed_ns(start, end)

    def _window_per_call(
        self, invoke: Callable[[], object], calls: int, flush: Callable[[], object]
    ) -> float:
        stream = self._cupy.cuda.get_current_stream()
        elapsed = 0.0
        for done in range(0, calls, _BATCH):
            pairs = self._pairs[: min(_BATCH, calls - done)]
            for start, end in pairs:
                flush()
                start.record(stream)
                invoke()
                end.record(stream)
            pairs[-1][1].synchronize()
            elapsed += sum(self._elapsed_ns(start, end) for start, end in pairs)
        return elapsed

    def _elapsed_ns(self, start: Any, end: Any) -> float:
        return float(self._cupy.cuda.get_elapsed_time(start, end)) * 1e6

    def _subject(self, call: Callable[[], object]) -> _Subject:
        known = self._subjects.get(call)
        if known is not None:
            return known
        call()
        self._device.synchronize()
        made = self._captured(call) if self._replay else _eager(call, "replay is switched off")
        self._device.synchronize()
        self._subjects[call] = made
        return made

    def _captured(self, call: Callable[[], object]) -> _Subject:
        stream = self._cupy.cuda.Stream(non_blocking=True)
        pool = self._cupy.cuda.MemoryPool()
        try:
            with _collector_off(), self._cupy.cuda.using_allocator(pool.malloc), stream:
                graph = _capture(self._cupy, call, stream)
                empty = not _has_nodes(graph)
                if empty and not _has_nodes(_capture(self._cupy, self._known_kernel(), stream)):
                    return _eager(call, "this driver does not show what a graph holds")
        except (RuntimeError, MemoryError) as error:
            return _eager(call, f"capture was refused: {_sentence(error)}")
        if empty:
            raise WorkloadError(
                "the call gives the current stream of the GPU nothing to do, so CUDA events cannot time it; "
                "time it on the device it works on"
            )
        launch = Launch(replayed=True, why="captured once and replayed")
        return _Subject(graph.launch, launch, kept=(graph, pool, stream))

    def _known_kernel(self) -> Callable[[], object]:
        """A call that does launch something: what no graph shows of it, no graph shows of any call."""
        target = self._cupy.empty(1, dtype=self._cupy.float32)
        return lambda: target.fill(1)


def _capture(cupy: Any, call: Callable[[], object], stream: Any) -> Any:
    """The graph of one call; the first call fills the pool, so that capturing allocates nothing.

    The strictest mode: what might not be replayed (a wait, an allocation of the driver's) is refused instead of
    being left out of the graph.
    """
    call()
    stream.synchronize()
    stream.begin_capture(cupy.cuda.runtime.streamCaptureModeGlobal)
    try:
        call()
    except BaseException:
        with suppress(RuntimeError):  # ending an invalid capture says what is already on its way
            stream.end_capture()
        raise
    return stream.end_capture()


def _has_nodes(graph: Any) -> bool:
    return _NODE.search(graph.debug_dot_str()) is not None


def _eager(call: Callable[[], object], why: str) -> _Subject:
    return _Subject(call, Launch(replayed=False, why=why))


def _l2_flush(cupy: Any, device: int) -> Callable[[], object]:
    """Enqueue a read of twice the L2's size."""
    l2_bytes = int(cupy.cuda.runtime.getDeviceProperties(device)["l2CacheSize"])
    size_bytes = max(_FLUSHED_CACHES * l2_bytes, _LEAST_FLUSH_BYTES)
    columns = -(-size_bytes // (4 * _FLUSH_ROWS))
    source = cupy.zeros((_FLUSH_ROWS, columns), dtype=cupy.float32)
    into = cupy.empty(_FLUSH_ROWS, dtype=cupy.float32)

    def flush() -> None:
        cupy.max(source, axis=1, out=into)

    flush()
    cupy.cuda.Device(device).synchronize()
    return flush


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"


@contextmanager
def _collector_off() -> Iterator[None]:
    """A collection takes milliseconds, and frees device memory at a moment of its own choosing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
