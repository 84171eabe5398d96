"""The process in which the cases run: does one errand, tells how it goes, and writes down where it was when it hung."""

from __future__ import annotations

import atexit
import faulthandler
import os
import sys
import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from harness.devices.cuda_faults import fault_of
from harness.devices.registry import choose_devices
from harness.errors import HarnessError
from harness.model.conditions import MatmulRate
from harness.model.measurement import CopyBandwidth
from harness.model.verdict import Verdict
from harness.session.catalogue import Selection, select
from harness.session.conduct import plan_of, run_cases
from harness.session.isolation.errand import Errand
from harness.session.isolation.messages import (
    Begun,
    Broke,
    Doing,
    Finished,
    Found,
    Inbox,
    Interrupted,
    Item,
    Measured,
    Message,
    Partly,
    Refused,
    Spoilt,
    Stage,
    built_in,
    encoded,
)

__all__ = ["MARK", "Leftover", "Teller", "Work", "do_here", "do_work", "selected", "verification"]

MARK = b"\0"
"""Written before each thing that begins, so that a traceback is not taken for one of what comes next."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """What earlier workers have left: cases that are done, and workloads not to be imported again.

    Cases are ``workload/case``, workloads as they were given, without a pattern.
    """

    done: Collection[str] = ()
    unusable: Collection[str] = ()


Work = Callable[["Teller"], None]
"""An errand, given whom to tell."""


def do_work(
    work: Work,
    limit_s: Callable[[str], float],
    *,
    messages: int,
    tracebacks: int,
    shown: bool = False,
) -> int:
    """Do the work in this process and return its exit status; whatever happens is told, nothing is raised.

    With ``shown`` the exceptions of workloads are printed on standard error.
    """
    atexit._clear()  # what the supervisor has to do at its exit is not for here
    faulthandler.enable(tracebacks, all_threads=True)
    teller = Teller(_Pipe(messages, tracebacks, limit_s), shown=shown)
    try:
        work(teller)
        teller.tell(Finished())
    except _SpoiltError:
        teller.tell(Spoilt())
    except KeyboardInterrupt:
        teller.tell(Interrupted())
    except HarnessError as error:
        if shown:
            traceback.print_exc()
        teller.tell(Refused(str(error), int(error.exit_code)))
    except BaseException as error:  # noqa: BLE001 - a defect of the harness must not look like one of the workload
        traceback.print_exc()
        teller.tell(Broke(f"{type(error).__name__}: {' '.join(str(error).split())}"))
    finally:
        faulthandler.cancel_dump_traceback_later()
    # What the code under test left to be done at exit: temporary folders, worker processes.
    atexit._run_exitfuncs()
    _flush()
    return 0


def do_here(work: Work, hear: Callable[[Message], object], *, shown: bool = False) -> None:
    """Do the work in this process, for debuggers and profilers; ``hear`` is told as over a pipe."""
    teller = Teller(_Direct(hear), shown=shown)
    with suppress(_SpoiltError):
        work(teller)


class _SpoiltError(Exception):
    """The device is of no use to this process any more."""


def verification(errand: Errand, leftover: Leftover) -> Work:
    """The work of ``harness run``: verify and time what is left."""

    def work(teller: Teller) -> None:
        selections = selected(errand.names, leftover.unusable, teller.about)
        teller.doing(f"preparing device {errand.device}")
        devices = choose_devices(errand.device)
        teller.doing("asking what this machine is")
        teller.tell(plan_of(selections, devices))
        run_cases(
            selections,
            devices,
            errand.settings,
            teller,
            done=leftover.done,
            on_fault=teller.fault,
        )

    return work


def _spoils(error: BaseException) -> bool:
    """Whether CUDA answers every call with this error from now on."""
    fault = fault_of(error)
    if fault is None and error.__cause__ is not None:
        return _spoils(error.__cause__)
    return fault is not None and fault.sticky


def selected(
    names: Collection[str], unusable: Collection[str], about: Callable[[str], None]
) -> tuple[Selection, ...]:
    """The workloads one by one, so that it is known which one's import never came back."""
    usable = [name for name in names if name.partition("/")[0] not in unusable]
    found: list[Selection] = []
    for name in usable:
        about(name.partition("/")[0])
        found += select((name,))
    if len({selection.name for selection in found}) < len(found):
        return select(usable)  # which joins the cases of a workload that was named twice
    return tuple(found)


