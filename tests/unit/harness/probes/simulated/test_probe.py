"""Recordings keep what was launched while they were open, tagged, attributed and in order."""

from __future__ import annotations

import copy
import functools
import io
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from harness.model.event import EventType
from harness.model.outcome import Evidence
from harness.probes.simulated import SimulatedProbe, SimulatedRecording, namespace
from harness.probes.simulated.site import user_line


def line_of(marker: str) -> int:
    with open(__file__, encoding="utf-8") as source:
        return next(number for number, text in enumerate(source, 1) if f"# {marker}" in text)


def test_the_probe_says_what_it_is_and_what_it_sees() -> None:
    probe = SimulatedProbe()
    assert probe.name == "simulated"
    assert probe.evidence is Evidence.SIMULATED
    assert probe.observes == set(EventType) - {EventType.ALLOCATION}


def test_every_event_names_the_line_and_function_that_caused_it() -> None:
    a = namespace.arange(4.0)

    def body() -> None:
        b = a * 2  # operator
        np.exp(b)  # ufunc
        np.sum(b)  # array function
        namespace.where(b > 1, b, 0.0)  # namespace
        b[b > 2] = 0  # mask
        float(b.sum())  # conversion
        max(b)  # builtin
        str(b)  # text
        namespace.random.rand(3)  # random
        namespace.launch(lambda x: None, b)  # launch

    with SimulatedProbe().record() as recording:
        body()
    events = recording.trace().events
    sites = {event.site for event in events}
    markers = [
        "operator",
        "ufunc",
        "array function",
        "namespace",
        "mask",
        "conversion",
        "builtin",
        "text",
        "random",
        "launch",
    ]
    assert sorted(site.line for site in sites if site) == [line_of(marker) for marker in markers]
    assert {site.file for site in sites if site} == {__file__}
    assert {site.function for site in sites if site} == {"body"}


def test_reads_through_the_standard_library_are_attributed_to_its_caller() -> None:
    a = namespace.ones(2)
    logger = logging.Logger("unconnected")
    logger.addHandler(logging.StreamHandler(io.StringIO()))
    with SimulatedProbe().record() as recording:
        copy.deepcopy([a])  # deepcopy
        logger.warning("%s", a)  # logging
        functools.reduce(lambda x, y: x + y, [a, a])  # reduce
    lines = [event.site.line for event in recording.trace().events if event.site]
    assert lines[0] == line_of("deepcopy")
    assert set(lines[1:-1]) == {line_of("logging")}
    assert lines[-1] == line_of("reduce")


def test_installed_packages_are_user_code_and_machinery_is_not() -> None:
    import sysconfig
    from types import SimpleNamespace

    def frame(file: str, back: Any = None) -> Any:
        code = SimpleNamespace(co_filename=file, co_name="f")
        return SimpleNamespace(f_code=code, f_lineno=7, f_back=back)

    stdlib = sysconfig.get_path("stdlib")
    user = frame("/home/someone/op.py")
    for machinery in (f"{stdlib}/copy.py", np.__file__, "<frozen runpy>"):
        assert user_line(frame(machinery, user)) == ("/home/someone/op.py", 7, "f")
    package = f"{stdlib}/site-packages/package/op.py"
    assert user_line(frame(package, user)) == (package, 7, "f")
    alone = f"{stdlib}/threading.py"
    assert user_line(frame(alone)) == (alone, 7, "f")


def test_recordings_of_one_thread_do_not_overlap() -> None:
    with SimulatedProbe().record() as recording:
        with pytest.raises(RuntimeError, match="already recording"), SimulatedProbe().record():
            pass
        with recording.region("still"):
            namespace.zeros(1)
    assert len(recording.trace().events) == 1
    with SimulatedProbe().record():
        pass


def test_a_region_after_the_recording_is_an_error() -> None:
    with SimulatedProbe().record() as recording:
        pass
    with pytest.raises(RuntimeError, match="had closed"), recording.region("late"):
        pass


