"""The conversation with a worker: whole lines, a bounded wait, and an end that is noticed."""

import os
import socket
import threading

import pytest

from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.session.against import protocol
from harness.session.against.protocol import Channel, Trouble
from harness.session.against.worker import serve


@pytest.fixture
def ends():
    here, there = socket.socketpair()
    with here, there:
        yield Channel(here), Channel(there)


CHECK = CheckResult(check="values", outcome=Outcome.FAILED, summary="y is wrong", evidence="oracle")


@pytest.mark.parametrize(
    "reply",
    [
        protocol.Timed(0.1 + 0.2),
        protocol.Verified([CHECK], [], {"ops": "1a2b"}),
        protocol.Refused(Trouble.MISSING, "line\nbreak \u2264 \x00"),
        protocol.Opened({"n": "1"}, "", {"x": "float32[1] 00"}, ["a"] * 50_000),
    ],
)
def test_what_is_said_is_what_is_heard(ends, reply):
    one, other = ends
    speaker = threading.Thread(target=one.send, args=(reply,))
    speaker.start()
    assert other.reply(5.0) == reply
    speaker.join()


def test_two_messages_in_one_piece_are_two(ends):
    one, other = ends
    one.send(protocol.Timed(1.0))
    one.send(protocol.Timed(2.0))
    assert [other.reply(5.0).elapsed_ns, other.reply(5.0).elapsed_ns] == [1.0, 2.0]


def test_silence_is_waited_for_only_so_long(ends):
    with pytest.raises(TimeoutError):
        ends[1].reply(0.01)


def test_hanging_up_is_noticed(ends):
    ends[0].close()
    with pytest.raises(EOFError):
        ends[1].reply(5.0)


@pytest.fixture
def ask(ends):
    """A worker in a thread of this process."""
    here, there = ends
    thread = threading.Thread(target=serve, args=(there,))
    thread.start()

    def asked(request):
        here.send(request)
        return here.reply(30.0)

    yield asked
    here.close()
    thread.join(5.0)
    assert not thread.is_alive()


def test_an_unknown_device_and_a_missing_case_are_told_apart(ask, monkeypatch):
    import sys

    monkeypatch.setattr(sys, "path", list(sys.path))
    enter = protocol.Enter(
        list(sys.path), [], "gpu", os.getcwd(), "/no/repository", "/no/repository"
    )
    assert ask(enter).trouble is Trouble.USAGE
    enter = protocol.Enter(
        list(sys.path), [], "cpu", os.getcwd(), "/no/repository", "/no/repository"
    )
    assert ask(enter).timer == "perf_counter_ns"
    for target, trouble in [
        ("mlp", Trouble.MISSING),
        ("no_such_module:W", Trouble.MISSING),
        ("json:dumps", Trouble.MISSING),
    ]:
        reply = ask(protocol.Open(target, "no-such-case", 0, anywhere=True))
        assert reply.trouble is trouble
