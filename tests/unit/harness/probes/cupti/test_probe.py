"""The session protocol, driven end to end on a scripted CUPTI."""

from __future__ import annotations

import ctypes
import threading

import pytest

from harness.errors import UnavailableError
from harness.model.event import EventType
from harness.model.outcome import Evidence
from harness.probes.cupti import CuptiProbe
from harness.probes.cupti.kinds import ENABLED, REQUIRED, ActivityKind
from harness.probes.cupti.subscription import _Params

RUNTIME, DRIVER = 2, 1


def record(probe, action=lambda: None):
    with probe.record() as recording:
        action()
    return recording.trace()


def refusal(probe):
    with pytest.raises(UnavailableError) as caught, probe.record():
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- what is asked of CUPTI -----------------------------------------------------------------------------


def test_a_recording_enables_what_it_needs_in_order_and_nothing_else(fake, probe):
    record(probe)
    assert fake.ever_enabled == [int(kind) for kind in ENABLED]
    assert int(ActivityKind.GRAPH_TRACE) not in fake.ever_enabled


def test_after_a_recording_nothing_is_left_on(fake, probe):
    record(probe)
    assert fake.enabled == set()
    assert fake._watched == set()
    assert fake._callback is None


def test_cupti_is_never_finalized(fake, probe):
    record(probe)
    assert "finalize" not in fake.log


def test_buffers_are_registered_once_per_process(fake, probe):
    record(probe)
    record(probe)
    assert fake.log.count("activity_register_callbacks") == 1


def test_only_calls_that_can_cross_or_hold_are_watched(cupti, fake, probe):
    record(probe)
    enums = {RUNTIME: cupti.Runtime_api_trace_cbid, DRIVER: cupti.Driver_api_trace_cbid}
    names = {enums[domain](cbid).name for domain, cbid in fake.ever_watched}
    assert {"cudaMemcpyAsync_v3020", "cuMemcpyDtoHAsync_v2", "cudaStreamSynchronize_v3020"} <= names
    assert {"cudaMalloc_v3020", "cudaGraphLaunch_v10000", "cudaLaunchHostFunc_v10000"} <= names
    assert not [name for name in names if "LaunchKernel" in name or "Query" in name]
    assert not [name for name in names if "Memset" in name or "GraphAdd" in name]


def test_records_are_flushed_before_the_session_ends(fake, probe):
    record(probe)
    log = fake.log
    assert log[::-1].index("activity_flush_all") > log[::-1].index("activity_disable")
    assert log[-1] == "unsubscribe"


def test_thread_ids_are_asked_for_before_anything_is_enabled(fake, probe):
    record(probe)
    assert fake.log.index("set_thread_id_type") < fake.log.index("activity_enable")


# --- what comes out -------------------------------------------------------------------------------------


def test_a_trace_is_proven_complete_and_without_doubt(fake, probe):
    trace = record(probe, fake.copy_to_host)
    assert (trace.probe, trace.evidence, trace.dropped) == ("cupti 13.4", Evidence.PROVEN, 0)
    assert trace.doubts == ()
    assert (trace.counts().d2h, trace.counts().syncs) == (1, 1)


def test_the_probes_own_waits_are_nobodys_traffic(fake, probe):
    assert record(probe).events == ()


def test_polls_are_told_and_not_counted(fake, probe):
    with probe.record() as recording:
        fake.copy_to_device()
    assert recording.trace().counts().syncs == 0
    assert recording.facts == ("poll: cudaEventQuery",)


def test_a_region_after_the_end_is_an_error(probe):
    with probe.record() as recording:
        pass
    with pytest.raises(RuntimeError, match="after its recording had closed"), recording.region("x"):
        pass


def test_a_probe_says_while_it_traces_that_no_time_counts(probe):
    assert not probe.recording
    with probe.record():
        assert probe.recording
    assert not probe.recording
    with probe.session():
        assert probe.recording
    assert not probe.recording


def test_recordings_do_not_nest_in_a_process(probe):
    with probe.record(), pytest.raises(RuntimeError, match="regions do"), probe.record():
        pass
    assert record(probe).doubts == ()


