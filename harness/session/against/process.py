"""A worker process as the comparison sees it: started, asked, and gone for certain afterwards."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import harness
from harness.errors import HarnessError, OutputError, UnavailableError, UsageError
from harness.session.against import protocol
from harness.session.against.protocol import Trouble
from harness.session.isolation.whereabouts import line_of
from harness.units import duration_text

__all__ = ["Launch", "Side", "Worker", "WorkerError", "start"]

_Reply = TypeVar(
    "_Reply", protocol.Entered, protocol.Opened, protocol.Verified, protocol.Timed, protocol.Done
)

_FAREWELL_S = 0.5
"""A worker ends at once when its socket closes, unless the code under test is running; nobody waits for that."""

_START_S = 60.0
"""Starting is the harness's own doing and takes half a second, a hundred times that where everything is busy."""

_DEATH_S = 5.0
"""A process whose socket is closed is about to be gone; one that dumps a large core takes some seconds."""

_DUMP_S = 0.5
"""Writing down the stacks of all threads takes a millisecond, and no Python runs for it."""

_START = """
import importlib.util, sys
init, folder = sys.argv[1:3]
spec = importlib.util.spec_from_file_location("harness", init, submodule_search_locations=[folder])
sys.modules["harness"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from harness.session.against.worker import main
main()
"""
"""Loads the harness from where this process has it, without the rest of that folder coming onto the import path:
there may lie another environment's packages, or the other side's code."""


class Side(Enum):
    """Whose code a worker runs."""

    CANDIDATE = "candidate"
    BASELINE = "baseline"


class WorkerError(HarnessError):
    """A side could not do what it was asked: one line, with the side and the kind of trouble.

    ``status`` is the return code of a process that died.
    """

    def __init__(
        self, text: str, *, side: Side, trouble: Trouble, status: int | None = None
    ) -> None:
        super().__init__(text)
        self.side, self.trouble, self.status = side, trouble, status


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a side is started: interpreter, working folder, import path and where it logs."""

    side: Side
    python: str
    folder: Path
    log: Path
    enter: protocol.Enter
    patience_s: float


def start(*launches: Launch) -> list[Worker]:
    """A worker per launch, all in one process, which is started as the first one says; nobody waits for it.

    Raises ``UsageError`` for an interpreter that cannot be started.
    """
    pairs = [socket.socketpair() for _ in launches]
    try:
        process = _started(launches[0], [theirs for _, theirs in pairs])
    except BaseException:
        for ours, _ in pairs:
            ours.close()
        raise
    finally:
        for _, theirs in pairs:
            theirs.close()
    return [
        Worker(launch, process, protocol.Channel(ours), log=launches[0].log)
        for launch, (ours, _) in zip(launches, pairs, strict=True)
    ]


class Worker:
    """One side in a running process, which ends when one of its sides is closed, whatever it is doing."""

    def __init__(
        self,
        launch: Launch,
        process: subprocess.Popen[bytes],
        channel: protocol.Channel,
        *,
        log: Path,
    ) -> None:
        self._launch, self._process, self._channel, self._log = launch, process, channel, log

    @property
    def side(self) -> Side:
        """Whose code it runs."""
        return self._launch.side

    @cached_property
    def entered(self) -> protocol.Entered:
        """The device it works on, which it enters when first asked.

        Raises ``UsageError`` for an interpreter that cannot run the harness, ``UnavailableError`` for a device
        that is not there, ``WorkerError`` for anything else.
        """
        return self._enter()

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def ask(self, request: protocol.Request, kind: type[_Reply]) -> _Reply:
        """The reply to a request; ``WorkerError`` when it is refused, the worker dies, or is silent for too long.

        Raises ``OutputError`` when there is no room for what it was to write.
        """
        entering = isinstance(request, protocol.Enter)
        patience_s = max(_START_S if entering else 0.0, self._launch.patience_s)
        try:
            self._channel.send(request)
            reply = self._channel.reply(patience_s)
        except TimeoutError:
            what = f"did not answer within {duration_text(patience_s * 1e9)} when asked to"
            asked = f"{type(request).__name__.lower()}{self._whereabouts()}"
            raise self._error(Trouble.HUNG, f"{what} {asked}") from None
        except (EOFError, OSError):
            words = self._last_words()
            raise self._error(Trouble.DIED, words, self._process.poll()) from None
        if isinstance(reply, protocol.Refused) and reply.trouble is Trouble.OUTPUT:
            raise OutputError(reply.text)
        if isinstance(reply, protocol.Refused):
            raise self._error(reply.trouble, reply.text)
        assert isinstance(reply, kind), f"{type(request).__name__} answered by {reply!r}"
        return reply

    def close(self) -> None:
        """End the process: by hanging up, and if it does not go by itself, by force. Any number of times."""
        self._channel.close()
        try:
            self._process.wait(_FAREWELL_S)
        except subprocess.TimeoutExpired:
            self._kill()
        except BaseException:  # interrupted while waiting: nothing may be left behind
            self._kill()
            raise

    def _kill(self) -> None:
        """The process and what it started: it leads a group of its own."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _enter(self) -> protocol.Entered:
        try:
            return self.ask(self._launch.enter, protocol.Entered)
        except WorkerError as error:
            match error.trouble:
                case Trouble.USAGE:
                    raise UsageError(str(error)) from None
                case Trouble.UNAVAILABLE:
                    raise UnavailableError(str(error)) from None
                case Trouble.DIED if self._launch.python != sys.executable:
                    raise UsageError(
                        f"--python {self._launch.python} cannot run the harness: {error}; "
                        "install ondevice-harness and the ref in its environment"
                    ) from None
            raise UnavailableError(
                f"the process of the {self.side.value} cannot start: {error}"
            ) from None

    def _error(self, trouble: Trouble, text: str, status: int | None = None) -> WorkerError:
        return WorkerError(text, side=self.side, trouble=trouble, status=status)

    def _whereabouts(self) -> str:
        """The line of user code at which the process hangs, where it can still say."""
        before = self._log.stat().st_size
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGUSR1)
        time.sleep(_DUMP_S)
        site = line_of(self._log.read_bytes()[before:].decode("utf-8", "replace"), main_thread=0)
        return "" if site is None else f": it hangs at {site}"

    def _last_words(self) -> str:
        """How the process ended, and the last line it wrote."""
        try:
            status = self._process.wait(_DEATH_S)
        except subprocess.TimeoutExpired:
            return "the process hung up but goes on"
        how = f"ended with status {status}"
        if status < 0:
            how = f"was ended by {signal.Signals(-status).name}"
        if status == -signal.SIGKILL:
            how += ", as the system does when memory runs out"
        lines = self._log.read_text("utf-8", "replace").strip().splitlines()
        return f"its process {how}: {lines[-1].strip()}" if lines else f"its process {how}"


def _started(launch: Launch, connections: Sequence[socket.socket]) -> subprocess.Popen[bytes]:
    init = Path(harness.__file__)
    descriptors = [connection.fileno() for connection in connections]
    with launch.log.open("ab") as log:
        try:
            return subprocess.Popen(
                [launch.python, "-P", "-c", _START, init, init.parent, *map(str, descriptors)],
                cwd=launch.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=descriptors,
                start_new_session=True,  # Ctrl-C is the comparison's to handle
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(f"--python {launch.python} cannot be run: {reason}") from None
