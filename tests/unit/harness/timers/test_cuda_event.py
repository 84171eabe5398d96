"""The CUDA timer on a GPU of a few lines: a queue, a cache, graphs, and two clocks that are known exactly."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from harness.benchmark.calibration import calibrate
from harness.errors import WorkloadError
from harness.timers.cuda_event import L2, CudaEventTimer

LAUNCH_US = 5.0
EVENT_US = 1.0
FLUSH_US = 30.0


class CUDARuntimeError(RuntimeError):
    """CuPy's exception of this name."""


@dataclass
class Gpu:
    """One device whose kernels take as long as told; the host spends time on launches, the device in a queue.

    ``host_us`` is where the host is, ``free_us`` when the device has done all it was given.
    """

    l2_bytes: int = 50 << 20
    shows_graphs: bool = True
    grows: bool = False
    host_us: float = 0.0
    free_us: float = 0.0
    cached: set[str] = field(default_factory=set)
    flushed_bytes: list[int] = field(default_factory=list)
    recorded: list[tuple[float, str]] | None = None
    capture_broken: bool = False
    capture_modes: list[int] = field(default_factory=list)
    allocator: str = "the default pool"
    allocations: list[str] = field(default_factory=list)
    launches: int = 0

    def kernel(self, takes_us: float, data: str = "", warm_us: float | None = None) -> None:
        """Launch a kernel; it takes ``warm_us`` when ``data`` is in the cache."""
        if self.recorded is not None:
            self.recorded.append((takes_us, data))
            return
        self.host_us += LAUNCH_US
        self.launches += 1
        self._run(takes_us, data, warm_us)

    def _run(self, takes_us: float, data: str, warm_us: float | None = None) -> None:
        warm = data in self.cached and warm_us is not None
        self.free_us = max(self.free_us, self.host_us) + (warm_us if warm and warm_us else takes_us)
        if data:
            self.cached.add(data)

    def allocate(self) -> None:
        """Memory for a temporary; a pool that must grow asks the driver, which waits for the device."""
        self.allocations.append(self.allocator)
        if self.grows:
            self.grows = False
            self.synchronize()
            self.host_us += 1000.0

    def synchronize(self) -> None:
        """Hold the host; illegal while capturing."""
        if self.recorded is not None:
            self.capture_broken = True
            raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported: not while capturing")
        self.host_us = max(self.host_us, self.free_us)

    def cupy(self) -> Any:
        """What the timer uses of CuPy."""
        gpu = self

        class Event:
            at_us = float("nan")
            recorded_on: Any = None

            def record(self, stream: Any) -> None:
                gpu.host_us += EVENT_US
                self.at_us = max(gpu.host_us, gpu.free_us)
                self.recorded_on = stream

            def synchronize(self) -> None:
                gpu.host_us = max(gpu.host_us, self.at_us)

        class Stream:
            def __init__(self, non_blocking: bool = False) -> None:
                self.non_blocking = non_blocking

            def __enter__(self) -> Stream:
                current.append(self)
                return self

            def __exit__(self, *error: object) -> None:
                current.pop()

            synchronize = staticmethod(gpu.synchronize)

            def begin_capture(self, mode: int) -> None:
                assert current[-1] is self
                assert self.non_blocking
                gpu.capture_modes.append(mode)
                gpu.recorded, gpu.capture_broken = [], False

            def end_capture(self) -> Graph:
                recorded, gpu.recorded = gpu.recorded, None
                if gpu.capture_broken:
                    raise CUDARuntimeError("cudaErrorStreamCaptureInvalidated: broken before")
                assert recorded is not None
                return Graph(recorded)

        class Graph:
            def __init__(self, nodes: list[tuple[float, str]]) -> None:
                self.nodes = nodes

            def launch(self) -> None:
                assert gpu.recorded is None
                gpu.host_us += LAUNCH_US
                for takes_us, data in self.nodes:
                    gpu._run(takes_us, data)

            def debug_dot_str(self) -> str:
                nodes = range(len(self.nodes) if gpu.shows_graphs else 0)
                lines = [f'"graph_1_node_{node}"[style="bold" label="0"];' for node in nodes]
                return "\n".join(["digraph dot {", 'label="graph_1"', *lines, "}"])

        class Array:
            nbytes = 0

            def fill(self, value: int) -> None:
                gpu.kernel(1.0)

        def zeros(shape: tuple[int, int], dtype: str) -> Array:
            made = Array()
            made.nbytes = shape[0] * shape[1] * 4
            return made

        def largest(source: Array, axis: int, out: Array) -> None:
            gpu.flushed_bytes.append(source.nbytes)
            gpu.kernel(FLUSH_US)
            gpu.cached.clear()

        @contextmanager
        def using_allocator(allocator: Callable[[], str]) -> Iterator[None]:
            before, gpu.allocator = gpu.allocator, allocator()
            yield
            gpu.allocator = before

        current = [Stream()]
        device = SimpleNamespace(use=lambda: None, synchronize=gpu.synchronize)
        return SimpleNamespace(
            float32="float32",
            zeros=zeros,
            empty=lambda shape, dtype: Array(),
            max=largest,
            cuda=SimpleNamespace(
                Device=lambda index: device,
                Event=Event,
                Stream=Stream,
                MemoryPool=lambda: SimpleNamespace(malloc=lambda: "the graph's pool"),
                using_allocator=using_allocator,
                get_current_stream=lambda: current[-1],
                get_elapsed_time=lambda start, end: (end.at_us - start.at_us) / 1e3,
                runtime=SimpleNamespace(
                    streamCaptureModeGlobal=0,
                    getDeviceProperties=lambda index: {"l2CacheSize": gpu.l2_bytes},
                ),
            ),
        )