def test_a_thread_left_running_is_a_doubt_and_one_that_ended_or_ran_before_is_none(fake, probe):
    release = threading.Event()

    def start(name):
        thread = threading.Thread(target=release.wait, args=(5,), name=name, daemon=True)
        thread.start()
        return thread

    def end_one():
        thread = threading.Thread(target=fake.copy_to_host)
        thread.start()
        thread.join()

    early = start("early")
    try:
        assert record(probe, end_one).doubts == ()
        (doubt,) = record(probe, lambda: start("prefetcher")).doubts
        assert doubt.startswith("thread 'prefetcher' was started during the recording")
        with probe.session():
            assert record(probe, fake.wait).doubts == ()
            (doubt,) = record(probe, lambda: start("another")).doubts
        assert "'another'" in doubt
    finally:
        release.set()
        early.join()


def test_what_a_thread_does_while_it_is_waited_for_is_still_counted(fake, probe):
    """It is given a moment to end, and what it copies in that moment belongs to the recording."""
    begun = threading.Event()

    def late():
        begun.wait(5)
        fake.copy_to_host()

    def action():
        threading.Thread(target=late, daemon=True).start()
        begun.set()

    trace = record(probe, action)
    assert (trace.counts().d2h, trace.doubts) == (1, ())


def test_a_second_thread_cannot_record_beside_the_first(probe):
    caught = []

    def other():
        try:
            with probe.record():
                pass
        except RuntimeError as error:
            caught.append(error)

    with probe.record():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(caught) == 1


def test_an_exception_of_the_op_passes_and_the_trace_stands(fake, probe):
    def fail():
        fake.copy_to_host()
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"), probe.record() as recording:
        fail()
    assert recording.trace().counts().d2h == 1
    assert fake.enabled == set()


def test_records_of_an_earlier_recording_do_not_come_back(fake, probe):
    with probe.session():
        record(probe, fake.copy_to_host)
        fake.copy_to_host()
        assert record(probe).events == ()


# --- completeness ---------------------------------------------------------------------------------------


def test_late_buffers_are_waited_for(fake, probe):
    with probe.record() as recording:
        fake.copy_to_host()
        fake.late = 50
    trace = recording.trace()
    assert (trace.counts().d2h, trace.doubts) == (1, ())
    assert fake.seconds > 0


def test_a_fence_that_never_comes_is_a_doubt_after_the_deadline(fake, host):
    probe = CuptiProbe(module=fake, host=host(), deadline_s=2.0)
    with probe.record() as recording:
        fake.copy_to_host()
        fake.late = 10**9
    doubts = recording.trace().doubts
    assert "within 2 s" in doubts[0]
    assert "deadline_s" in doubts[0]
    assert 2.0 <= fake.seconds < 2.1


def test_a_fence_lost_in_silence_is_a_doubt_even_when_every_call_has_its_record(fake, host):
    probe = CuptiProbe(module=fake, host=host(), deadline_s=1.0)
    with probe.record() as recording:
        fake.lose, fake.silently = frozenset({38}), True
    assert "the probe's own wait" in recording.trace().doubts[0]


def test_a_call_still_inside_cuda_at_the_deadline_is_a_doubt_with_its_line(fake, probe):
    with probe.record() as recording:
        with fake.api(RUNTIME, "cudaStreamSynchronize_v3020"):
            recording.close()
        doubts = recording.trace().doubts
    assert any(
        "1 call (" in doubt and "left no record before the time limit" in doubt for doubt in doubts
    )


def test_records_cupti_dropped_are_counted(fake, probe):
    def lossy():
        fake.lose = frozenset({10})
        fake.launch()
        fake.launch()
        fake.lose = frozenset()

    assert record(probe, lossy).dropped == 2
    assert record(probe).dropped == 0


def test_what_was_dropped_before_the_recording_is_not_its_loss(fake, probe):
    with probe.session():
        fake.lose = frozenset({10})
        fake.launch()
        fake.lose = frozenset()
        assert record(probe, fake.launch).dropped == 0


def test_what_one_recording_could_not_explain_does_not_trouble_the_next(fake, probe):
    def unexplained():
        fake.lose, fake.silently = frozenset({4, 5}), True
        fake.pageable_copy()
        fake.lose = frozenset()

    with probe.session():
        assert record(probe, unexplained).counts().d2h == 1
        after = record(probe)
    assert after.events == ()
    assert not [doubt for doubt in after.doubts if "belonged to no recorded call" in doubt]


