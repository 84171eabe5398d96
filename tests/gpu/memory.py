"""Checklist items 5 and 6: allocation while the device works, and memory that both sides reach."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from harness.errors import UnavailableError
from harness.units import duration_text

from .bench import Bench
from .findings import Notebook
from .tracing import NONE, Traced

__all__ = ["look_at_allocation", "look_at_shared_memory"]

_SPIN_S = 0.05
"""Long enough that a call which waits for the kernel cannot be taken for one which does not."""

_BLOCK_BYTES = 1 << 20

_SHARED_FLOATS = 4096
"""Four pages of 4 KiB: little, since managed memory that outgrows a device can hang it."""

_WAITS = "waits for the kernel"
_RETURNS = "returns while it runs"


def look_at_allocation(bench: Bench, note: Notebook) -> None:
    """Whether ``cudaMalloc`` and ``cudaFree`` hold the host while a kernel runs, and whether a record says so."""
    runtime = bench.cuda.runtime
    stream = bench.cuda.Stream(non_blocking=True)
    block: list[int] = []
    with stream:
        bench.spin(1e-6)
    with bench.tracer().session() as tracer:
        for name, action, expected in (
            ("cudaMalloc", lambda: block.append(runtime.malloc(_BLOCK_BYTES)), _RETURNS),
            ("cudaFree", lambda: runtime.free(block.pop()), _WAITS),
        ):
            traced = tracer.of(partial(_under_a_kernel, bench, stream, action))
            took = traced.longest_ns(name)
            if took is None:
                note.not_tried(name, "CUPTI recorded no such call")
                continue
            held = took > _SPIN_S * 1e9 / 2
            note.equal(
                name,
                expected=expected,
                seen=_WAITS if held else _RETURNS,
                held_the_host_for=duration_text(took),
                kernel=duration_text(_SPIN_S * 1e9),
            )
            note.equal(f"waits recorded in {name}", expected=NONE, seen=traced.waits_text())


def _under_a_kernel(bench: Bench, stream: Any, action: Callable[[], object]) -> None:
    with stream:
        bench.spin(_SPIN_S)
    time.sleep(_SPIN_S / 10)  # so that it runs by now
    action()


def look_at_shared_memory(bench: Bench, note: Notebook) -> None:
    """That the host's read of managed memory is counted, and that mapped memory is the known blind spot."""
    try:
        session = bench.tracer(unified_memory=True).session()
        with session as tracer:
            _managed(bench, note, tracer.of)
            _mapped(bench, note, tracer.of)
    except UnavailableError as error:
        note.not_tried("migrations", str(error))


def _managed(bench: Bench, note: Notebook, trace: Callable[[Callable[[], object]], Traced]) -> None:
    runtime, size_bytes = bench.cuda.runtime, 4 * _SHARED_FLOATS
    pointer = runtime.mallocManaged(size_bytes)
    try:
        bench.view(pointer, _SHARED_FLOATS).fill(1)
        runtime.deviceSynchronize()
        traced = trace(lambda: bench.read_host(pointer, size_bytes))
        moved = traced.migrations_text()
        note.holds(
            "migrations of a host read of managed memory",
            "BYTES_TRANSFER_DTOH" in moved,
            expected="BYTES_TRANSFER_DTOH among them",
            seen=moved,
        )
        note.equal(
            "copies of a host read of managed memory", expected=NONE, seen=traced.copies_text()
        )
        traced = trace(lambda: _add_one(bench, pointer))
        moved = traced.migrations_text()
        note.holds(
            "migrations of a device write to managed memory",
            "BYTES_TRANSFER_HTOD" in moved,
            expected="BYTES_TRANSFER_HTOD among them",
            seen=moved,
        )
    finally:
        runtime.free(pointer)


def _mapped(bench: Bench, note: Notebook, trace: Callable[[Callable[[], object]], Traced]) -> None:
    runtime, size_bytes = bench.cuda.runtime, 4 * _SHARED_FLOATS
    pointer = runtime.hostAlloc(size_bytes, runtime.hostAllocMapped)
    try:
        bench.view(pointer, _SHARED_FLOATS).fill(1)
        runtime.deviceSynchronize()

        def write_and_read() -> None:
            _add_one(bench, pointer)
            runtime.deviceSynchronize()
            bench.read_host(pointer, size_bytes)

        traced = trace(write_and_read)
        note.equal("copies of mapped memory", expected=NONE, seen=traced.copies_text())
        note.equal("migrations of mapped memory", expected=NONE, seen=traced.migrations_text())
        first = np.frombuffer(bench.read_host(pointer, 4), np.float32)[0]
        note.equal("value read from mapped memory", expected="2.0", seen=str(float(first)))
    finally:
        runtime.freeHost(pointer)


def _add_one(bench: Bench, pointer: int) -> None:
    array = bench.view(pointer, _SHARED_FLOATS)
    array += 1
