"""The process in which the cases run: does one errand, tells how it goes, and writes down where it was when it hung."""

from __future__ import annotations

import atexit
import faulthandler
import os
import sys
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

from harness.devices.cuda_faults import fault_of
from harness.devices.registry import choose_devices
from harness.errors import HarnessError
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
    Interrupted,
    Measured,
    Message,
    Partly,
    Refused,
    Spoilt,
    encoded,
)

__all__ = ["MARK", "Leftover", "do_errand"]

MARK = b"\0"
"""Written before each thing that begins, so that a traceback is not taken for one of what comes next."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """What earlier workers have left: cases that are done, and workloads not to be imported again.

    Cases are ``workload/case``, workloads as they were given, without a pattern.
    """

    done: Collection[str] = ()
    unusable: Collection[str] = ()


def do_errand(errand: Errand, leftover: Leftover, *, messages: int, tracebacks: int) -> int:
    """Do the errand in this process and return its exit status; whatever happens is told, nothing is raised."""
    atexit._clear()  # what the supervisor has to do at its exit is not for here
    faulthandler.enable(tracebacks, all_threads=True)
    teller = _Teller(messages, tracebacks, errand.limit_s)
    try:
        _run(errand, leftover, teller)
        teller.tell(Finished())
    except _SpoiltError:
        teller.tell(Spoilt())
    except KeyboardInterrupt:
        teller.tell(Interrupted())
    except HarnessError as error:
        if errand.tracebacks:
            traceback.print_exc()
        teller.tell(Refused(str(error), int(error.exit_code)))
    except BaseException as error:  # noqa: BLE001 - a defect of the harness must not look like one of the workload
        traceback.print_exc()
        teller.tell(Broke(f"{type(error).__name__}: {' '.join(str(error).split())}"))
    finally:
        faulthandler.cancel_dump_traceback_later()
    # What the code under test left to be done at exit: temporary folders, worker processes.
    atexit._run_exitfuncs()
    teller.flush()
    return 0


class _SpoiltError(Exception):
    """The device is of no use to this process any more."""


def _run(errand: Errand, leftover: Leftover, teller: _Teller) -> None:
    selections = _selected(errand.names, leftover.unusable, teller.about)
    teller.doing(f"preparing device {errand.device}")
    devices = choose_devices(errand.device)
    teller.doing("asking what this machine is")
    teller.tell(plan_of(selections, devices))

    def note(error: Exception) -> None:
        if errand.tracebacks:
            traceback.print_exception(error)
        teller.spoilt = teller.spoilt or _spoils(error)

    run_cases(
        selections,
        devices,
        errand.settings,
        teller,
        done=leftover.done,
        on_fault=note,
    )


def _spoils(error: BaseException) -> bool:
    """Whether CUDA answers every call with this error from now on."""
    fault = fault_of(error)
    if fault is None and error.__cause__ is not None:
        return _spoils(error.__cause__)
    return fault is not None and fault.sticky


def _selected(
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


class _Teller:
    """Sends what it is told to the supervisor, and starts the time limit anew with each thing that begins."""

    def __init__(self, messages: int, tracebacks: int, limit_s: Callable[[str], float]) -> None:
        self._messages, self._tracebacks, self._limit_s = messages, tracebacks, limit_s
        self._pid = os.getpid()
        self.spoilt = False

    def tell(self, message: Message) -> None:
        """Send one message; what the code under test has printed by then goes first."""
        if os.getpid() != self._pid:
            os._exit(1)  # the code under test has forked, and its child has come out of the case
        self.flush()
        data = memoryview(encoded(message))
        while data:
            data = data[os.write(self._messages, data) :]

    def flush(self) -> None:
        """Send what was printed on its way."""
        for stream in (sys.stdout, sys.stderr):
            # The supervisor writes to the same place, and is the one to say that it is full or gone.
            with suppress(OSError, ValueError):
                stream.flush()

    def about(self, workload: str) -> None:
        """The import of a workload begins."""
        self._arm()
        self.tell(Doing("importing it and listing its cases", workload))

    def doing(self, what: str) -> None:
        """Something else between the cases begins."""
        self._arm()
        self.tell(Doing(what))

    def begun(self, case: str) -> None:
        """A case begins."""
        self._arm(case)
        self.tell(Begun(case))

    def partly(self, verdict: Verdict) -> None:
        """Some of a case is known."""
        self.tell(Partly(verdict))

    def found(self, verdict: Verdict) -> None:
        """A case is done; raises ``_SpoiltError`` when it was the last that this process can run."""
        self.tell(Found(verdict))
        if self.spoilt:
            raise _SpoiltError

    def measured(self, copy: CopyBandwidth | None, problem: str) -> None:
        """The copy bandwidth is known, or why not."""
        self.tell(Measured(copy, problem))

    def _arm(self, case: str = "") -> None:
        faulthandler.cancel_dump_traceback_later()
        os.write(self._tracebacks, MARK)
        # A thread of C writes it, which needs neither the GIL nor a signal: both may be what hangs.
        faulthandler.dump_traceback_later(self._limit_s(case), file=self._tracebacks)