@pytest.fixture
def gpu() -> Gpu:
    return Gpu()


def timer(gpu: Gpu, **options: Any) -> CudaEventTimer:
    return CudaEventTimer(gpu.cupy(), **options)


def launch_bound(gpu: Gpu) -> Callable[[], None]:
    def call() -> None:
        for _ in range(10):
            gpu.kernel(1.0)

    return call


def reads_back(gpu: Gpu) -> Callable[[], None]:
    """Two kernels with a read of the first's result between them."""

    def call() -> None:
        gpu.kernel(10.0)
        gpu.synchronize()
        gpu.kernel(10.0)

    return call


# --- what is timed --------------------------------------------------------------------------------------


def test_a_kernel_is_timed_without_flush_and_without_launch(gpu):
    assert timer(gpu).measure(lambda: gpu.kernel(60.0), 100) == pytest.approx(
        100 * (60.0 + EVENT_US) * 1e3, rel=0.02
    )


def test_eager_launches_hide_behind_the_flush_too(gpu):
    clock = timer(gpu, replay=False)
    assert clock.measure(lambda: gpu.kernel(60.0), 50) == pytest.approx(50 * 60e3, rel=0.02)


def test_without_a_flush_to_hide_behind_a_lone_window_would_hold_the_launch(gpu):
    """What the protocol is for: the same event pair on an idle device."""
    cupy = gpu.cupy()
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    gpu.synchronize()
    start.record(None)
    gpu.kernel(60.0)
    end.record(None)
    assert cupy.cuda.get_elapsed_time(start, end) * 1e3 >= 60.0 + LAUNCH_US


def test_a_launch_bound_call_is_timed_as_the_device_sees_it_once_replayed(gpu):
    replayed = timer(gpu).measure(launch_bound(gpu), 10) / 10
    eager = timer(gpu, replay=False).measure(launch_bound(gpu), 10) / 10
    assert replayed == pytest.approx(10e3, rel=0.2)
    assert eager > 2 * replayed


def test_the_cache_is_cold_for_each_call_or_warm_for_all(gpu):
    def call() -> None:
        gpu.kernel(100.0, "logits", warm_us=40.0)

    cold = timer(gpu, replay=False).measure(call, 40) / 40
    warm = timer(gpu, replay=False, l2=L2.WARM).measure(call, 40) / 40
    assert cold == pytest.approx(100e3, rel=0.03)
    assert warm == pytest.approx(40e3, rel=0.03)


@pytest.mark.parametrize(
    ("l2_bytes", "flushed"), [(50 << 20, 100 << 20), (4 << 20, 64 << 20), (0, 64 << 20)]
)
def test_the_flush_reads_twice_the_cache_and_long_enough_to_hide_a_launch(l2_bytes, flushed):
    gpu = Gpu(l2_bytes=l2_bytes)
    timer(gpu).measure(lambda: gpu.kernel(1.0), 1)
    assert gpu.flushed_bytes
    assert set(gpu.flushed_bytes) == {flushed}


def test_a_warm_timer_never_flushes(gpu):
    timer(gpu, l2=L2.WARM).measure(lambda: gpu.kernel(1.0), 3)
    assert gpu.flushed_bytes == []


def test_a_warm_window_is_the_same_whether_or_not_the_device_was_busy_before(gpu):
    clock = timer(gpu, l2=L2.WARM)

    def call() -> None:
        gpu.kernel(50.0)

    idle = clock.measure(call, 1)
    gpu.kernel(5000.0)
    assert clock.measure(call, 1) == pytest.approx(idle)


@pytest.mark.parametrize("calls", [1, 31, 32, 33, 100])
def test_every_call_is_made_and_timed_once_however_many_there_are(calls, gpu):
    clock = timer(gpu, replay=False)

    def call() -> None:
        gpu.kernel(50.0)

    clock.measure(call, 1)
    before = gpu.launches - len(gpu.flushed_bytes)
    elapsed = clock.measure(call, calls)
    made = gpu.launches - len(gpu.flushed_bytes) - before
    assert made == calls + 1  # the one that is not timed
    assert elapsed == pytest.approx(calls * 50e3, rel=0.03)


def test_all_work_is_done_when_a_measurement_returns(gpu):
    timer(gpu).measure(lambda: gpu.kernel(500.0), 3)
    assert gpu.host_us >= gpu.free_us


