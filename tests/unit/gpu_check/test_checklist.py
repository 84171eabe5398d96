"""Each question can be answered no: a CUPTI with one habit changed makes the item that asks about it differ."""

from __future__ import annotations

from typing import Any

import pytest
from gpu import copies, losses, memory, threads, waits
from gpu.checklist import Item, run_items
from gpu.findings import Outcome

from harness.probes.cupti.kinds import ActivityKind


class CUDARuntimeError(RuntimeError):
    """Has what CuPy's exception of this name has."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cudaErrorNumber{status}: as CUDA says it")
        self.status = status


def differing(found: Any) -> set[str]:
    return {finding.about for finding in found() if finding.outcome is Outcome.DIFFERS}


def records_changed(cupti: Any, kind: ActivityKind, **fields: Any) -> None:
    """Records of one kind come with other fields."""
    record = cupti.record

    def changed(of: str, /, **given: Any) -> None:
        record(of, **(given | fields if given["kind"] == kind else given))

    cupti.record = changed


def records_lost(cupti: Any, kind: ActivityKind) -> None:
    """Records of one kind never come, and CUPTI does not say so."""
    cupti.lose, cupti.silently = frozenset({int(kind)}), True


def test_a_read_that_is_not_flagged_asynchronous_differs(bench, note, found):
    records_changed(bench.gpu.cupti, ActivityKind.MEMCPY, flags_=0)
    copies.look_at_reads(bench, note)
    assert "copies of a.get()" in differing(found)
    assert "waits of a.get()" not in differing(found)


def test_a_read_that_leaves_no_wait_differs(bench, note, found):
    records_changed(bench.gpu.cupti, ActivityKind.SYNCHRONIZATION, type=2)
    copies.look_at_reads(bench, note)
    assert "waits of a.get()" in differing(found)


def test_a_synchronous_copy_that_leaves_a_wait_differs(bench, note, found):
    cupti = bench.gpu.cupti
    memcpy = cupti.memcpy

    def with_a_wait(driver: int, runtime: int, **fields: Any) -> None:
        memcpy(driver, runtime, **fields)
        cupti.synchronization(3, driver)

    cupti.memcpy = with_a_wait
    copies.look_at_synchronous_copies(bench, note)
    assert "waits of cudaMemcpy device->pageable" in differing(found)


def test_a_poll_that_leaves_a_wait_differs(bench, note, found):
    polled = type("Stream", (bench.cuda.Stream,), {"done": property(lambda s: s.synchronize())})
    bench.cuda.Stream = polled
    waits.look_at_waits(bench, note)
    assert differing(found) == {"Stream.done"}


def test_a_default_copy_without_direction_differs(bench, note, found):
    records_changed(bench.gpu.cupti, ActivityKind.MEMCPY, copy_kind=0)
    copies.look_at_default_kind(bench, note)
    assert {"copies of cudaMemcpyAsync", "copies of cudaMemcpy"} <= differing(found)


def test_a_copy_that_does_not_name_its_runtime_call_differs(bench, note, found):
    records_changed(bench.gpu.cupti, ActivityKind.MEMCPY, runtime_correlation_id=0)
    copies.look_at_correlation(bench, note)
    assert differing(found) == {"calls a copy names"}


def test_driver_calls_without_records_differ(bench, note, found):
    records_lost(bench.gpu.cupti, ActivityKind.DRIVER)
    copies.look_at_correlation(bench, note)
    assert "records of one runtime copy" in differing(found)


def test_calls_under_another_threads_number_differ(bench, note, found):
    bench.gpu.cupti.thread = lambda: 1
    threads.look_at_lines(bench, note)
    assert {"thread of a read", "thread of a read in another thread"} <= differing(found)


def test_a_malloc_that_waits_differs(bench, note, found):
    call = bench.gpu.call
    bench.gpu.call = lambda name, until_idle=False: call(name, until_idle=True)
    memory.look_at_allocation(bench, note)
    assert differing(found) == {"cudaMalloc"}


def test_managed_memory_without_counters_differs(bench, note, found):
    bench.gpu.migrate = lambda pointer, to_host: None
    memory.look_at_shared_memory(bench, note)
    assert differing(found) == {
        "migrations of a host read of managed memory",
        "migrations of a device write to managed memory",
    }


def test_a_machine_that_does_not_watch_managed_memory_is_not_tried(bench, note, found):
    refused = bench.gpu.cupti.cuptiError(
        int(bench.gpu.cupti.Result.ERROR_UM_PROFILING_NOT_SUPPORTED)
    )
    bench.gpu.cupti.refuse["activity_configure_unified_memory_counter"] = refused
    memory.look_at_shared_memory(bench, note)
    (finding,) = found()
    assert finding.outcome is Outcome.NOT_TRIED
    assert "managed memory cannot be watched" in finding.seen


def test_a_control_that_is_not_seen_differs(bench, note, found):
    records_lost(bench.gpu.cupti, ActivityKind.MEMCPY)
    losses.look_at_fence(bench, note)
    assert {"the first session", "the second session", "positive control"} <= differing(found)


def test_a_loss_that_is_told_is_as_expected(bench, note, found):
    bench.gpu.cupti.lose = frozenset({int(ActivityKind.MEMCPY)})
    losses.look_at_small_buffers(bench, note)
    assert not differing(found)


def test_a_loss_that_nobody_tells_differs(bench, note, found):
    """Every second copy vanishes whole, its calls too, and nothing remains that could be missed."""
    copy, made = bench.gpu.copy, [0]

    def half(*args: Any, **keywords: Any) -> None:
        made[0] += 1
        if made[0] % 2:
            copy(*args, **keywords)

    bench.gpu.copy = half
    losses.look_at_small_buffers(bench, note)
    assert len(differing(found)) == 1


def test_a_question_that_raises_does_not_keep_the_next_from_being_asked(bench, note, found):
    def breaks(bench: Any, note: Any) -> None:
        raise ValueError("no such thing")

    items = [Item(1, "breaks", breaks), Item(2, "works", copies.look_at_default_kind)]
    run_items(items, bench, note)
    assert found()[0].outcome is Outcome.NOT_TRIED
    assert found()[0].seen == "ValueError: no such thing"
    assert {f.outcome for f in found() if f.item == "2 works"} == {Outcome.CONFIRMED}


@pytest.mark.parametrize(("status", "asked"), [(700, False), (1, True)])
def test_after_a_fault_that_cuda_keeps_nothing_more_is_asked(bench, note, found, status, asked):
    """700 is an illegal address, 1 an invalid value."""

    def breaks(bench: Any, note: Any) -> None:
        raise CUDARuntimeError(status)

    items = [Item(1, "breaks", breaks), Item(2, "works", copies.look_at_default_kind)]
    run_items(items, bench, note)
    outcomes = {finding.outcome for finding in found() if finding.item == "2 works"}
    assert outcomes == ({Outcome.CONFIRMED} if asked else {Outcome.NOT_TRIED})