def test_a_copy_record_lost_in_silence_is_noticed_by_its_call(fake, probe):
    fake.lose, fake.silently = frozenset({1}), True
    trace = record(probe, fake.pageable_copy)
    assert (trace.dropped, trace.counts().d2h) == (0, 0)
    assert "1 copy call (cudaMemcpyAsync at " in trace.doubts[0]


def test_a_call_record_lost_in_silence_is_noticed_by_its_entry(fake, probe):
    def lossy():
        fake.lose, fake.silently = frozenset({4, 5}), True
        fake.pageable_copy()
        fake.lose = frozenset()

    trace = record(probe, lossy)
    assert trace.counts().d2h == 1
    assert any("1 call (" in doubt and "left no record" in doubt for doubt in trace.doubts)
    assert any("belonged to no recorded call" in doubt for doubt in trace.doubts)


def test_the_drivers_own_records_are_not_needed_inside_a_runtime_call(fake, probe):
    """CUPTI may leave out what a runtime call does underneath; its entry still leads to the runtime call."""

    def peer_copy():
        fake.lose, fake.silently = frozenset({4}), True
        with fake.call("cudaMemcpyPeerAsync_v4000", "cuMemcpyPeerAsync") as (inner, _):
            fields = {"copy_kind": 10, "src_kind": 3, "dst_kind": 3, "flags_": 1, "bytes": 4}
            fake.record("ActivityMemcpyPtoP4", kind=22, correlation_id=inner, **fields)
        fake.lose = frozenset()

    (copied,) = record(probe, peer_copy).transfers
    assert (copied.api, copied.site.function) == ("cudaMemcpyPeerAsync", "peer_copy")
    assert record(probe, peer_copy).doubts == ()


def test_records_that_cannot_be_read_are_a_doubt(fake, probe):
    trace = record(probe, lambda: fake.record("ActivityMemset5", kind=1, bytes=4))
    assert "1 record (AttributeError: " in trace.doubts[0]
    assert "could not be read" in trace.doubts[0]


def test_a_record_of_a_kind_nobody_asked_for_is_passed_over(fake, probe):
    trace = record(probe, lambda: fake.record("ActivityCudaEvent2", kind=36))
    assert trace.doubts == ()


def test_a_call_only_the_loaded_library_knows_is_classed_by_the_name_it_gives(fake, probe):
    def future():
        with fake.api(DRIVER, "", cbid=5555):
            pass

    assert "cuFutureMemcpyThing5555" in record(probe, future).doubts[0]


# --- what is missing or in the way ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", REQUIRED, ids=lambda kind: kind.name)
@pytest.mark.parametrize("status", [14, 27, None])
def test_without_a_required_kind_there_is_no_recording_and_nothing_left(
    cupti, fake, probe, kind, status
):
    error = NotImplementedError() if status is None else cupti.cuptiError(status)
    fake.refuse[int(kind)] = error
    assert f"enable {kind.name}" in refusal(probe)
    assert (fake.enabled, fake._callback) == (set(), None)
    fake.refuse.clear()
    assert record(probe).doubts == ()


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        (ActivityKind.MEMSET, EventType.MEMSET),
        (ActivityKind.CONCURRENT_KERNEL, EventType.KERNEL),
        (ActivityKind.MEMORY2, EventType.ALLOCATION),
    ],
)
def test_without_an_optional_kind_its_events_are_not_claimed(fake, probe, kind, lost):
    assert lost in probe.observes
    fake.refuse[int(kind)] = NotImplementedError()
    trace = record(probe)
    assert trace.observes == probe.observes
    assert probe.observes == frozenset(EventType) - {lost}


def test_without_peer_copies_every_trace_is_in_doubt(fake, probe):
    fake.refuse[int(ActivityKind.MEMCPY2)] = NotImplementedError()
    assert "copies between GPUs" in record(probe).doubts[0]


def test_a_foreign_subscriber_is_named(fake, probe):
    fake.holder = "NVIDIA Nsight Systems"
    text = refusal(probe)
    assert "Nsight Systems (nsys), as 'NVIDIA Nsight Systems'" in text
    assert "run without that tool" in text