def test_a_pool_that_grows_after_a_change_of_layout_is_not_timed(gpu):
    def call() -> None:
        gpu.allocate()
        gpu.kernel(50.0)

    clock = timer(gpu, replay=False)
    clock.measure(call, 1)
    gpu.grows = True
    assert clock.measure(call, 1) == pytest.approx(50e3, rel=0.05)


def test_a_wait_inside_the_call_is_timed_with_the_gap_it_leaves(gpu):
    clock = timer(gpu)
    assert clock.measure(reads_back(gpu), 10) / 10 >= (20.0 + LAUNCH_US) * 1e3


# --- graphs ---------------------------------------------------------------------------------------------


def test_a_call_is_captured_once_and_then_only_replayed(gpu):
    ran = []
    clock = timer(gpu)

    def call() -> None:
        ran.append(len(gpu.capture_modes))
        gpu.kernel(5.0)

    for _ in range(3):
        clock.measure(call, 40)
    assert ran == [0, 0, 1]  # to see that it works, to fill the graph's pool, captured
    assert clock.launch_of(call).replayed
    assert clock.name == "cuda events, cold L2, graph replay"


def test_capture_is_of_the_strictest_kind(gpu):
    timer(gpu).measure(lambda: gpu.kernel(1.0), 1)
    assert gpu.capture_modes == [0]


def test_a_graph_works_in_memory_of_its_own(gpu):
    """Blocks of the common pool go to somebody else, whose values a later replay would overwrite."""

    def call() -> None:
        gpu.allocate()
        gpu.kernel(1.0)

    timer(gpu).measure(call, 5)
    assert gpu.allocations == ["the default pool", "the graph's pool", "the graph's pool"]
    assert gpu.allocator == "the default pool"


def test_a_call_that_waits_cannot_be_captured_and_says_why(gpu):
    clock, call = timer(gpu), reads_back(gpu)
    clock.measure(call, 1)
    launch = clock.launch_of(call)
    assert not launch.replayed
    assert launch.why == (
        "capture was refused: CUDARuntimeError: cudaErrorStreamCaptureUnsupported: not while capturing"
    )
    assert clock.name == "cuda events, cold L2, eager launches"
    assert gpu.recorded is None


@pytest.mark.parametrize("error", [NotImplementedError("cuBLAS"), MemoryError("full")])
def test_an_operation_that_refuses_capture_is_launched_eagerly(error, gpu):
    def call() -> None:
        if gpu.recorded is not None:
            raise error
        gpu.kernel(1.0)

    clock = timer(gpu)
    assert clock.measure(call, 1) > 0
    assert type(error).__name__ in clock.launch_of(call).why


def test_an_error_of_the_call_itself_passes_through_and_leaves_no_capture_open(gpu):
    def call() -> None:
        if gpu.recorded is not None:
            raise KeyError("labels")

    with pytest.raises(KeyError, match="labels"):
        timer(gpu).measure(call, 1)
    assert gpu.recorded is None


def test_an_empty_graph_is_never_replayed_as_a_fast_one(gpu):
    with pytest.raises(WorkloadError, match="nothing to do"):
        timer(gpu).measure(lambda: None, 10)


def test_a_driver_that_shows_no_graph_costs_the_replay_and_not_the_case():
    gpu = Gpu(shows_graphs=False)
    clock = timer(gpu)

    def call() -> None:
        gpu.kernel(60.0)

    assert clock.measure(call, 10) == pytest.approx(600e3, rel=0.03)
    assert clock.launch_of(call).why == "this driver does not show what a graph holds"


def test_replay_can_be_switched_off(gpu):
    clock = timer(gpu, replay=False)
    assert clock.launch_of(lambda: gpu.kernel(1.0)).why == "replay is switched off"
    assert gpu.capture_modes == []


# --- the seam -------------------------------------------------------------------------------------------


def test_nothing_is_timed_while_a_probe_records(gpu):
    clock = timer(gpu, recording=lambda: True)
    with pytest.raises(RuntimeError, match="a probe is recording"):
        clock.measure(lambda: gpu.kernel(1.0), 1)
    assert gpu.capture_modes == []


def test_the_name_tells_the_cache_before_anything_was_timed(gpu):
    assert timer(gpu).name == "cuda events, cold L2"
    assert timer(gpu, l2=L2.WARM).name == "cuda events, warm L2"


def test_the_collector_is_off_meanwhile_and_as_before_afterwards(gpu):
    seen = []

    def call() -> None:
        seen.append(gc.isenabled())
        gpu.kernel(1.0)

    timer(gpu, replay=False).measure(call, 2)
    assert seen[-2:] == [False, False]
    assert gc.isenabled()


def test_the_benchmark_can_calibrate_with_it(gpu):
    found = calibrate(lambda: gpu.kernel(20.0), timer(gpu))
    assert found.call_ns == pytest.approx(20e3, rel=0.1)
    assert 48 <= found.calls <= 60  # a millisecond
