"""The process that outlives the cases: hears from a worker, ends it at the time limit, and goes on without the case."""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from harness.errors import ExitCode, HarnessError
from harness.session.isolation import process, verdicts
from harness.session.isolation.account import Account, Hooks, Order
from harness.session.isolation.errand import Limits
from harness.session.isolation.messages import (
    Begun,
    Broke,
    Doing,
    Finished,
    Found,
    GarbledError,
    Inbox,
    Interrupted,
    Item,
    Message,
    Refused,
    Spoilt,
    Stage,
)
from harness.session.isolation.verdicts import Ending, How
from harness.session.isolation.whereabouts import line_of
from harness.session.isolation.worker import MARK, Leftover, do_here, do_work

__all__ = ["NothingRanError", "carry_out", "carry_out_here"]

_TICK_S = 0.1
"""How often a display is refreshed, and at the latest a death noticed."""

_LATE_S = 1.0
"""The worker writes down where it is when the limit is over; it is ended a second later even if it cannot."""

_QUIET_S = 0.1
"""A traceback is written in one go: with nothing more for so long it is whole."""

_GRACE_S = 1.0
"""For the code under test to tidy up when it is asked to stop."""

_FAREWELL_S = 5.0
"""For what the code under test does at exit, once all is told."""

_PART = 65_536


class NothingRanError(HarnessError):
    """The worker hung or died before there was any case to tell of."""

    exit_code = ExitCode.INCONCLUSIVE


def carry_out(order: Order, account: Account, hooks: Hooks) -> bool:
    """Have the order done in other processes; ``False`` when it was interrupted before its end.

    A case that is not done at the time limit, or whose process dies, is accounted for as lost, and the others are
    run in a new process, as they are after a case that broke the GPU for its own. Raises what choosing workloads and
    device raises, ``NothingRanError`` when that never came back, ``KeyboardInterrupt`` when interrupted before it was
    known which cases there are. This process imports no workload and uses no device. It must have no other thread.
    """
    lost: set[str] = set()
    try:
        while _anything_left(order, account, lost):
            if not _went_on(order, account, lost, hooks):
                return _interrupted(account)
    except KeyboardInterrupt:
        return _interrupted(account)
    return True


def carry_out_here(order: Order, account: Account) -> bool:
    """The same in this process and without a limit: what hangs or crashes takes everything along."""
    try:
        do_here(order.work(Leftover()), account.hear, shown=order.tracebacks)
    except KeyboardInterrupt:
        return _interrupted(account)
    for key in account.left:
        account.not_run(key, "the device is of no use any more after the case before")
    return True


def _interrupted(account: Account) -> bool:
    if not account.planned:
        raise KeyboardInterrupt
    return False


def _anything_left(order: Order, account: Account, lost: Collection[str]) -> bool:
    if account.planned:
        return bool(account.left)
    return any(name.partition("/")[0] not in lost for name in order.names)


def _went_on(order: Order, account: Account, lost: set[str], hooks: Hooks) -> bool:
    """Let one worker do what is left, and account for what it lost; ``False`` when the user interrupted."""
    before = account.told
    ending = _one_worker(order, account, lost, hooks)
    if ending.how is How.INTERRUPTED:
        return False
    if ending.how is How.FINISHED:
        for key in account.left:
            account.not_run(key, "the workload did not list it a second time")
        return True
    if ending.case:
        account.lost_case(ending)
    elif ending.workload and ending.how is not How.REFUSED:
        lost.add(ending.workload)
        account.lost_workload(ending)
    if account.told == before:  # a new process would meet the same
        _give_up(ending, account, order.limits)
    return True


@dataclass(slots=True)
class _Worker:
    """A worker as it is watched: what it does now, until when it may, and what it has written."""

    child: process.Child
    limit_s: Callable[[str], float]
    inbox: Inbox = field(default_factory=Inbox)
    traceback: bytearray = field(default_factory=bytearray)
    deadline: float = 0.0
    case: str = ""
    doing: str = "starting"
    workload: str = ""
    told: Message | None = None

    def begin(self, *, case: str = "", doing: str = "", workload: str = "") -> None:
        """Something new begins, and with it the time limit."""
        self.case, self.doing, self.workload = case, doing, workload
        self.deadline = time.monotonic() + self.limit_s(case) + _LATE_S

    def read_traceback(self) -> bool:
        """Take in what is there of a traceback; whether there may be more to come.

        What stands before a mark is of something that has ended well.
        """
        try:
            data = os.read(self.child.tracebacks, _PART)
        except BlockingIOError:
            return True
        self.traceback += data
        if MARK in data:
            del self.traceback[: self.traceback.rindex(MARK) + 1]
        return bool(data)

    def overdue(self) -> bool:
        """Whether the limit is over: it has written down where it is, or should have by now."""
        now = time.monotonic()
        if now < self.deadline and b"Timeout (" in self.traceback:
            self.deadline = min(self.deadline, now + _QUIET_S)
        return now >= self.deadline


