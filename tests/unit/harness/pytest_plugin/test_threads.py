import threading
import time
from contextlib import contextmanager

from harness.model.event import Site
from harness.pytest_plugin.threads import (
    outlived,
    running,
    started_since,
    thread_of,
    work_in_progress,
)


def waiting(ready, end):
    ready.set()
    end.wait(timeout=10)


@contextmanager
def a_thread_inside_waiting(name):
    ready, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=waiting, args=(ready, end), name=name)
    thread.start()
    try:
        assert ready.wait(timeout=10)
        yield
    finally:
        end.set()
        thread.join()


def test_a_function_another_thread_is_inside_of_is_known_by_file_and_name():
    with a_thread_inside_waiting("reader"):
        elsewhere = work_in_progress()
    assert thread_of(Site(__file__, 1, "waiting"), elsewhere) == "reader"
    assert thread_of(Site("another.py", 1, "waiting"), elsewhere) is None
    assert thread_of(Site(__file__, 1, "a_thread_inside_waiting"), elsewhere) is None
    assert thread_of(None, elsewhere) is None


def test_the_thread_of_the_test_itself_is_not_elsewhere():
    name = "test_the_thread_of_the_test_itself_is_not_elsewhere"
    assert thread_of(Site(__file__, 1, name), work_in_progress()) is None


def test_a_thread_that_has_ended_is_not_there():
    with a_thread_inside_waiting("reader"):
        pass
    assert thread_of(Site(__file__, 1, "waiting"), work_in_progress()) is None


def test_a_thread_started_since_is_named_while_it_runs():
    before = running()
    assert started_since(before) == ()
    with a_thread_inside_waiting("reader"):
        assert started_since(before) == ("reader",)
        assert started_since(running()) == ()
    assert started_since(before) == ()


def test_a_thread_that_is_about_to_end_is_waited_for():
    before = running()
    thread = threading.Thread(target=time.sleep, args=(0.002,))
    thread.start()
    assert started_since(before) == ()


def test_a_thread_that_outlived_its_recording_is_told_once():
    (doubt,) = outlived(["reader", "reader"], [])
    assert doubt.startswith("thread 'reader', started while this was recorded, was still running")
    assert outlived(["reader"], ["thread 'reader' has not ended"]) == ()
    assert len(outlived(["reader"], ["thread 'writer' has not ended"])) == 1