def test_times_count_from_the_start_and_never_go_back() -> None:
    a = namespace.ones(4)
    with SimulatedProbe().record() as recording:
        for _ in range(20):
            a += 1
    starts = [event.start_ns for event in recording.trace().events]
    assert starts == sorted(starts)
    assert starts[0] >= 0


def test_the_trace_is_made_once() -> None:
    with SimulatedProbe().record() as recording:
        namespace.ones(1)
    assert recording.trace() is recording.trace()


def test_events_beyond_the_capacity_are_counted_as_dropped() -> None:
    class Small(SimulatedRecording):
        def __init__(self) -> None:
            super().__init__(capacity=3)

    with SimulatedProbe(recording=Small).record() as recording:
        for _ in range(5):
            namespace.ones(1)
    trace = recording.trace()
    assert (len(trace.events), trace.dropped) == (3, 2)


def test_threads_have_regions_of_their_own_and_all_events_are_kept() -> None:
    a = namespace.ones(8)
    barrier = threading.Barrier(4)

    def work(name: str) -> None:
        barrier.wait()
        with recording.region(name):
            for _ in range(50):
                a.sum()
            a[0].item()

    with SimulatedProbe().record() as recording, ThreadPoolExecutor(4) as pool:
        list(pool.map(work, "abcd"))
    trace = recording.trace()
    assert dict(trace.entered) == dict.fromkeys("abcd", 1)
    for name in "abcd":
        inside = trace.within(name).counts()
        assert (inside.kernels, inside.d2h, inside.syncs) == (50, 1, 1)
    assert {event.regions for event in trace.events} == {(name,) for name in "abcd"}
    starts = [event.start_ns or 0 for event in trace.events]
    assert starts == sorted(starts)


def test_a_helper_thread_without_a_region_counts_to_the_regions_of_the_recording_thread() -> None:
    a = namespace.ones(2)
    with SimulatedProbe().record() as recording:
        with recording.region("forward"), ThreadPoolExecutor(1) as pool:
            pool.submit(a.get).result()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(a.get).result()
    trace = recording.trace()
    assert trace.within("forward").counts().d2h == 1
    assert trace.counts().d2h == 2


def test_recordings_of_two_threads_each_see_everything() -> None:
    a = namespace.ones(2)
    seen: list[Any] = []
    opened, done = threading.Event(), threading.Event()

    def watch() -> None:
        with SimulatedProbe().record() as other:
            opened.set()
            done.wait(5)
        seen.append(other.trace().counts())

    thread = threading.Thread(target=watch)
    with SimulatedProbe().record() as recording:
        thread.start()
        opened.wait(5)
        a.get()
        done.set()
        thread.join()
    assert recording.trace().counts().d2h == seen[0].d2h == 1


def test_operations_work_and_announce_nothing_without_a_recording() -> None:
    a = namespace.ones(2)
    assert float((a + a).sum()) == 4
    with SimulatedProbe().record() as recording:
        pass
    assert recording.trace().events == ()


def test_an_operation_during_the_delivery_of_an_event_is_delivered_too() -> None:
    a = namespace.ones(2)

    class Interrupted(SimulatedRecording):
        def observe(self, observation: Any) -> None:
            if observation.api == "add":
                _ = a * 2
            super().observe(observation)

    def body() -> None:
        with SimulatedProbe(recording=Interrupted).record() as recording:
            _ = a + 1
        recordings.append(recording)

    recordings: list[SimulatedRecording] = []
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive(), "an operation inside a delivery waits for itself"
    assert [event.api for event in recordings[0].trace().events] == ["add", "multiply"]


def test_an_operation_inside_a_finaliser_of_another_one_is_silent_too() -> None:
    a = namespace.zeros(2)

    class Late:
        def __del__(self) -> None:
            _ = 1 / a

    def kernel(x: Any) -> None:
        late = Late()
        del late
        x[:] = 1 / x

    namespace.launch(kernel, a)
    assert np.isinf(a.get()).all()
