from dataclasses import replace

import pytest
from builders import a_kernel, a_sync, a_transfer

from harness.errors import UsageError
from harness.pytest_plugin.recording import Recorder


@pytest.fixture
def recorder(probe):
    return Recorder(probe)


def test_a_block_sees_what_happens_inside_it_and_nothing_else(recorder, probe):
    probe.see(a_sync())
    with recorder.block() as block:
        probe.see(a_transfer())
    probe.see(a_sync())
    assert block.trace.counts().d2h == 1
    assert block.trace.counts().syncs == 0


def test_an_outer_block_contains_the_inner_one(recorder, probe):
    with recorder.block() as outer:
        probe.see(a_transfer())
        with recorder.block() as inner:
            probe.see(a_sync())
        assert inner.trace.counts().syncs == 1, "finished as soon as it is closed"
        probe.see(a_kernel())
    assert [type(event).__name__ for event in outer.trace.events] == ["Transfer", "Sync", "Kernel"]
    assert [type(event).__name__ for event in inner.trace.events] == ["Sync"]


def test_nested_blocks_are_judged_once(recorder, probe):
    with recorder.body(), recorder.block():
        probe.see(a_transfer())
        with recorder.block():
            probe.see(a_transfer())
    assert recorder.judged().counts().d2h == 2


def test_a_region_open_around_a_block_tags_what_the_block_sees(recorder, probe):
    with recorder.block() as outer, recorder.region("step"):
        probe.see(a_transfer())
        with recorder.block() as inner, recorder.region("forward"):
            probe.see(a_transfer())
        probe.see(a_transfer())
    assert inner.trace.events[0].regions == ("step", "forward")
    assert inner.trace.entered == {"step": 1, "forward": 1}
    assert outer.trace.within("step").counts().d2h == 3
    assert outer.trace.within("forward").counts().d2h == 1
    assert outer.trace.entered == {"step": 1, "forward": 1}, "reopened regions are not new entries"


def test_a_region_counts_every_entry(recorder, probe):
    with recorder.block() as block:
        for _ in range(3):
            with recorder.region("step"):
                probe.see(a_transfer())
    assert block.trace.entered == {"step": 3}
    assert block.trace.within("step").counts().d2h == 3


def test_judged_is_the_whole_body_when_it_has_no_block(recorder, probe):
    with recorder.body():
        probe.see(a_transfer())
    assert recorder.whole_body
    assert recorder.judged().counts().d2h == 1


def test_judged_are_the_blocks_taken_together_when_there_are_some(recorder, probe):
    with recorder.body():
        probe.see(a_sync())
        with recorder.block(), recorder.region("forward"):
            probe.see(a_transfer())
        with recorder.block(), recorder.region("forward"):
            probe.see(a_transfer())
    judged = recorder.judged()
    assert not recorder.whole_body
    assert (judged.counts().d2h, judged.counts().syncs) == (2, 0)
    assert judged.entered == {"forward": 2}


def test_a_block_opened_by_a_fixture_does_not_narrow_what_is_judged(recorder, probe):
    with recorder.block() as of_fixture:
        probe.see(a_sync())
        with recorder.body():
            probe.see(a_transfer())
        judged = recorder.judged()
    assert (judged.counts().d2h, judged.counts().syncs) == (1, 0)
    assert (of_fixture.trace.counts().d2h, of_fixture.trace.counts().syncs) == (1, 1)


def test_a_block_that_raises_still_has_its_trace_and_the_next_one_works(recorder, probe):
    def interrupted():
        with recorder.block(), recorder.region("forward"):
            probe.see(a_transfer())
            raise ZeroDivisionError

    with recorder.block() as first, pytest.raises(ZeroDivisionError):
        interrupted()
    with recorder.block() as second:
        probe.see(a_kernel())
    assert first.trace.within("forward").counts().d2h == 1
    assert second.trace.counts().kernels == 1
    assert second.trace.entered == {}


def test_records_lost_in_any_segment_are_lost_to_the_block(recorder, probe):
    probe.dropped = 1
    with recorder.block() as outer, recorder.block():
        probe.see(a_kernel())
    assert outer.trace.dropped == probe.recordings


def test_start_times_are_dropped_when_segments_are_joined(recorder, probe):
    with recorder.block() as outer:
        probe.see(replace(a_kernel(), start_ns=7))
        with recorder.block() as inner:
            probe.see(replace(a_kernel(), start_ns=3))
    assert [event.start_ns for event in inner.trace.events] == [3]
    assert [event.start_ns for event in outer.trace.events] == [None, None]


def test_without_a_probe_blocks_and_regions_open_and_have_no_trace():
    recorder = Recorder(None)
    with recorder.body(), recorder.block() as block, recorder.region("forward"):
        pass
    assert block.trace is None
    assert recorder.judged() is None
    assert recorder.used


def test_a_region_outside_a_recording_says_what_to_open(recorder):
    with (
        pytest.raises(UsageError, match=r"region\('forward'\).*with device_trace\(\):"),
        recorder.region("forward"),
    ):
        pass


@pytest.mark.parametrize("name", ["", "  ", "run"])
def test_a_region_needs_a_name_of_its_own(recorder, name):
    with (
        recorder.block(),
        pytest.raises(UsageError, match=r"device_trace\.region"),
        recorder.region(name),
    ):
        pass


def test_a_region_entered_only_outside_the_blocks_is_told_apart(recorder):
    with recorder.body():
        with recorder.region("forward"):
            pass
        with recorder.block(), recorder.region("backward"):
            pass
    assert recorder.entered_outside("forward")
    assert not recorder.entered_outside("backward")
    assert not recorder.entered_outside("update")


def test_runs_of_the_body_count_together(recorder, probe):
    for _ in range(2):
        with recorder.body(), recorder.region("forward"):
            probe.see(a_transfer())
    assert recorder.judged().counts().d2h == 2
    assert recorder.judged().entered == {"forward": 2}


def test_starting_over_forgets_the_body_and_its_blocks_but_not_those_of_fixtures(recorder, probe):
    with recorder.block() as of_fixture:
        with recorder.body(), recorder.block():
            probe.see(a_transfer())
        recorder.begin_call(records_body=True)
        with recorder.body():
            probe.see(a_kernel())
        assert recorder.judged().counts().d2h == 0
    assert recorder.judged().counts().kernels == 1
    assert of_fixture.trace.counts().d2h == 1


def test_doubts_of_any_segment_are_doubts_of_the_block_and_said_once(recorder, probe):
    probe.doubts = ("a graph was launched unseen",)
    with recorder.block() as outer, recorder.block():
        probe.see(a_kernel())
    assert probe.recordings == 3
    assert outer.trace.doubts == ("a graph was launched unseen",)


def test_without_a_recorded_body_the_blocks_of_the_call_are_judged_and_no_others(recorder, probe):
    with recorder.block():
        probe.see(a_transfer())
    assert recorder.judged() is None
    recorder.begin_call(records_body=False)
    with recorder.block():
        probe.see(a_sync())
    recorder.end_call()
    with recorder.block():
        probe.see(a_transfer())
    assert recorder.judged().counts().d2h == 0
    assert recorder.judged().counts().syncs == 1


def test_blocks_of_fixtures_are_seen_where_the_test_has_none(recorder, probe):
    with recorder.block():
        probe.see(a_transfer())
    recorder.begin_call(records_body=False)
    recorder.end_call()
    assert recorder.judged() is None
    assert recorder.seen().counts().d2h == 1