class _Wire(Protocol):
    """The way from an errand to who supervises it."""

    def send(self, message: Message) -> None: ...

    def arm(self, case: str) -> None: ...


class _Pipe:
    """To another process, which ends this one when the time limit, started anew by ``arm``, is over."""

    def __init__(self, messages: int, tracebacks: int, limit_s: Callable[[str], float]) -> None:
        self._messages, self._tracebacks, self._limit_s = messages, tracebacks, limit_s
        self._pid = os.getpid()

    def send(self, message: Message) -> None:
        """Send one message; what the code under test has printed by then goes first."""
        if os.getpid() != self._pid:
            os._exit(1)  # the code under test has forked, and its child has come out of the case
        _flush()
        data = memoryview(encoded(message))
        while data:
            data = data[os.write(self._messages, data) :]

    def arm(self, case: str) -> None:
        """Start the time limit anew."""
        faulthandler.cancel_dump_traceback_later()
        os.write(self._tracebacks, MARK)
        # A thread of C writes it, which needs neither the GIL nor a signal: both may be what hangs.
        faulthandler.dump_traceback_later(self._limit_s(case), file=self._tracebacks)


class _Direct:
    """Within one process, in the same form as over a pipe."""

    def __init__(self, hear: Callable[[Message], object]) -> None:
        self._hear, self._inbox = hear, Inbox()

    def send(self, message: Message) -> None:
        """Let it be heard at once."""
        for heard in self._inbox.feed(encoded(message)):
            self._hear(heard)

    def arm(self, case: str) -> None:
        """No time limit holds here."""


class Teller:
    """Puts into messages how an errand goes."""

    def __init__(self, wire: _Wire, *, shown: bool) -> None:
        self._wire, self._shown = wire, shown
        self._spoilt = False

    def tell(self, message: Message) -> None:
        """Send one message as it is."""
        self._wire.send(message)

    def about(self, workload: str) -> None:
        """The import of a workload begins."""
        self._wire.arm("")
        self.tell(Doing("importing it and listing its cases", workload))

    def doing(self, what: str) -> None:
        """Something else between the cases begins."""
        self._wire.arm("")
        self.tell(Doing(what))

    def begun(self, case: str) -> None:
        """A case begins, or goes on after a step that has a time limit of its own."""
        self._wire.arm(case)
        self.tell(Begun(case))

    def stage(self, what: str) -> None:
        """What is done about the case that runs."""
        self.tell(Stage(what))

    def partly(self, verdict: Verdict) -> None:
        """Some of a case is known."""
        self.tell(Partly(verdict))

    def found(self, verdict: Verdict) -> None:
        """A case is done; raises ``_SpoiltError`` when it was the last that this process can run."""
        self.tell(Found(verdict))
        self._rest()

    def item(self, kind: str, body: object, *, done: bool = False) -> None:
        """What only the errand can read; with ``done`` as ``found``."""
        self.tell(Item(kind, built_in(body), done))
        if done:
            self._rest()

    def measured(
        self, copy: CopyBandwidth | None, matmul: MatmulRate | None, problems: Sequence[str]
    ) -> None:
        """The roofs of the timing device are known, or why not."""
        self.tell(Measured(copy, matmul, tuple(problems)))

    def fault(self, error: BaseException) -> None:
        """What a workload raised: shown if wanted, and looked at for what it did to the device."""
        if self._shown:
            traceback.print_exception(error)
        self._spoilt = self._spoilt or _spoils(error)

    def _rest(self) -> None:
        if self._spoilt:
            raise _SpoiltError


def _flush() -> None:
    """Send what was printed on its way."""
    for stream in (sys.stdout, sys.stderr):
        # The supervisor writes to the same place, and is the one to say that it is full or gone.
        with suppress(OSError, ValueError):
            stream.flush()
