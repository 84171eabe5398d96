"""Calibration: values long enough for the clock, and clear words when there is no clock."""

import time
from collections.abc import Callable

import pytest

from harness.benchmark.calibration import calibrate
from harness.errors import UnavailableError
from harness.timers.simulated import SimulatedClock


@pytest.mark.parametrize("cost_ns", [25.0, 1e3, 1e5, 9e5])
def test_a_value_lasts_a_millisecond_and_not_much_more(cost_ns: float) -> None:
    clock = SimulatedClock()
    call = clock.operation(cost_ns)
    found = calibrate(call, clock)
    assert 1e6 <= found.calls * cost_ns <= 2.1e6
    assert found.call_ns == pytest.approx(cost_ns, rel=1e-3)


def test_a_slow_operation_is_called_twice_and_once_per_value() -> None:
    clock = SimulatedClock()
    found = calibrate(clock.operation(5e8), clock)
    assert (found.calls, found.spent_calls) == (1, 2)


def test_a_coarse_clock_gets_a_thousand_of_its_steps() -> None:
    clock = SimulatedClock(resolution_ns=1e4)
    found = calibrate(clock.operation(100.0), clock)
    assert found.calls * 100.0 >= 1e7


def test_the_first_call_which_may_compile_does_not_count() -> None:
    clock = SimulatedClock()
    found = calibrate(clock.operation(100.0, warm_up_calls=1, cold_factor=1e7), clock)
    assert found.calls > 1000


def test_an_operation_faster_than_ten_million_calls_can_show_is_taken_as_it_is() -> None:
    clock = _Stub(step_ns=1.0)
    assert calibrate(clock.call, clock).calls == 10_000_000


@pytest.mark.parametrize("step_ns", [0.0, -5.0])
def test_a_clock_that_stands_still_or_runs_backwards_is_named(step_ns: float) -> None:
    clock = _Stub(step_ns=step_ns)
    with pytest.raises(UnavailableError, match=r"timer 'stub' read .* clock source"):
        calibrate(clock.call, clock)


class _Stub:
    """A clock that reads the same for any number of calls, without making them."""

    name = "stub"
    resolution_ns = 1.0

    def __init__(self, *, step_ns: float) -> None:
        self._step_ns = step_ns

    def call(self) -> None:
        """Do nothing."""

    def measure(self, call: Callable[[], object], calls: int) -> float:
        call()
        return self._step_ns

    def now_ns(self) -> float:
        return 0.0


def test_a_slow_operation_on_a_clock_that_stands_still_is_not_called_for_hours() -> None:
    clock = SimulatedClock()
    clock.stop()
    calls = 0

    def slow() -> None:
        nonlocal calls
        calls += 1
        time.sleep(0.01)

    with pytest.raises(UnavailableError, match=r"'simulated clock' read 0 ns over .* calls"):
        calibrate(slow, clock)
    assert calls < 300