def test_a_foreign_subscriber_without_a_name_is_looked_for(cupti, fake, host):
    files = frozenset({"/opt/nvidia/nsight-compute/libcuda-injection.so"})
    fake.refuse["subscribe_v2"] = cupti.cuptiError(39)
    text = refusal(CuptiProbe(module=fake, host=host(mapped_files=lambda: files)))
    assert "Nsight Compute (ncu)" in text


def test_a_foreign_subscriber_nobody_can_name_lists_the_usual_ones(cupti, fake, probe):
    fake.refuse["subscribe_v2"] = cupti.cuptiError(39)
    text = refusal(probe)
    for tool in ("nsys", "ncu", "compute-sanitizer", "torch.profiler"):
        assert tool in text


def test_the_parameters_of_a_subscription_lie_as_cupti_lays_them_out(cupti):
    params = cupti.SubscriberParams()
    params.struct_size = cupti.SUBSCRIBER_PARAMS_SIZE
    plain = _Params.from_address(params.ptr)
    assert ctypes.sizeof(_Params) == cupti.SUBSCRIBER_PARAMS_SIZE
    assert plain.struct_size == cupti.SUBSCRIBER_PARAMS_SIZE
    assert plain.old_subscriber_size == cupti.OLD_SUBSCRIBER_NAME_MIN_LEN
    plain.clear_holder()
    assert (plain.holder(), params.old_subscriber_name) == ("", "")


def test_without_the_right_to_trace_the_way_to_get_it_is_named(cupti, fake, probe):
    fake.refuse["subscribe_v2"] = cupti.cuptiError(35)
    assert "ERROR_INSUFFICIENT_PRIVILEGES" in refusal(probe)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"environ": {"CUPY_ENABLE_UMP": "1"}}, "CUPY_ENABLE_UMP"),
        (
            {"mapped_files": lambda: frozenset({"/a/libcupti.so.13", "/b/libcupti.so.13"})},
            "2 copies of libcupti",
        ),
    ],
)
def test_a_hazard_of_the_process_puts_every_trace_in_doubt(fake, host, changes, word):
    probe = CuptiProbe(module=fake, host=host(**changes))
    trace = record(probe, fake.copy_to_host)
    assert word in trace.doubts[0]
    assert trace.counts().d2h == 1


def test_calls_whose_entry_cannot_be_watched_lose_their_line_only(cupti, fake, probe):
    refused = {"n": 0}
    allowed = fake.enable_callback

    def some(enable, subscriber, domain, cbid):
        refused["n"] += 1
        if enable and refused["n"] == 1:
            raise cupti.cuptiError(1)
        allowed(enable, subscriber, domain, cbid)

    fake.enable_callback = some
    assert record(probe, fake.copy_to_host).doubts == ()


def test_when_no_entry_can_be_watched_there_is_no_recording(cupti, fake, probe):
    fake.refuse["enable_callback"] = cupti.cuptiError(7)
    assert "watch the entry into calls" in refusal(probe)


def test_a_device_that_cannot_be_waited_for_at_the_start_is_an_error(fake, probe):
    fake.refuse["synchronize"] = RuntimeError("CUDA_ERROR_INVALID_CONTEXT")
    assert "cannot wait for the device (CUDA_ERROR_INVALID_CONTEXT)" in refusal(probe)
    assert fake.enabled == set()


def test_a_cupti_that_fails_at_the_start_is_an_error_by_its_name(cupti, fake, probe):
    fake.refuse["activity_flush_all"] = cupti.cuptiError(7)
    assert "start a recording (ERROR_INVALID_OPERATION)" in refusal(probe)


def test_a_device_lost_during_the_run_is_a_doubt_with_the_next_step(fake, probe):
    def lost():
        fake.pageable_copy()
        fake.refuse["synchronize"] = RuntimeError("cudaErrorIllegalAddress")

    doubts = record(probe, lost).doubts
    assert "cudaErrorIllegalAddress" in doubts[0]
    assert "compute-sanitizer" in doubts[0]


def test_a_clock_lost_during_the_run_is_a_doubt_too(cupti, fake, probe):
    def lost():
        fake.pageable_copy()
        fake.refuse["get_timestamp"] = cupti.cuptiError(14)

    assert "ERROR_NOT_COMPATIBLE" in record(probe, lost).doubts[0]


def test_the_exception_of_the_op_survives_a_device_it_has_broken(fake, probe):
    def fail():
        fake.refuse["synchronize"] = RuntimeError("cudaErrorIllegalAddress")
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        record(probe, fail)


