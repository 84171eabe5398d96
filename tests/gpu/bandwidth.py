"""How close to the device's own copying speed the kernels come, beside what else computes the same."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.devices.cuda_faults import fault_of
from harness.stats.bootstrap import median_interval
from harness.units import duration_text, percent_text, rate_text
from reference_impl.autograd import training
from reference_impl.kernels.planner import default_expected_dy
from reference_impl.ops import SoftMaxCrossEntropy
from reference_impl.tensor import Tensor

from . import peers
from .bench import Bench
from .findings import Notebook

__all__ = ["SHAPES", "Figure", "run_bandwidth"]

SHAPES = (
    ((64, 10), "float32"),
    ((256, 1000), "float32"),
    ((4096, 1000), "float32"),
    ((1024, 32_000), "float32"),
    ((4096, 32_000), "float32"),
    ((4096, 1000), "bfloat16"),
    ((4096, 32_000), "bfloat16"),
    ((4096, 1000), "float16"),
    ((4096, 1000), "float64"),
    ((8192, 128_256), "bfloat16"),
)
"""From launch-bound to the head of a large language model; the order in which they are worth having."""

_SMALL = tuple(((16, 10), dtype) for dtype in ("float32", "bfloat16", "float16", "float64"))
"""Those of a dry run."""

_MEASURED_S = 0.2
_DRY_S = 0.01

_PEERS_BEGIN_BY_S = 35.0
"""After this many seconds no other peer is begun: the section ends before it is ended."""

_PEAK_BYTES = 1 << 30
"""A copy that no cache helps."""

_MEMORY_PER_LOGIT = 40
"""Bytes: CuPy's own ops take about four arrays of float32, twice where a graph has memory of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Device time of one forward and backward; ``bytes`` are those that must move at least."""

    implementation: str
    shape: tuple[int, int]
    dtype: str
    clock: str
    ns: float
    low_ns: float
    high_ns: float
    bytes: int
    of_copy_peak: float
    of_same_copy: float


def run_bandwidth(bench: Bench, note: Notebook, folder: Path) -> None:
    """For each shape the kernels, a copy of as many bytes, CuPy's own functions, and PyTorch where it is."""
    bands = _Bands(bench, note, folder / "figures.jsonl")
    bands.peak()
    bands.clock()
    shapes = _SMALL if bench.is_dry else SHAPES
    for shape, dtype in shapes:
        bands.of_ours(shape, dtype)
    for name in peers.NAMES:
        for shape, dtype in shapes:
            bands.of_peer(name, shape, dtype)


