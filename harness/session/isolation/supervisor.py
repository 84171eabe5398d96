"""The process that outlives the cases: hears from a worker, ends it at the time limit, and goes on without the case."""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.environment import fingerprint
from harness.errors import ExitCode, HarnessError
from harness.model.verdict import Run
from harness.session.isolation import process, verdicts
from harness.session.isolation.errand import Errand
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
    Message,
    Partly,
    Refused,
    Spoilt,
)
from harness.session.isolation.verdicts import Ending, How
from harness.session.isolation.whereabouts import line_of
from harness.session.isolation.worker import MARK, Leftover, do_errand
from harness.session.record import Plan, PlannedWorkload, Progress, Record

__all__ = ["Hooks", "NothingRanError", "conduct_apart"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Who wants to know: ``progress`` of each case, ``tick`` ten times a second, ``dump`` each traceback of a process."""

    progress: Progress
    tick: Callable[[], None]
    dump: Callable[[str], None]


def conduct_apart(errand: Errand, hooks: Hooks) -> Run:
    """Verify every case in another process and return the record, also when the user interrupts.

    A case that is not done at the time limit, or whose process dies, is inconclusive and says where it was; the
    others are run in a new process, as they are after a case that broke the GPU for its own. Raises what choosing workloads and device raises, ``NothingRanError`` when that
    never came back, ``KeyboardInterrupt`` when it was interrupted. This process imports no workload and uses no
    device. It must have no other thread.
    """
    record = Record(hooks.progress)
    lost: list[PlannedWorkload] = []
    try:
        interrupted = False
        while not interrupted and _anything_left(errand, record, lost):
            interrupted = not _went_on(errand, record, lost, hooks)
    except KeyboardInterrupt:
        interrupted = True
    if interrupted and record.plan is None:
        raise KeyboardInterrupt
    record.plan = _whole_plan(record.plan, lost)
    return record.run(errand.terms, interrupted=interrupted)


def _anything_left(errand: Errand, record: Record, lost: Sequence[PlannedWorkload]) -> bool:
    if record.plan is not None:
        return bool(record.left)
    gone = {workload.name for workload in lost}
    return any(name.partition("/")[0] not in gone for name in errand.names)


def _went_on(errand: Errand, record: Record, lost: list[PlannedWorkload], hooks: Hooks) -> bool:
    """Let one worker do what is left, and account for what it lost; ``False`` when the user interrupted."""
    done = len(record.verdicts)
    ending = _one_worker(errand, record, lost, hooks)
    if ending.how is How.INTERRUPTED:
        return False
    if ending.how is How.FINISHED:
        for key in record.left:
            why = "the workload did not list it a second time"
            record.found(verdicts.not_run(key, why, record.plan))
        return True
    if ending.case:
        record.found(verdicts.lost_case(ending, record.partial, record.plan, errand))
    elif ending.workload and ending.how is not How.REFUSED:
        lost.append(PlannedWorkload(name=ending.workload, cases=(verdicts.NO_CASE,), whole=True))
        record.found(verdicts.lost_workload(ending, errand))
    if len(record.verdicts) == done:  # a new process would meet the same
        _give_up(ending, record, errand)
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


def _one_worker(
    errand: Errand, record: Record, lost: Sequence[PlannedWorkload], hooks: Hooks
) -> Ending:
    """Start a worker on what is left, and take in what it tells until it ends or is ended."""
    leftover = Leftover(done=record.keys, unusable=frozenset(one.name for one in lost))

    def work(messages: int, tracebacks: int) -> int:
        return do_errand(errand, leftover, messages=messages, tracebacks=tracebacks)

    child = process.start(work)
    worker = _Worker(child, errand.limit_s)
    try:
        how = _watch(worker, record, hooks)
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


def _watch(worker: _Worker, record: Record, hooks: Hooks) -> How:
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
                how = _take_in(worker, record, data)
                if how is not None:
                    return how
            elif child.tracebacks in ready:
                if not worker.read_traceback():
                    selector.unregister(child.tracebacks)
            elif died:
                return How.DIED
            elif worker.overdue():
                return How.TIME_LIMIT


def _take_in(worker: _Worker, record: Record, data: bytes) -> How | None:
    """Keep what came; the end of the worker, if it was told."""
    try:
        for message in worker.inbox.feed(data):
            how = _heard(worker, record, message)
            if how is not None:
                return how
    except GarbledError:
        return How.GARBLED
    return None


def _heard(worker: _Worker, record: Record, message: Message) -> How | None:
    match message:
        case Plan():
            record.plan = record.plan or message
        case Doing():
            worker.begin(doing=message.what, workload=message.workload)
            record.doing(message.what)
        case Begun():
            worker.begin(case=message.case)
            record.begun(message.case)
        case Partly():
            record.partly(message.verdict)
        case Found():
            worker.case, worker.doing = "", f"going on after {message.verdict.key}"
            record.found(message.verdict)
        case Measured():
            record.measured(message.copy, message.problem)
        case Refused() | Broke():
            worker.told = message
            return How.REFUSED if isinstance(message, Refused) else How.BROKE
        case Spoilt():
            return How.SPOILT
        case Finished():
            return How.FINISHED
        case Interrupted():
            return How.INTERRUPTED
    return None


def _give_up(ending: Ending, record: Record, errand: Errand) -> None:
    """No case was the last worker's to lose: say so of all that are left, or raise it where nothing was done."""
    if record.plan is None:
        if isinstance(ending.told, Refused):
            raise verdicts.refusal(ending.told)
        raise NothingRanError(f"no case was run: {verdicts.story(ending, errand)}")
    reason = verdicts.story(ending, errand)
    for key in record.left:
        record.found(verdicts.not_run(key, reason, record.plan))


def _whole_plan(plan: Plan | None, lost: list[PlannedWorkload]) -> Plan:
    """The plan with the workloads that could not be imported; without any other it has the machine's facts alone."""
    if plan is None:
        return Plan(
            environment=fingerprint(()), workloads=tuple(lost), traffic_device="", timing_device=""
        )
    known = {workload.name for workload in plan.workloads}
    more = tuple(workload for workload in lost if workload.name not in known)
    return Plan(
        environment=plan.environment,
        workloads=(*plan.workloads, *more),
        traffic_device=plan.traffic_device,
        timing_device=plan.timing_device,
        notes=plan.notes,
    )
