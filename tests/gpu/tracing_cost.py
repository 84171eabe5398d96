"""Checklist item 11: what tracing costs a call, part by part."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from statistics import median
from typing import Any

import numpy as np

from harness.errors import UnavailableError
from harness.probes.cupti.inbox import Inbox
from harness.probes.cupti.subscription import Subscription
from harness.units import duration_text, ratio_text
from reference_impl.autograd import training
from reference_impl.ops import HostRoundTripSoftMaxCrossEntropy, SoftMaxCrossEntropy
from reference_impl.tensor import Tensor

from .bench import Bench
from .findings import Notebook
from .tracing import Tracer

__all__ = ["LEVELS", "run_tracing_cost"]

LEVELS = ("nothing", "activities", "+ callbacks", "+ stacks")
"""Each with what comes before it: CUPTI's records, a callback on entry, and the user's line taken in it."""

_ROUNDS = 5
"""Of each level, interleaved, so that a machine that slows down slows all of them."""

_CALLS = 200
_DRY_CALLS = 5


class _WithoutStacks(Inbox):
    """Is called back as the probe's is, and takes no line."""

    def call(self, userdata: object, domain: int, cbid: int, data: Any) -> None:
        """The entry into a call, not looked at."""


def run_tracing_cost(bench: Bench, note: Notebook) -> None:
    """Host time per call of a launch-bound op, which reads nothing, and of the op before its fix, which reads once."""
    tracer = bench.tracer()
    for name, make in (
        ("the op, 64x10", SoftMaxCrossEntropy),
        ("the op before its fix, 64x10", HostRoundTripSoftMaxCrossEntropy),
    ):
        here = note.about(f"11 cost of tracing {name}")
        call = _step(bench, make)
        call()
        times: dict[str, list[float]] = {level: [] for level in LEVELS}
        opening: dict[str, list[float]] = {level: [] for level in LEVELS}
        for _ in range(_ROUNDS):
            for level in LEVELS:
                began = time.perf_counter_ns()
                with _traced(level, tracer):
                    opening[level].append(time.perf_counter_ns() - began)
                    times[level].append(_per_call_ns(bench, call))
        _tell(times, opening, here)


def _tell(
    times: Mapping[str, list[float]], opening: Mapping[str, list[float]], note: Notebook
) -> None:
    plain = median(times[LEVELS[0]])
    for level in LEVELS:
        ns = median(times[level])
        note.measured(
            level,
            f"{duration_text(ns)} per call, {ratio_text(ns / plain)}",
            ns=ns,
            ratio=ns / plain,
            all_ns=times[level],
            first_opening_ns=opening[level][0],
            opening_ns=median(opening[level]),
        )


def _per_call_ns(bench: Bench, call: Callable[[], object]) -> float:
    """By the host's clock, all work done, since it is the host that tracing slows."""
    calls = _DRY_CALLS if bench.is_dry else _CALLS
    bench.device.synchronize()
    began = time.perf_counter_ns()
    for _ in range(calls):
        call()
    bench.device.synchronize()
    return (time.perf_counter_ns() - began) / calls


def _traced(level: str, tracer: Tracer) -> AbstractContextManager[object]:
    if level == LEVELS[0]:
        return nullcontext()
    if level == LEVELS[3]:
        return tracer.session()
    return _subscribed(tracer, watched=level == LEVELS[2])


@contextmanager
def _subscribed(tracer: Tracer, *, watched: bool) -> Iterator[None]:
    """CUPTI with records, and with or without being called back on entry into the calls the probe watches."""
    subscription = tracer.subscription(_WithoutStacks(buffer_bytes=8 << 20), watched=watched)
    with ExitStack() as stack:
        subscription.open(unified_memory=False)
        stack.callback(_closed, subscription)
        yield


def _closed(subscription: Subscription) -> None:
    if failures := subscription.close():
        raise UnavailableError(failures[0])


def _step(bench: Bench, make: Any) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    x = bench.device.to_device(rng.standard_normal((64, 10)).astype(np.float32))
    t = bench.device.to_device(rng.integers(0, 10, 64))

    def call() -> Any:
        with training():
            operation = make(t)
            operation(Tensor(x))
        return operation.backward(1.0)

    return call
