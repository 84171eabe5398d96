"""The host's clock: what it times and what it leaves as it was."""

import gc

import pytest

from harness.timers.host import HostTimer


def test_it_makes_every_call_and_measures_positive_time() -> None:
    calls = 0

    def call() -> None:
        nonlocal calls
        calls += 1

    assert HostTimer().measure(call, 1000) > 0
    assert calls == 1000


def test_the_collector_is_off_during_the_calls_and_as_before_afterwards() -> None:
    seen = []
    timer = HostTimer()
    timer.measure(lambda: seen.append(gc.isenabled()), 1)
    assert gc.isenabled()
    gc.disable()
    try:
        timer.measure(lambda: seen.append(gc.isenabled()), 1)
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert seen == [False, False]


def test_the_collector_comes_back_when_a_call_raises() -> None:
    def broken() -> None:
        raise RuntimeError("op broke")

    with pytest.raises(RuntimeError, match="op broke"):
        HostTimer().measure(broken, 3)
    assert gc.isenabled()


def test_it_claims_no_finer_step_than_it_counts_in() -> None:
    assert HostTimer().resolution_ns >= 1.0


def test_its_wall_clock_moves_forward() -> None:
    timer = HostTimer()
    assert timer.now_ns() <= timer.now_ns()
