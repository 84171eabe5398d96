"""A call belongs to the regions that were open in its thread when it was launched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.probes.cupti.regions import RegionLog

OWNER, HELPER = 1, 2


def test_a_call_at_either_edge_of_a_region_is_inside():
    log = RegionLog(owner=OWNER)
    before = log.enter("forward", thread=OWNER, at_ns=10)
    log.leave(before, thread=OWNER, at_ns=20)
    inside = [log.open_at(time, thread=OWNER) for time in (9, 10, 15, 20, 21)]
    assert inside == [(), ("forward",), ("forward",), ("forward",), ()]


def test_nested_regions_are_outermost_first():
    log = RegionLog(owner=OWNER)
    outer = log.enter("step", thread=OWNER, at_ns=10)
    inner = log.enter("loss", thread=OWNER, at_ns=20)
    log.leave(inner, thread=OWNER, at_ns=30)
    log.leave(outer, thread=OWNER, at_ns=40)
    assert log.open_at(25, thread=OWNER) == ("step", "loss")
    assert log.open_at(35, thread=OWNER) == ("step",)
    assert log.entered == {"step": 1, "loss": 1}


def test_a_thread_without_regions_counts_to_those_of_the_owner():
    log = RegionLog(owner=OWNER)
    log.enter("forward", thread=OWNER, at_ns=10)
    assert log.open_at(15, thread=HELPER) == ("forward",)
    assert log.open_at(15) == ("forward",)


def test_a_thread_with_regions_counts_to_its_own():
    log = RegionLog(owner=OWNER)
    log.enter("forward", thread=OWNER, at_ns=10)
    log.enter("load", thread=HELPER, at_ns=12)
    assert log.open_at(15, thread=HELPER) == ("load",)
    assert log.open_at(15, thread=OWNER) == ("forward",)


def test_the_owner_never_counts_to_a_helpers_region():
    log = RegionLog(owner=OWNER)
    log.enter("load", thread=HELPER, at_ns=12)
    assert log.open_at(15, thread=OWNER) == ()


def test_a_clock_that_stands_still_keeps_the_order_of_changes():
    log = RegionLog(owner=OWNER)
    before = log.enter("a", thread=OWNER, at_ns=10)
    log.leave(before, thread=OWNER, at_ns=10)
    log.enter("b", thread=OWNER, at_ns=10)
    assert log.open_at(11, thread=OWNER) == ("b",)
    assert log.entered == {"a": 1, "b": 1}


@given(st.lists(st.booleans(), max_size=40))
def test_at_every_moment_the_log_agrees_with_a_stack(moves):
    log, stack, now, truth = RegionLog(owner=OWNER), [], 0, []
    for enter in moves:
        now += 10
        if enter or not stack:
            stack.append(log.enter(f"r{now}", thread=OWNER, at_ns=now))
        else:
            log.leave(stack.pop(), thread=OWNER, at_ns=now)
        truth.append((now + 5, len(stack)))
    assert [(time, len(log.open_at(time, thread=OWNER))) for time, _ in truth] == truth
