"""A thread that outlives its recording is a doubt; one that was there before, or has ended, is not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.probes.simulated import SimulatedProbe, namespace


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Set at the end of a test: what the threads it left behind wait for."""
    event = threading.Event()
    yield event
    event.set()


def test_a_thread_left_running_is_named(release: threading.Event) -> None:
    a = namespace.ones(2)
    thread = threading.Thread(target=release.wait, args=(5,), name="prefetcher", daemon=True)
    with SimulatedProbe().record() as recording:
        thread.start()
        a.sum()
    (doubt,) = recording.trace().doubts
    assert "thread 'prefetcher' was started during the recording and still ran at its end" in doubt
    assert "join it before the call returns" in doubt
    with SimulatedProbe().record() as later:
        a.sum()
    assert later.trace().doubts == ()
    release.set()
    thread.join()


def test_a_read_after_the_recording_is_why(release: threading.Event) -> None:
    a, read = namespace.ones(2), threading.Event()

    def late() -> None:
        release.wait(5)
        float(a[0])
        read.set()

    def forward() -> None:
        threading.Thread(target=late, daemon=True).start()

    with SimulatedProbe().record() as recording:
        forward()
    release.set()
    read.wait(5)
    assert recording.trace().counts().d2h == 0
    assert len(recording.trace().doubts) == 1


def test_threads_that_have_ended_are_no_doubt() -> None:
    a = namespace.ones(2)
    with SimulatedProbe().record() as recording:
        thread = threading.Thread(target=a.get)
        thread.start()
        thread.join()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: a.get(), range(4)))
    trace = recording.trace()
    assert trace.doubts == ()
    assert trace.counts().d2h == 5


def test_a_thread_that_is_done_but_not_joined_is_waited_for() -> None:
    a = namespace.ones(2)
    for _ in range(20):
        done = threading.Event()

        def work(done: threading.Event = done) -> None:
            a.get()
            done.set()

        with SimulatedProbe().record() as recording:
            threading.Thread(target=work).start()
            done.wait(5)
        assert recording.trace().doubts == ()
        assert recording.trace().counts().d2h == 1


def test_an_idle_worker_of_a_pool_is_left_running_once(release: threading.Event) -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
        with SimulatedProbe().record() as cold:
            pool.submit(int).result()
        with SimulatedProbe().record() as warm:
            pool.submit(int).result()
    assert ["pool" in doubt for doubt in cold.trace().doubts] == [True]
    assert warm.trace().doubts == ()


def test_a_thread_that_ran_before_is_counted_and_no_doubt(release: threading.Event) -> None:
    a, opened, read = namespace.ones(2), threading.Event(), threading.Event()

    def background() -> None:
        opened.wait(5)
        a.get()
        read.set()
        release.wait(5)

    thread = threading.Thread(target=background, daemon=True)
    thread.start()
    with SimulatedProbe().record() as recording:
        opened.set()
        read.wait(5)
    trace = recording.trace()
    assert trace.doubts == ()
    assert trace.counts().d2h == 1
    assert trace.transfers[0].site is not None
    assert trace.transfers[0].site.function == "background"
    release.set()
    thread.join()
