"""Threads that a test starts: joined, they are part of it; left behind, nobody can say what they will do."""

from __future__ import annotations

import pytest

READER = """
import threading

END = threading.Event()
LEFT = []


@pytest.fixture(scope="session", autouse=True)
def all_ended():
    yield
    END.set()
    for thread in LEFT:
        thread.join()


def late_reader(logits, go):
    go.wait(timeout=10)
    float(logits.sum())


def left_behind(target, *arguments, daemon=True):
    thread = threading.Thread(target=target, args=arguments, daemon=daemon, name="the reader")
    thread.start()
    LEFT.append(thread)
    return thread
"""

CULPRITS = {
    "in a whole body": """
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_culprit(device):
    logits = device.to_device(LOGITS)
    on_device(logits)
    left_behind(late_reader, logits, END)
""",
    "in a block": """
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_culprit(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace():
        on_device(logits)
        left_behind(late_reader, logits, END)
""",
    "in an inner block of a block that is read": """
def test_culprit(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace() as outer:
        with device_trace():
            left_behind(late_reader, logits, END)
        on_device(logits)
    assert outer.counts().d2h == 0
""",
    "in a block that an inner one cuts in two": """
def test_culprit(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace() as outer:
        thread = left_behind(late_reader, logits, END)
        with device_trace() as inner:
            on_device(logits)
        END.set()
        thread.join()
    assert inner.counts().d2h == 0
    assert outer.counts().d2h == 1
""",
    "in a region that is read": """
def test_culprit(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace() as trace:
        with device_trace.region("forward"):
            on_device(logits)
        left_behind(late_reader, logits, END)
    assert not trace.within("forward").transfers
""",
}


@pytest.mark.parametrize("where", CULPRITS)
def test_a_thread_that_outlives_its_recording_is_named_and_nothing_passes(suite, where):
    result = suite(READER + CULPRITS[where])
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["INCONCLUSIVE: *'the reader'*", "harness: 1 traced test: 1 inconclusive"]
    )
    assert "doctor" not in result.stdout.str()


JOINED = {
    "in a whole body": """
@pytest.mark.limit_transfers(d2h=1, because=BECAUSE)
def test_joined(device):
    logits = device.to_device(LOGITS)
    thread = left_behind(late_reader, logits, END)
    END.set()
    thread.join()
""",
    "in a block": """
@pytest.mark.limit_transfers(d2h=1, because=BECAUSE)
def test_joined(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace():
        thread = left_behind(late_reader, logits, END)
        END.set()
        thread.join()
""",
    "across a block in a whole body": """
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_joined(device, device_trace):
    logits = device.to_device(LOGITS)
    thread = left_behind(late_reader, logits, END)
    with device_trace():
        on_device(logits)
    END.set()
    thread.join()
""",
}


@pytest.mark.parametrize("where", JOINED)
def test_a_thread_that_is_joined_in_time_is_part_of_the_test(suite, where):
    suite(READER + JOINED[where]).assert_outcomes(passed=1)


def test_what_a_thread_of_an_earlier_test_does_is_told_as_such(suite):
    """The first test traces nothing, so nobody sees that it leaves a thread behind."""
    result = suite(
        READER
        + """
def test_culprit(device):
    left_behind(late_reader, device.to_device(LOGITS), END)


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_next(device):
    on_device(device.to_device(LOGITS))
    END.set()
    LEFT[0].join()
"""
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "transfer limit exceeded within the whole call",
            "*in late_reader",
            "*note *thread 'the reader' was inside late_reader() before this test began*",
        ]
    )


def test_a_pool_of_the_session_is_no_stranger(suite):
    """Its workers live on, but what they are given is the test's."""
    result = suite(
        READER
        + """
from concurrent.futures import ThreadPoolExecutor


@pytest.fixture(scope="session")
def pool():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        yield pool


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
@pytest.mark.parametrize("op", [on_device, host_roundtrip])
def test_pooled(device, pool, op):
    pool.submit(op, device.to_device(LOGITS)).result()
"""
    )
    result.assert_outcomes(passed=1, failed=1)
    assert "before this test began" not in result.stdout.str()