def test_what_fails_while_closing_is_a_doubt_and_the_rest_is_closed(cupti, fake, probe):
    with probe.record() as recording:
        fake.refuse["enable_callback"] = cupti.cuptiError(7)
    assert any("stop a callback" in doubt for doubt in recording.trace().doubts)
    assert (fake.enabled, fake._callback) == (set(), None)


# --- times ----------------------------------------------------------------------------------------------


def test_calls_and_work_are_timed_on_one_clock_that_starts_with_the_recording(fake, probe):
    def step():
        fake.launch()
        fake.copy_to_host()

    for _ in range(2):
        kernel, copy, wait = record(probe, step).events
        for event in (kernel, copy):
            assert 0 < event.start_ns < event.device_start_ns
            assert event.device_start_ns + event.device_ns < event.start_ns + event.host_ns
        assert kernel.start_ns + kernel.host_ns < copy.start_ns
        assert copy.start_ns + copy.host_ns < wait.start_ns
        assert wait.host_ns > 0
        assert (wait.device_start_ns, wait.device_ns) == (None, None)


# --- cupti-python 12 ------------------------------------------------------------------------------------


@pytest.fixture
def host_12(fake_12, host):
    return lambda **changes: host(
        synchronize=fake_12.synchronize,
        driver_version=lambda: 12080,
        package_version=lambda name: "12.8.0",
        **changes,
    )


def test_through_the_older_surface_the_same_is_seen(fake_12, host_12):
    probe = CuptiProbe(module=fake_12, host=host_12())
    trace = record(probe, fake_12.copy_to_host)
    assert trace.probe == "cupti 12.8"
    assert (trace.counts().d2h, trace.counts().syncs, trace.doubts) == (1, 1, ())
    assert int(ActivityKind.GRAPH_HOST_NODE) not in fake_12.ever_enabled


def test_through_the_older_surface_a_foreign_subscriber_is_looked_for(cupti, fake_12, host_12):
    fake_12.refuse["subscribe"] = cupti.cuptiError(39)
    files = frozenset({"/usr/lib/libcudadebugger.so.1"})
    text = refusal(CuptiProbe(module=fake_12, host=host_12(mapped_files=lambda: files)))
    assert "cuda-gdb" in text


# --- managed memory and sessions ------------------------------------------------------------------------


def test_managed_memory_is_watched_on_request(fake, host):
    probe = CuptiProbe(module=fake, host=host(), unified_memory=True)

    def migrate():
        fake.record(
            "ActivityUnifiedMemoryCounter3",
            kind=25,
            counter_kind=2,
            value=4096,
            address=0x1000,
            start=fake.tick(),
        )

    trace = record(probe, migrate)
    assert (trace.counts().d2h_bytes, trace.doubts) == (4096, ())
    assert int(ActivityKind.UNIFIED_MEMORY_COUNTER) in fake.ever_enabled


@pytest.mark.parametrize("status", [28, 29, 30, 31])
def test_where_it_cannot_be_watched_the_request_is_refused_with_the_reason(
    cupti, fake, host, status
):
    fake.refuse["activity_configure_unified_memory_counter"] = cupti.cuptiError(status)
    text = refusal(CuptiProbe(module=fake, host=host(), unified_memory=True))
    assert "managed memory cannot be watched" in text
    assert fake._callback is None


def test_recordings_in_a_session_share_one_subscription(fake, probe):
    with probe.session():
        record(probe, fake.copy_to_host)
        record(probe, fake.copy_to_host)
        assert fake.enabled
    assert fake.log.count("subscribe_v2") == 1
    assert fake.enabled == set()


def test_sessions_do_not_nest(probe):
    with probe.session(), pytest.raises(RuntimeError, match="do not nest"), probe.session():
        pass


def test_a_session_that_cannot_be_closed_says_so(cupti, fake, probe):
    with pytest.raises(UnavailableError, match="unsubscribe"), probe.session():
        fake.refuse["unsubscribe"] = cupti.cuptiError(7)


def test_a_second_probe_in_the_process_records_after_the_first(fake, host, probe):
    record(probe, fake.copy_to_host)
    other = CuptiProbe(module=fake, host=host())
    assert record(other, fake.copy_to_host).counts().d2h == 1
