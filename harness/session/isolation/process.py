"""A forked process that cannot outlive this one: started, ended with all it has started, its end told in words."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NoReturn

from harness.errors import UnavailableError

__all__ = ["SUPPORTED", "Child", "ending_text", "start"]

SUPPORTED: Final = sys.platform == "linux"
"""Elsewhere a process that has loaded system libraries may not be forked (macOS), or not at all (Windows), and none
can be tied to the life of its parent."""

_POLL_S = 0.01
_PATIENCE_S = 5.0
"""For a process to die of SIGKILL: one that a driver holds in the kernel does not."""

_PR_SET_PDEATHSIG = 1
"""linux/prctl.h; the signal a process gets when its parent dies."""

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Work = Callable[[int, int], int]
"""What the child does, given the descriptors to write its messages and its tracebacks to; returns its exit status."""


class Child:
    """A process that leads a session of its own; ``messages`` and ``tracebacks`` are what it writes.

    ``life`` is the end of a pipe that must stay open in this process, and in no other, for as long as it may live.
    """

    def __init__(self, pid: int, *, messages: int, tracebacks: int, life: int) -> None:
        self.pid, self.messages, self.tracebacks = pid, messages, tracebacks
        self._life = life
        self.status: int | None = None

    def ended(self) -> bool:
        """Whether it has ended; ``status`` then is what ``subprocess`` would call its return code."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def wait(self, seconds: float) -> bool:
        """Whether it ends within so many seconds."""
        deadline = time.monotonic() + seconds
        while not self.ended():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def stop(self, grace_s: float) -> bool:
        """Ask it to stop, and end it when it does not within ``grace_s`` or the user insists; whether it is gone."""
        try:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            self.wait(grace_s)
        except KeyboardInterrupt:  # once more: without any grace
            pass
        return self.kill()

    def farewell(self, seconds: float) -> bool:
        """Let it end by itself, but no later than this; whether it is gone, with all it has started."""
        self.wait(seconds)
        return self.kill()

    def kill(self) -> bool:
        """End it and whatever it has started, at once; whether it is gone."""
        with suppress(ProcessLookupError, PermissionError):  # none, or only zombies, are left
            os.killpg(self.pid, signal.SIGKILL)
        return self.wait(_PATIENCE_S)

    def close(self) -> None:
        """Hear no more of it; should it still live, it ends now."""
        for descriptor in (self.messages, self.tracebacks, self._life):
            os.close(descriptor)


def start(work: Work) -> Child:
    """Fork a process that does ``work`` and nothing after it. Raises ``UnavailableError`` when there can be none.

    This process must have no thread but the one that calls, or the child may find a lock taken for ever.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    messages, tell = os.pipe()
    tracebacks, trace = os.pipe()
    parent_lives, life = os.pipe()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        pid = _forked()
        if not pid:
            os.close(life)
            _live(work, tell, trace, parent_lives=parent_lives, mask=mask)
    finally:
        for descriptor in (tell, trace, parent_lives):
            os.close(descriptor)
    child = Child(pid, messages=messages, tracebacks=tracebacks, life=life)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    except KeyboardInterrupt:  # it came meanwhile, and nobody else knows of the child yet
        child.kill()
        child.close()
        raise
    return child


def _forked() -> int:
    try:
        return os.fork()
    except OSError as error:
        raise UnavailableError(
            f"no process could be started for the cases: {error.strerror or error}; "
            "end other processes, or use --time-limit 0, which needs none"
        ) from error


def _live(work: Work, tell: int, trace: int, *, parent_lives: int, mask: set[int]) -> NoReturn:
    """The whole life of the child: nothing of the parent's story may go on here."""
    status = 1
    try:
        os.setsid()  # Ctrl-C is the parent's to handle, and all that is started here can be ended at once
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        _set_guard(parent_lives)
        os.close(parent_lives)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        status = work(tell, trace)
    except BaseException:  # noqa: BLE001 - there is nobody to raise it to
        traceback.print_exc()
    finally:
        os._exit(status)


def _set_guard(parent_lives: int) -> None:
    """Leave a process in this group that ends all of it, whatever it has started too, once the parent is gone.

    It is nobody's child here, so that code under test that waits for its children does not meet it.
    """
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return
    try:
        if not os.fork():
            _guard(parent_lives)
    finally:
        os._exit(0)


def _guard(parent_lives: int) -> NoReturn:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):  # whoever reads them waits until nobody has them open
        os.dup2(nowhere, descriptor)
    while os.read(parent_lives, 1):
        pass
    os.killpg(0, signal.SIGKILL)
    os._exit(1)


def ending_text(status: int) -> str:
    """How a process ended, from its return code: ``died of SIGSEGV``, ``ended itself with exit status 3``."""
    if status >= 0:
        return f"ended itself with exit status {status}"
    with suppress(ValueError):
        return f"died of {signal.Signals(-status).name}"
    return f"died of signal {-status}"
