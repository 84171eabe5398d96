"""A runtime call and the driver calls inside it are one call of the program."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.probes.cupti.calls import Call, CallClass
from harness.probes.cupti.kinds import ActivityKind
from harness.probes.cupti.launches import (
    calls_under_capture,
    index_by_correlation,
    outermost_calls,
)
from harness.probes.cupti.records import ApiRecord

NAMES = {
    1: Call("cudaMemcpyAsync", CallClass.COPY),
    2: Call("cuMemcpyDtoHAsync", CallClass.COPY),
    3: Call("cudaStreamBeginCapture", CallClass.BEGIN_CAPTURE),
    4: Call("cudaStreamEndCapture", CallClass.END_CAPTURE),
    5: Call("cudaStreamSynchronize", CallClass.SYNC),
}


def api(start, end, *, correlation=0, kind=ActivityKind.RUNTIME, thread=1, cbid=1, returned=0):
    return ApiRecord(int(kind), cbid, start, end, thread, correlation or start, returned)


def outermost(*records):
    return outermost_calls(records, lambda record: NAMES[record.cbid])


def spans(launches):
    return [(launch.record.start, launch.record.end) for launch in launches]


def test_a_driver_call_inside_a_runtime_call_is_part_of_it():
    (launch,) = outermost(
        api(12, 18, kind=ActivityKind.DRIVER, cbid=2, correlation=8), api(10, 20, correlation=7)
    )
    assert launch.call.name == "cudaMemcpyAsync"
    assert [call.name for call in launch.inside] == ["cuMemcpyDtoHAsync"]
    assert launch.correlations == (7, 8)


def test_a_driver_call_of_its_own_counts():
    (launch,) = outermost(api(12, 18, kind=ActivityKind.DRIVER, cbid=2))
    assert launch.call.name == "cuMemcpyDtoHAsync"


def test_several_driver_calls_inside_one_runtime_call_are_one():
    driver = ActivityKind.DRIVER
    assert len(outermost(api(10, 20), api(11, 13, kind=driver), api(14, 19, kind=driver))) == 1


def test_calls_one_after_the_other_are_two_even_without_a_gap():
    assert spans(outermost(api(10, 20), api(20, 30))) == [(10, 20), (20, 30)]
    assert spans(outermost(api(10, 20), api(20, 20))) == [(10, 20), (20, 20)]


def test_a_call_as_short_as_the_clock_takes_the_driver_call_at_the_same_time_in():
    (launch,) = outermost(api(10, 10, kind=ActivityKind.DRIVER, cbid=2), api(10, 10))
    assert launch.call.name == "cudaMemcpyAsync"


def test_two_runtime_calls_at_the_same_time_are_two():
    assert len(outermost(api(10, 10, correlation=1), api(10, 10, correlation=2))) == 2


def test_threads_do_not_nest_in_one_another():
    assert len(outermost(api(10, 20), api(12, 18, thread=2))) == 2


def test_a_call_that_only_overlaps_is_its_own():
    assert len(outermost(api(10, 20), api(15, 25))) == 2


def test_calls_without_times_are_left_out():
    assert outermost(api(0, 0)) == ()


def test_all_threads_come_in_order_of_their_start():
    assert spans(outermost(api(30, 31), api(10, 11, thread=2), api(20, 21))) == [
        (10, 11),
        (20, 21),
        (30, 31),
    ]


def test_every_correlation_leads_to_the_outermost_call():
    launches = outermost(
        api(10, 20, correlation=7), api(12, 18, kind=ActivityKind.DRIVER, correlation=8)
    )
    index = index_by_correlation(launches)
    assert index[7] is index[8] is launches[0]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 4)), max_size=30), st.integers(1, 3))
def test_any_sequence_of_calls_with_driver_calls_inside_is_found_again(sequence, threads):
    now, records, expected = 1, [], []
    for position, (length, inner) in enumerate(sequence):
        thread = position % threads
        start, now = now, now + length + inner * 3 + 1
        for n in range(inner):
            at = start + 1 + n * 3
            records.append(api(at, at + 2, kind=ActivityKind.DRIVER, thread=thread))
        records.append(api(start, now, thread=thread))
        expected.append((start, now))
        now += length % 2
    launches = outermost(*records)
    assert spans(launches) == expected
    assert [len(launch.inside) for launch in launches] == [inner for _, inner in sequence]


def test_calls_between_begin_and_end_of_a_capture_are_captured_in_that_thread_only():
    launches = outermost(
        api(10, 11),
        api(20, 21, cbid=3),
        api(30, 31),
        api(35, 36, thread=2),
        api(40, 41, cbid=4),
        api(50, 51),
    )
    assert spans(sorted(calls_under_capture(launches), key=lambda c: c.record.start)) == [(30, 31)]


def test_a_capture_that_failed_to_begin_captures_nothing():
    launches = outermost(api(20, 21, cbid=3, returned=1), api(30, 31))
    assert calls_under_capture(launches) == frozenset()


def test_a_capture_that_never_ends_captures_everything_after_it():
    launches = outermost(api(20, 21, cbid=3), api(30, 31), api(40, 41))
    assert len(calls_under_capture(launches)) == 2
