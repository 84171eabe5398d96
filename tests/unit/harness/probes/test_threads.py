"""Which threads a recording left behind, as every probe asks it."""

from __future__ import annotations

import _thread
import gc
import threading
from collections.abc import Iterator

import pytest

from harness.probes.threads import doubts_of_threads, left_running, running


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Set at the end of a test: what the threads it left behind wait for."""
    event = threading.Event()
    yield event
    event.set()


def test_each_thread_left_behind_is_one_doubt(release: threading.Event) -> None:
    before = running()
    assert doubts_of_threads(before) == ()
    for name in ("b", "a"):
        threading.Thread(target=release.wait, args=(5,), name=name, daemon=True).start()
    first, second = doubts_of_threads(before)
    assert first.startswith("thread 'a' was started during the recording")
    assert second.startswith("thread 'b'")


def test_threads_that_threading_does_not_know_are_counted(release: threading.Event) -> None:
    before = running()
    assert left_running(before) == []
    started = threading.Event()

    def raw() -> None:
        started.set()
        release.wait(5)

    _thread.start_new_thread(raw, ())
    started.wait(5)
    assert left_running(before) == ["(not started by threading)"]
    assert left_running(running()) == []
    release.set()


def test_asking_while_threads_come_and_go_and_garbage_is_collected_never_hangs() -> None:
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()
            cycle: list[object] = []
            cycle.append(cycle)

    churning = threading.Thread(target=churn)
    churning.start()
    threshold = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for _ in range(300):
            running()
    finally:
        gc.set_threshold(*threshold)
        stop.set()
        churning.join()
