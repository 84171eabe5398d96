import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from builders import a_check, a_kernel, a_sync, a_trace, a_transfer
from hypothesis import given
from hypothesis import strategies as st

from harness.checks.traffic import check_traffic
from harness.model.budget import Budget, Limit, Quantity
from harness.model.event import Allocation, EventType, MemoryKind
from harness.model.outcome import Outcome
from harness.pytest_plugin.outcomes import Failed, Skipped, is_unsure
from harness.pytest_plugin.reading import RecordedTrace, reading_doubt
from harness.pytest_plugin.recording import Recorder
from harness.pytest_plugin.settings import Inconclusive

SEEN = a_check(check="positive control", evidence="controls seen 3/3")
MISSED = a_check(outcome=Outcome.INCONCLUSIVE, summary="missed a sync")

NO_LIMIT = Budget(
    {
        "run": tuple(
            Limit(quantity=quantity, at_most=sys.maxsize, because="anything goes")
            for quantity in Quantity
        )
    }
)


def watched(probe, control=SEEN):
    return SimpleNamespace(device=SimpleNamespace(name="fake", probe=probe), control=control)


def read(recorder, block, probe, *, policy=Inconclusive.FAIL):
    return RecordedTrace(block, recorder, watched(probe), policy)


def block_of(probe, *events, region=None):
    recorder = Recorder(probe)
    with recorder.block() as block:
        for event in events:
            if region is None:
                probe.see(event)
                continue
            with recorder.region(region):
                probe.see(event)
    return recorder, block


traces = st.builds(
    lambda events, observes, dropped, doubts: replace(
        a_trace(*events, observes=observes, dropped=dropped), doubts=doubts
    ),
    st.lists(st.sampled_from([a_kernel(), a_sync(), a_transfer()]), max_size=2),
    st.sets(st.sampled_from(list(EventType)), min_size=3).map(frozenset),
    st.integers(0, 1),
    st.sampled_from([(), ("a graph was launched unseen",)]),
)


@given(traces, st.sampled_from([None, SEEN, MISSED]))
def test_a_trace_may_be_read_exactly_where_a_limit_on_it_would_be_judged(trace, control):
    judged = check_traffic([trace], NO_LIMIT, control=control)
    doubt = reading_doubt(trace, watched("a probe", control))
    assert (doubt is None) == (judged.outcome is Outcome.PASSED)


def test_no_trace_is_never_read():
    assert reading_doubt(None, watched("a probe")).outcome is Outcome.INCONCLUSIVE
    assert reading_doubt(a_trace(a_kernel()), watched(None)).outcome is Outcome.INCONCLUSIVE


def test_memory_alone_is_no_work():
    allocation = Allocation(
        api="cudaMalloc", regions=(), site=None, size_bytes=4, memory=MemoryKind.DEVICE
    )
    doubt = reading_doubt(a_trace(allocation), watched("a probe"))
    assert "nothing ran on the device" in doubt.summary


def test_kernels_are_read_only_from_a_probe_that_sees_them(probe):
    probe.observes = frozenset(EventType) - {EventType.KERNEL}
    recorder, block = block_of(probe, a_sync())
    trace = read(recorder, block, probe)
    assert trace.counts().syncs == 1
    with pytest.raises(Failed, match="cannot see kernel events"):
        _ = trace.kernels


READERS = {
    "counts": lambda trace: trace.counts(),
    "transfers": lambda trace: trace.transfers,
    "syncs": lambda trace: trace.syncs,
    "kernels": lambda trace: trace.kernels,
    "events": lambda trace: trace.events,
    "evidence": lambda trace: trace.evidence,
}


def test_every_reader_is_tried_here():
    public = {name for name in vars(RecordedTrace) if not name.startswith("_")}
    assert public == {*READERS, "within", "entered"}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("policy", "outcome"), [(Inconclusive.FAIL, Failed), (Inconclusive.SKIP, Skipped)]
)
def test_a_reading_that_is_refused_ends_the_test_and_is_remembered(probe, reader, policy, outcome):
    recorder, block = block_of(probe)
    with pytest.raises(outcome, match="INCONCLUSIVE: nothing ran on the device in this block"):
        READERS[reader](read(recorder, block, probe, policy=policy))
    (refused,) = recorder.refused
    assert refused.outcome is Outcome.INCONCLUSIVE
    assert any("test_reading.py:" in detail for detail in refused.details), "the line that reads"


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_reads_what_is_there(probe, reader):
    recorder, block = block_of(probe, a_kernel(), a_transfer(), a_sync(), region="forward")
    trace = read(recorder, block, probe)
    assert READERS[reader](trace)
    assert READERS[reader](trace) == READERS[reader](trace.within("forward"))
    assert not recorder.refused


def test_a_part_of_a_part_is_what_happened_in_both(probe):
    recorder = Recorder(probe)
    with recorder.block() as block, recorder.region("step"):
        probe.see(a_sync())
        with recorder.region("forward"):
            probe.see(a_transfer())
    trace = read(recorder, block, probe)
    assert trace.within("step").within("forward").counts().syncs == 0
    assert trace.within("step").counts().syncs == 1
    assert trace.entered == {"step": 1, "forward": 1}


def test_a_block_is_not_read_while_it_is_open(probe):
    recorder = Recorder(probe)
    with recorder.block() as block:
        probe.see(a_kernel())
        trace = read(recorder, block, probe)
        for reader in (*READERS.values(), lambda trace: trace.entered):
            with pytest.raises(RuntimeError, match="still being recorded"):
                reader(trace)
        with pytest.raises(RuntimeError, match="still being recorded"):
            trace.within("forward")


@pytest.mark.parametrize(
    ("ending", "unsure"),
    [
        (None, False),
        (pytest.fail.Exception("the test's own"), False),
        (Failed("misuse"), True),
        (Failed("inconclusive", result=a_check(outcome=Outcome.INCONCLUSIVE)), True),
        (Failed("exceeded", result=a_check(outcome=Outcome.FAILED)), False),
        (Skipped("inconclusive", result=a_check(outcome=Outcome.INCONCLUSIVE)), False),
    ],
)
def test_only_an_exceeded_limit_and_the_tests_own_failure_are_sure(ending, unsure):
    assert is_unsure(ending) == unsure
