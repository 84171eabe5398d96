"""The witness, driven end to end on a scripted CuPy and CUDA runtime."""

from __future__ import annotations

import sys

import pytest

from harness.checks.control import check_positive_control
from harness.checks.traffic import check_traffic
from harness.errors import UnavailableError
from harness.model.budget import Budget
from harness.model.event import Direction, EventType, Kernel, Sync, SyncKind, Transfer
from harness.model.outcome import Evidence, Outcome
from harness.probes.capture import CaptureProbe

DEVICE, PINNED = 0x1000, 0x3000

BUDGET = Budget.from_plain({"forward": {"d2h": 0, "syncs": 0, "because": "the loss stays there"}})


def judge(trace):
    """As the traffic check sees it, with a positive control that passed."""
    from harness.checks.control import Planted
    from harness.model.budget import Quantity

    plant = Planted(name="a kernel", expected={Quantity.D2H: 0}, trace=trace.within("nowhere"))
    return check_traffic([trace], BUDGET, control=check_positive_control((plant,)))


def forward(*steps):
    """An op whose work is all inside the region ``forward``."""

    def run(region):
        with region("forward"):
            for step in steps:
                step()

    return run


# --- what is captured -----------------------------------------------------------------------------------


def test_an_op_of_kernels_is_witnessed(device, probe):
    trace = probe.witness(forward(device.kernel, device.kernel))
    assert [type(event) for event in trace.events] == [Kernel, Kernel]
    assert trace.evidence is Evidence.WITNESSED
    assert trace.doubts == ()
    assert trace.entered == {"forward": 1}
    assert judge(trace).outcome is Outcome.PASSED


def test_a_read_into_pinned_memory_can_be_captured_and_is_found(device, probe):
    def read_loss():
        device.copy(source=DEVICE, destination=PINNED)

    trace = probe.witness(forward(device.kernel, read_loss))
    (copy,) = trace.transfers
    assert copy.direction is Direction.DEVICE_TO_HOST
    assert copy.regions == ("forward",)
    assert judge(trace).outcome is Outcome.FAILED


def test_a_host_function_is_found(device, probe):
    trace = probe.witness(forward(lambda: device.add("Host")))
    assert [wait.kind for wait in trace.syncs] == [SyncKind.HOST_CALLBACK]
    assert judge(trace).outcome is Outcome.FAILED


def test_a_copy_inside_a_child_graph_is_found(device, probe):
    copy = {"kind": "Memcpy", "source": DEVICE, "destination": PINNED, "size_bytes": 4}

    def launch():
        device.add("Graph", nodes=[{**copy, "stated": "Default"}])

    assert len(probe.witness(forward(launch)).transfers) == 1


def test_nodes_belong_to_the_region_they_were_added_in(device, probe):
    def run(region):
        device.kernel()
        with region("outer"):
            device.kernel()
            with region("inner"):
                device.kernel()
        device.kernel()

    trace = probe.witness(run)
    assert [event.regions for event in trace.events] == [(), ("outer",), ("outer", "inner"), ()]


def test_a_node_is_placed_at_the_line_that_added_it(device, probe):
    def op():
        device.kernel()
        device.copy(source=DEVICE, destination=PINNED)
        device.kernel()

    (copy,) = probe.witness(forward(op)).transfers
    assert (copy.site.file, copy.site.function) == (__file__, "op")
    assert copy.site.line == op.__code__.co_firstlineno + 2


def test_a_node_added_by_the_last_line_of_an_op_is_placed_there(device, probe):
    def op():
        device.kernel()
        device.copy(source=DEVICE, destination=PINNED)

    (copy,) = probe.witness(forward(op)).transfers
    assert copy.site.line == op.__code__.co_firstlineno + 2


def test_a_node_added_within_a_region_statement_is_placed_at_its_line(device, probe):
    def run(region):
        with region("forward"):
            device.copy(source=DEVICE, destination=PINNED)
        device.kernel()

    copy, ran = probe.witness(run).events
    assert copy.site.line == run.__code__.co_firstlineno + 2
    assert ran.site.line == run.__code__.co_firstlineno + 3


def test_a_node_is_placed_in_the_innermost_function_of_the_user(device, probe):
    def inner():
        device.copy(source=DEVICE, destination=PINNED)

    def outer():
        inner()
        device.kernel()

    copy, ran = probe.witness(forward(outer)).events
    assert copy.site.function == "inner"
    assert (ran.site.function, ran.site.line) == ("outer", outer.__code__.co_firstlineno + 2)


def test_what_a_line_adds_after_a_call_it_makes_is_placed_at_that_line(device, probe):
    def inner():
        device.kernel()

    def outer():
        return inner() or device.copy(source=DEVICE, destination=PINNED)

    ran, copy = probe.witness(forward(outer)).events
    assert (ran.site.function, copy.site.function) == ("inner", "outer")


