"""Convolutions by cuDNN, beside those by columns: values, bits, traffic, capture and time of the ticket's networks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.devices.cuda_faults import fault_of
from harness.errors import UnavailableError
from harness.stats.bootstrap import median_interval
from harness.units import duration_text
from reference_impl.nn.by_columns import ByColumns
from reference_impl.nn.layout import batch_first, batch_last
from reference_impl.nn.windows import Windows

from .bench import Bench
from .convolution_cases import DIRECTIONS, Case, arrays_of, cases, errors_of, noise
from .findings import Notebook
from .graphs import capture_text

__all__ = ["COLUMNS", "CUDNN", "TIMES", "run_convolution"]

COLUMNS, CUDNN, TIMES = "columns", "cuDNN", "times"

Step = Callable[[], tuple[Any, Any, Any]]
"""Output, gradient of the images, gradient of the kernels."""

Engine = Callable[[Case, Any, Any, Any], tuple[Any, Any, Any]]
"""The three of a case, from images, kernels and the gradient of the output."""

_MOST_ERROR = 16.0
"""In ``errors_of``'s units. By columns at most 6 on any of these shapes; in TF32 at least 140 in some direction of
each, and Winograd's transform in tiles of 6x6, the mildest of those refused, has 27."""

_LAUNCHES = 4
"""For equal bits: sums in the order in which blocks come to an end differ within a few."""

_MEASURED_S = 0.1
_DRY_S = 0.002

_TIMES_BEGIN_BY_S = 30.0
"""After this many seconds no other shape is timed: the section ends before it is ended."""

_MEMORY_PER_COLUMN = 3
"""Columns, their gradient, and images with their border, which are fewer."""


def run_convolution(bench: Bench, note: Notebook, chosen: Iterable[Case] | None = None) -> None:
    """All shapes or those ``chosen``; what needs cuDNN is not tried where it is not."""
    began = time.monotonic()
    of_values, of_times = _shapes(bench) if chosen is None else (tuple(chosen),) * 2
    engines = _engines(bench, note, of_values[0])
    for name, engine in engines.items():
        here = note.about(f"{name}, bits and traffic")
        for look in (_same_bits, _traffic, *((_capture,) if name == CUDNN else ())):
            _guarded(partial(look, bench, engine, of_values, here), here, look.__name__.strip("_"))
        against = note.about(f"{name} against the oracle")
        for case in of_values:
            _guarded(partial(_values, bench, engine, case, against), against, case.name)
    of_time = note.about(TIMES)
    for case in of_times:
        if time.monotonic() - began > _TIMES_BEGIN_BY_S:
            of_time.not_tried(case.name, "no time left in this section")
            continue
        _guarded(partial(_times, bench, engines, case, of_time), of_time, case.name)


def _shapes(bench: Bench) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """For values those of the workloads, for times those of SINGA's programs; in a dry run the smallest there are."""
    if bench.is_dry:
        smallest = cases(batch=1, side=32)
        return smallest, _sample(smallest)
    return cases(batch=4, side=64), cases(batch=32, side=224)


def _engines(bench: Bench, note: Notebook, first: Case) -> Mapping[str, Engine]:
    """Columns, and cuDNN if it gets through ``first``: what keeps it from starting is told once."""
    found: dict[str, Engine] = {COLUMNS: _by_columns}

    def start() -> None:
        engine = _by_cudnn(bench.by_cudnn())
        _step(bench, engine, first)()
        found[CUDNN] = engine

    _guarded(start, note.about(CUDNN), "all of it")
    return found


def _by_columns(case: Case, x: Any, w: Any, dy: Any) -> tuple[Any, Any, Any]:
    windows = Windows.of(w.shape[2:], stride=case.stride, padding=case.padding)
    product = ByColumns(windows, x, w)
    return product.output(), product.image_gradient(dy), product.kernel_gradient(dy)


def _by_cudnn(product_of: Callable[..., Any]) -> Engine:
    def engine(case: Case, x: Any, w: Any, dy: Any) -> tuple[Any, Any, Any]:
        stride, padding = (case.stride,) * 2, (case.padding,) * 2
        product = product_of(x, w, stride=stride, padding=padding)
        return product.output(), product.image_gradient(dy), product.kernel_gradient(dy)

    return engine


def _guarded(look: Callable[[], None], note: Notebook, about: str) -> None:
    try:
        look()
    except UnavailableError as error:
        note.not_tried(about, f"{error}")
    except Exception as error:
        note.broke(about, error)
        fault = fault_of(error)
        if fault is not None and fault.sticky:
            raise  # nothing else would be answered


def _step(bench: Bench, engine: Engine, case: Case) -> Step:
    """Over arrays on the device, images as the layers hand them on: batch last in memory."""
    x, w, dy = arrays_of(case)
    to_device = bench.device.to_device
    x, dy = (batch_first(to_device(batch_last(images))) for images in (x, dy))
    return partial(engine, case, x, to_device(w), dy)


def _values(bench: Bench, engine: Engine, case: Case, note: Notebook) -> None:
    """Each of the three against the definition in float64."""
    output, dx, dw = (bench.device.to_host(array) for array in _step(bench, engine, case)())
    errors = errors_of(case, arrays_of(case), (output, dx, dw))
    by_direction = dict(zip(DIRECTIONS, errors, strict=True))
    note.holds(
        case.name,
        all(error <= _MOST_ERROR for error in errors),
        expected=f"errors of at most {_MOST_ERROR:.0f} units of rounding",
        seen=", ".join(f"{name} {error:.1f}" for name, error in by_direction.items()),
        errors=by_direction,
    )