def _one_worker(order: Order, account: Account, lost: Collection[str], hooks: Hooks) -> Ending:
    """Start a worker on what is left, and take in what it tells until it ends or is ended."""
    work = order.work(Leftover(done=frozenset(account.keys), unusable=frozenset(lost)))
    limit_s = order.limits.limit_s

    def live(messages: int, tracebacks: int) -> int:
        return do_work(
            work, limit_s, messages=messages, tracebacks=tracebacks, shown=order.tracebacks
        )

    child = process.start(live)
    worker = _Worker(child, limit_s)
    try:
        how = _watch(worker, account, hooks)
        ended = how not in (How.TIME_LIMIT, How.GARBLED)
        gone = child.farewell(_FAREWELL_S) if ended else child.stop(_GRACE_S)
    except KeyboardInterrupt:
        how, gone = How.INTERRUPTED, child.stop(_GRACE_S)
    except BaseException:
        child.kill()
        raise
    finally:
        child.close()
    dump = worker.traceback.decode("utf-8", "replace")
    if dump:
        hooks.dump(dump)
    return Ending(
        how=how,
        case=worker.case,
        doing=worker.doing,
        workload=worker.workload,
        status=child.status,
        held=None if gone else child.pid,
        site=line_of(dump, main_thread=threading.get_ident()),
        told=worker.told,
    )


def _watch(worker: _Worker, account: Account, hooks: Hooks) -> How:
    """Hear the worker until it has told its end, has died, or has run out of time."""
    child = worker.child
    os.set_blocking(child.tracebacks, False)
    worker.begin(doing="starting")
    with selectors.DefaultSelector() as selector:
        selector.register(child.messages, selectors.EVENT_READ)
        selector.register(child.tracebacks, selectors.EVENT_READ)
        while True:
            died = child.ended()  # asked first: what it wrote before is still to be read
            ready = [key.fd for key, _ in selector.select(0 if died else _TICK_S)]
            hooks.tick()
            if child.messages in ready:
                data = os.read(child.messages, _PART)
                if not data:
                    selector.unregister(child.messages)
                how = _take_in(worker, account, data, hooks)
                if how is not None:
                    return how
            elif child.tracebacks in ready:
                if not worker.read_traceback():
                    selector.unregister(child.tracebacks)
            elif died:
                return How.DIED
            elif worker.overdue():
                return How.TIME_LIMIT


def _take_in(worker: _Worker, account: Account, data: bytes, hooks: Hooks) -> How | None:
    """Keep what came; the end of the worker, if it was told."""
    try:
        for message in worker.inbox.feed(data):
            if isinstance(message, Doing | Stage):
                hooks.stage(message.what)
            how = _heard(worker, account, message)
            if how is not None:
                return how
    except GarbledError:
        return How.GARBLED
    return None


def _heard(worker: _Worker, account: Account, message: Message) -> How | None:
    """What a message means for the worker; what it means for the cases is the account's."""
    match message:
        case Doing():
            worker.begin(doing=message.what, workload=message.workload)
        case Begun():
            worker.begin(case=message.case)
        case Found():
            worker.case, worker.doing = "", f"going on after {message.verdict.key}"
        case Item() if message.done:
            worker.case, worker.doing = "", f"going on after {worker.case}"
        case Refused() | Broke():
            worker.told = message
            return How.REFUSED if isinstance(message, Refused) else How.BROKE
        case Spoilt():
            return How.SPOILT
        case Finished():
            return How.FINISHED
        case Interrupted():
            return How.INTERRUPTED
    account.hear(message)
    return None


def _give_up(ending: Ending, account: Account, limits: Limits) -> None:
    """No case was the last worker's to lose: say so of all that are left, or raise it where nothing was done."""
    reason = verdicts.story(ending, limits)
    if not account.planned:
        if isinstance(ending.told, Refused):
            raise verdicts.refusal(ending.told)
        raise NothingRanError(f"no case was run: {reason}")
    for key in account.left:
        account.not_run(key, reason)