class _Bands:
    """Measures, and keeps the figures in a file as they come."""

    def __init__(self, bench: Bench, note: Notebook, file: Path) -> None:
        self._bench, self._note, self._file = bench, note, file
        self._started = time.monotonic()
        self._seconds = _DRY_S if bench.is_dry else _MEASURED_S
        self._copy_bytes_per_ns = float("nan")
        self._missing: set[str] = set()
        self._same_copy_ns: dict[tuple[tuple[int, int], str], float] = {}

    def peak(self) -> None:
        """The speed of a copy within the device, bytes read and written."""
        size_bytes = min(_PEAK_BYTES, self._bench.free_bytes() // 4)
        copying = self._time(self._copy(size_bytes))
        ns, clock = copying[0], copying[3]
        self._copy_bytes_per_ns = 2 * size_bytes / ns
        rate = 2 * size_bytes / ns * 1e9
        self._note.about("device copy").measured(
            "peak", rate_text(rate, "B"), bytes_per_second=rate, size_bytes=size_bytes, clock=clock
        )

    def clock(self) -> None:
        """What the timer rests on: that its flush outlasts a launch, and what replaying a graph changes."""
        here = self._note.about("clock")
        launches = 100
        small = self._bench.xp.zeros(1, np.float32)
        small.fill(1)
        self._bench.device.synchronize()
        began = time.perf_counter_ns()
        for _ in range(launches):
            small.fill(1)
        launch_ns = (time.perf_counter_ns() - began) / launches
        self._bench.device.synchronize()
        here.measured("host time of a launch", duration_text(launch_ns), ns=launch_ns)
        flush_ns = self._time(self._flush())[0]
        here.holds(
            "flush of the L2",
            flush_ns > launch_ns,
            expected="longer than a launch",
            seen=duration_text(flush_ns),
            ns=flush_ns,
        )
        for shape, dtype in _SMALL if self._bench.is_dry else SHAPES[1:3]:
            call = self._kernels(shape, dtype)
            for replay in (True, False):
                ns, _, _, clock = self._time(call, replay=replay)
                here.measured(f"kernels, {_text(shape, dtype)}, {clock}", duration_text(ns), ns=ns)

    def of_ours(self, shape: tuple[int, int], dtype: str) -> None:
        """A copy of the logits, the kernels, and CuPy's own functions."""
        if not self._fits(shape, dtype):
            return
        try:
            self._same_copy_ns[shape, dtype] = self._time(self._copy(_logit_bytes(shape, dtype)))[0]
        except Exception as error:  # noqa: BLE001 - one shape must not keep the others from being measured
            self._note.about(_text(shape, dtype)).broke("copy", error)
            return
        for name, make in (("kernels", self._kernels), ("CuPy functions", self._array_ops)):
            self._measure(name, shape, dtype, partial(make, shape, dtype))

    def of_peer(self, name: str, shape: tuple[int, int], dtype: str) -> None:
        """PyTorch, eager or compiled, as launched or as a CUDA graph."""
        if (shape, dtype) not in self._same_copy_ns or name in self._missing:
            return
        if time.monotonic() - self._started > _PEERS_BEGIN_BY_S:
            self._note.about(_text(shape, dtype)).not_tried(name, "no time left in this section")
            return
        self._bench.free_bytes()  # PyTorch cannot use what CuPy keeps for itself
        self._measure(name, shape, dtype, partial(self._peer, name, shape, dtype))

    def _measure(
        self,
        name: str,
        shape: tuple[int, int],
        dtype: str,
        make: Callable[[], Callable[[], object]],
    ) -> None:
        here = self._note.about(_text(shape, dtype))
        try:
            # What PyTorch launches is on its own stream, which a capture by CuPy would not see.
            ns, low, high, clock = self._time(make(), replay=name not in peers.NAMES)
        except peers.MissingPeerError as error:
            self._missing.add(name)
            self._note.about("peers").not_tried(name, str(error))
            return
        except Exception as error:
            here.broke(name, error)
            fault = fault_of(error)
            if fault is not None and fault.sticky:
                raise
            return
        size_bytes = 2 * _logit_bytes(shape, dtype)
        figure = Figure(
            implementation=name,
            shape=shape,
            dtype=dtype,
            clock=clock,
            ns=ns,
            low_ns=low,
            high_ns=high,
            bytes=size_bytes,
            of_copy_peak=size_bytes / ns / self._copy_bytes_per_ns,
            of_same_copy=self._same_copy_ns[shape, dtype] / ns,
        )
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(figure)) + "\n")
        here.measured(
            name,
            f"{duration_text(ns)}, {rate_text(size_bytes / ns * 1e9, 'B')}, "
            f"{percent_text(figure.of_copy_peak)} of the copying speed, "
            f"{percent_text(figure.of_same_copy)} of a copy of the logits",
            **asdict(figure),
        )

    def _time(
        self, call: Callable[[], object], *, replay: bool = True
    ) -> tuple[float, float, float, str]:
        """Median and its interval in ns, and the clock."""
        sample = measure(
            call,
            timer=self._bench.timer(replay=replay),
            seed=0,
            rule=StoppingRule(
                time_cap_ns=self._seconds * 1e9, least_time_ns=self._seconds * 0.25e9
            ),
            change_layout=self._bench.device.change_layout,
        )
        time_ns = median_interval(sample.call_ns)
        return time_ns.value, time_ns.low, time_ns.high, sample.timer

    def _fits(self, shape: tuple[int, int], dtype: str) -> bool:
        needs = _MEMORY_PER_LOGIT * shape[0] * shape[1]
        if needs <= self._bench.free_bytes():
            return True
        self._note.about(_text(shape, dtype)).not_tried(
            "all of it", "the device has too little memory free"
        )
        return False

    def _copy(self, size_bytes: int) -> Callable[[], object]:
        runtime, cuda = self._bench.cuda.runtime, self._bench.cuda
        source = self._bench.xp.zeros(size_bytes, np.uint8)
        target = self._bench.xp.zeros(size_bytes, np.uint8)
        kind = runtime.memcpyDeviceToDevice
        return lambda: runtime.memcpyAsync(
            target.data.ptr, source.data.ptr, size_bytes, kind, cuda.get_current_stream().ptr
        )

    def _flush(self) -> Callable[[], object]:
        """As the timer does it: a read of twice the L2, at least 64 MiB (a sixteenth of it in a dry run)."""
        xp, rows = self._bench.xp, 4096
        size_bytes = max(2 * self._bench.kernels.limits_of(0).l2_bytes, 64 << 20)
        size_bytes //= 16 if self._bench.is_dry else 1
        source = xp.zeros((rows, size_bytes // (4 * rows)), np.float32)
        into = xp.empty(rows, np.float32)
        return lambda: xp.max(source, axis=1, out=into)

    def _kernels(self, shape: tuple[int, int], dtype: str) -> Callable[[], object]:
        kernels, xp = self._bench.kernels, self._bench.xp
        rows = shape[0]
        logits, labels = (self._bench.device.to_device(array) for array in _host(shape, dtype))
        wide = np.float64 if dtype == "float64" else np.float32
        loss, gradient = xp.zeros(1, wide), xp.zeros_like(logits)
        workspace = kernels.Workspace(rows)
        expected_dy = default_expected_dy(dtype=dtype, rows=rows, is_mean=True)
        dy = xp.full(1, expected_dy, wide)

        def step() -> None:
            kernels.forward_backward(
                logits,
                labels,
                workspace=workspace,
                loss_out=loss,
                gradient_out=gradient,
                expected_dy=expected_dy,
            )
            kernels.scale_gradient(gradient, dy, expected_dy=expected_dy)

        return step

    def _peer(self, name: str, shape: tuple[int, int], dtype: str) -> Callable[[], object]:
        logits, labels = _host(shape, dtype)
        return peers.step(name, logits, labels)

    def _array_ops(self, shape: tuple[int, int], dtype: str) -> Callable[[], object]:
        logits, labels = (self._bench.device.to_device(array) for array in _host(shape, dtype))

        def step() -> Any:
            with training():
                operation = SoftMaxCrossEntropy(labels)
                operation(Tensor(logits))
            return operation.backward(1.0)

        return step


@lru_cache(maxsize=1)
def _host(shape: tuple[int, int], dtype: str) -> tuple[Any, Any]:
    """Logits and labels; one row of noise for all rows, since drawing a billion numbers takes a minute."""
    rows, classes = shape
    rng = np.random.default_rng(0)
    row = (3 * rng.standard_normal(classes)).astype(np.float32)
    if dtype == "bfloat16":
        import ml_dtypes  # noqa: F401 - importing it makes the name known to NumPy
    return np.tile(row.astype(np.dtype(dtype)), (rows, 1)), rng.integers(0, classes, rows)


def _logit_bytes(shape: tuple[int, int], dtype: str) -> int:
    return shape[0] * shape[1] * {"float64": 8, "float32": 4}.get(dtype, 2)


def _text(shape: tuple[int, int], dtype: str) -> str:
    return f"{shape[0]}x{shape[1]} {dtype}"