def _sample(of: tuple[Case, ...]) -> tuple[Case, ...]:
    """One each of a few kinds: 5x5 and 7x7 with few channels, 3x3, 1x1, with a stride and without."""
    kinds = {(case.kernels[2], case.stride): case for case in of}
    return tuple(kinds.values())


def _same_bits(bench: Bench, engine: Engine, of: tuple[Case, ...], note: Notebook) -> None:
    """That nothing is added up in another order each time."""
    for case in _sample(of):
        step = _step(bench, engine, case)
        launches = [
            [bench.device.to_host(one).tobytes() for one in step()] for _ in range(_LAUNCHES)
        ]
        values = [len(set(bits)) for bits in zip(*launches, strict=True)]
        note.equal(
            f"values of {_LAUNCHES} equal launches, {case.name}",
            expected="1, 1, 1",
            seen=", ".join(map(str, values)),
        )


def _traffic(bench: Bench, engine: Engine, of: tuple[Case, ...], note: Notebook) -> None:
    """That a warm forward and backward is kernels and nothing else."""
    for case in _sample(of):
        step = _step(bench, engine, case)
        step()
        with bench.probe().record() as recording:
            step()
        trace = recording.trace()
        counts = trace.counts()
        kernels = "kernels" if counts.kernels else "no kernel"
        note.equal(
            f"forward and backward, {case.name}",
            expected="0 D2H, 0 H2D, 0 syncs, kernels, 0 doubts",
            seen=f"{counts.d2h} D2H, {counts.h2d} H2D, {counts.syncs} syncs, {kernels}, "
            f"{len(trace.doubts)} doubts",
            kernels=[event.api for event in trace.kernels],
            doubts=list(trace.doubts),
            lines=[str(event.site) for event in (*trace.transfers, *trace.syncs)],
        )


def _capture(bench: Bench, engine: Engine, of: tuple[Case, ...], note: Notebook) -> None:
    """That a forward and backward can be captured, and its replay gives the bits of its launch."""
    for case in _sample(of):
        step = _step(bench, engine, case)
        step()
        note.equal(
            f"capture, {case.name}",
            expected="0 copies to the host, 0 waits, kernels, no doubt",
            seen=capture_text(bench.witness().witness(step)),
        )
        launched, replayed = _replayed(bench, step)
        same = [one == other for one, other in zip(launched, replayed, strict=True)]
        note.equal(
            f"replay, {case.name}",
            expected="the bits of the launch",
            seen="the bits of the launch"
            if all(same)
            else "others of "
            + ", ".join(n for n, one in zip(DIRECTIONS, same, strict=True) if not one),
        )


def _replayed(bench: Bench, step: Step) -> tuple[list[bytes], list[bytes]]:
    """What a launch gives, and what a graph of it gives in arrays that held NaN before."""
    stream = bench.cuda.Stream(non_blocking=True)
    bench.device.synchronize()
    with stream:
        # Kept no longer than for the copy, so that the capture finds this memory in the pool.
        launched = [bench.device.to_host(array).tobytes() for array in step()]
        stream.begin_capture()
        results = step()
        graph = stream.end_capture()
        for array in results:
            array.fill(np.nan)
        graph.launch(stream)
        replayed = [bench.device.to_host(array).tobytes() for array in results]
    return launched, replayed


def _times(bench: Bench, engines: Mapping[str, Engine], case: Case, note: Notebook) -> None:
    """Forward and both gradients of one shape by each engine, images coming and going batch last.

    Launched eagerly, since CuPy does not capture the product of columns.
    """
    columns = case.output[0] * np.prod(case.output[2:]) * np.prod(case.kernels[1:])
    if 4 * _MEMORY_PER_COLUMN * columns > bench.free_bytes():
        note.not_tried(case.name, "the device has too little memory free")
        return
    seconds = _DRY_S if bench.is_dry else _MEASURED_S
    x, dy = (_alike(bench, shape) for shape in (case.images, case.output))
    w = bench.device.to_device(noise(case.kernels))
    ns: dict[str, float] = {}
    for name, engine in engines.items():
        sample = measure(
            _as_in_a_network(partial(engine, case, x, w, dy)),
            timer=bench.timer(replay=False),
            seed=0,
            rule=StoppingRule(time_cap_ns=seconds * 1e9, least_time_ns=seconds * 0.25e9),
            change_layout=bench.device.change_layout,
        )
        ns[name] = median_interval(sample.call_ns).value
    text = ", ".join(f"{name} {duration_text(value)}" for name, value in ns.items())
    note.measured(case.name, text, ns=ns)


def _alike(bench: Bench, shape: tuple[int, int, int, int]) -> Any:
    """One image of noise as all images: drawing and carrying over hundreds of them takes longer than timing them."""
    count, *image = shape
    images = bench.xp.empty((*image, count), np.float32)
    images[...] = bench.device.to_device(noise((*image, 1)))
    return batch_first(images)


def _as_in_a_network(step: Step) -> Step:
    def call() -> tuple[Any, Any, Any]:
        output, dx, dw = step()
        return batch_last(output), batch_last(dx), dw

    return call
