"""Messages survive the pipe whole, however it cuts them, and what is none is not taken for one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from builders import (
    a_copy_bandwidth,
    a_defective_record,
    a_failed_traffic_check,
    a_record,
    a_sample,
    a_verdict,
    an_estimate,
)
from hypothesis import given
from hypothesis import strategies as st

from harness.model.conditions import MatmulRate
from harness.model.environment import Environment
from harness.session.isolation.messages import (
    Begun,
    Broke,
    Doing,
    Finished,
    Found,
    GarbledError,
    Inbox,
    Interrupted,
    Measured,
    Partly,
    Refused,
    Spoilt,
    encoded,
)
from harness.session.record import Plan, PlannedWorkload

PLAN = Plan(
    environment=Environment(hard={"cpu.model": "x"}, soft={"load.average": "0.1"}, commit="abc"),
    workloads=(PlannedWorkload(name="toys", cases=("a", "b"), whole=False),),
    traffic_device="simulated",
    timing_device="cpu",
    notes=("no GPU was used",),
)
A_FULL_VERDICT = a_verdict(
    a_failed_traffic_check(),
    parameters={"shape": "4096x1000"},
    traffic=a_record(),
    controls=(a_defective_record(),),
    sample=a_sample(),
    call_time=an_estimate(),
)
MESSAGES = (
    PLAN,
    Doing("importing", "toys"),
    Begun("toys/a"),
    Partly(a_verdict()),
    Found(A_FULL_VERDICT),
    Measured(None, None, ("no clock",)),
    Measured(a_copy_bandwidth(), None, ()),
    Measured(None, MatmulRate(device="cpu", dtype="float32", size=512, flops_per_second=1e11), ()),
    Refused("no such device", 3),
    Broke("KeyError: 'x'"),
    Spoilt(),
    Interrupted(),
    Finished(),
)


@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
def test_a_message_comes_out_as_it_went_in(message):
    assert list(Inbox().feed(encoded(message))) == [message]


@given(st.lists(st.integers(1, 400)))
def test_however_the_pipe_cuts_them_all_messages_come_out_in_order(cuts):
    data = b"".join(map(encoded, MESSAGES))
    inbox, found, start = Inbox(), [], 0
    for cut in cuts:
        found += inbox.feed(data[start : start + cut])
        start += cut
    found += inbox.feed(data[start:])
    assert tuple(found) == MESSAGES


@given(st.text(st.characters(), max_size=20))
def test_any_text_survives_even_unpaired_surrogates(text):
    assert list(Inbox().feed(encoded(Refused(text, 2)))) == [Refused(text, 2)]


def test_numbers_that_json_lacks_and_numpys_own_survive():
    odd = replace(a_sample(), call_ns=(math.inf, np.float64(2.5), np.int64(3)))
    verdict = a_verdict(sample=odd)
    (found,) = Inbox().feed(encoded(Found(verdict)))
    assert found.verdict.sample.call_ns == (math.inf, 2.5, 3)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 8,
        encoded(Begun("toys/a"))[:5] + b"[" * 30,
        encoded(Begun("toys/a")).replace(b'"case"', b'"cake"'),
        encoded(Finished())[:1] + b"\0\0\0\2" + b"\xff\xfe",
    ],
    ids=["no kind", "no JSON", "no such field", "no text"],
)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(GarbledError):
        list(Inbox().feed(data))


def test_a_message_that_is_cut_off_for_good_is_none():
    assert list(Inbox().feed(encoded(Found(a_verdict()))[:-1])) == []