def test_under_a_debugger_the_verdict_stands_without_lines(device, probe):
    def tracer(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        trace = probe.witness(forward(lambda: device.copy(source=DEVICE, destination=PINNED)))
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert trace.transfers[0].site is None
    assert trace.transfers[0].regions == ("forward",)


def test_no_tracer_is_left_behind(device, probe):
    before = sys.gettrace()
    probe.witness(forward(device.kernel))
    assert sys.gettrace() is before


def test_the_graph_is_read_while_it_is_there(device, probe):
    """A later call that spoils the capture takes the graph away; what was captured until then stays known."""

    def op():
        device.copy(source=DEVICE, destination=PINNED)
        device.synchronize()

    trace = probe.witness(forward(op))
    assert [type(event) for event in trace.events] == [Transfer, Sync]


# --- what is refused ------------------------------------------------------------------------------------


def test_a_read_cupy_refuses_is_a_violation_at_its_line(device, probe):
    def read_loss():
        device.get()

    trace = probe.witness(forward(device.kernel, read_loss))
    (read,) = trace.transfers
    assert (read.direction, read.regions) == (Direction.DEVICE_TO_HOST, ("forward",))
    assert (read.site.file, read.site.function) == (__file__, "read_loss")
    assert judge(trace).outcome is Outcome.FAILED


def test_a_wait_cuda_refuses_is_a_violation(device, probe):
    trace = probe.witness(forward(device.synchronize))
    assert len(trace.syncs) == 1
    assert judge(trace).outcome is Outcome.FAILED


def test_an_upload_cupy_refuses_is_an_upload_and_leaves_the_rest_in_doubt(device, probe):
    trace = probe.witness(forward(device.asarray))
    assert trace.counts().h2d == 1
    assert "was not seen" in trace.doubts[0]


def test_a_library_that_cannot_be_captured_is_a_doubt_not_a_violation(device, probe):
    trace = probe.witness(forward(device.matmul))
    assert trace.events == ()
    assert "cuBLAS" in trace.doubts[0]


def test_a_poll_spoils_the_capture_and_is_a_doubt_not_a_violation(device, probe):
    trace = probe.witness(forward(device.kernel, device.poll))
    assert trace.syncs == ()
    assert "poll of the stream" in trace.doubts[0]


def test_a_refusal_the_op_swallows_and_that_spoils_the_capture_is_a_doubt(device, probe):
    def stubborn():
        try:
            device.synchronize()
        except RuntimeError:
            device.kernel()

    (doubt,) = probe.witness(forward(stubborn)).doubts
    assert "previous error during capture" in doubt


def test_only_the_first_refusal_counts(device, probe):
    trace = probe.witness(forward(device.synchronize))
    assert (len(trace.syncs), len(trace.doubts)) == (1, 1)


def test_an_exception_of_the_op_itself_passes_through(probe):
    def fail():
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        probe.witness(forward(fail))


def test_record_lets_a_refusal_pass_and_the_trace_stands(device, probe):
    with pytest.raises(RuntimeError, match="D2H"), probe.record() as recording:
        device.get()
    assert recording.trace().counts().d2h == 1


# --- the capture itself ---------------------------------------------------------------------------------


def test_the_stream_is_one_the_legacy_stream_cannot_pass(device, probe):
    probe.witness(forward(device.kernel))
    assert not device.streams[0].non_blocking


def test_the_capture_is_ended_and_the_stream_left_whatever_happens(device, probe):
    for step in (device.kernel, device.get, device.synchronize, device.poll, device.matmul):
        probe.witness(forward(step))
        assert device.graph is None
        assert device.streams[-1].entered == 0


def test_two_captures_do_not_mix(device, probe):
    assert len(probe.witness(forward(device.kernel)).kernels) == 1
    assert len(probe.witness(forward(device.kernel, device.kernel)).kernels) == 2


def test_a_capture_that_cannot_begin_says_why(device, probe):
    device.begin_error = device.error("cudaErrorIllegalState", "already capturing")
    with pytest.raises(UnavailableError, match="already capturing"), probe.record():
        pass


def test_a_graph_that_cannot_be_made_is_a_doubt(device, probe):
    device.end_error = device.error("cudaErrorMemoryAllocation", "out of memory")
    trace = probe.witness(forward(device.kernel))
    assert len(trace.kernels) == 1
    assert "out of memory" in trace.doubts[0]


def test_a_node_that_cannot_be_read_is_a_doubt(device, probe, real_runtime):
    device.runtime.fail["cudaGraphNodeGetType"] = real_runtime.cudaError_t(1)
    trace = probe.witness(forward(device.kernel))
    assert trace.events == ()
    assert "could not be read" in trace.doubts[0]


def test_an_open_recording_has_no_trace_and_a_closed_one_no_regions(probe):
    with probe.record() as recording, pytest.raises(RuntimeError, match="still open"):
        recording.trace()
    with pytest.raises(RuntimeError, match="had closed"), recording.region("late"):
        pass


def test_a_probe_says_what_it_is_and_sees(probe):
    assert probe.name == "capture (cupy 14.2.0)"
    assert probe.evidence is Evidence.WITNESSED
    assert EventType.ALLOCATION not in probe.observes
    assert {EventType.TRANSFER, EventType.SYNC} <= probe.observes


def test_without_cupy_or_a_device_the_message_is_ours():
    try:
        found = CaptureProbe().name
    except UnavailableError as error:
        found = str(error)
    assert "\n" not in found
    assert found.startswith("capture (cupy") or "install" in found
