"""What a comparison says to its workers and hears from them: one JSON object per line over a socket."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from enum import Enum

import msgspec

from harness.devices.base import GpuIdentity
from harness.model.verdict import CheckResult

__all__ = [
    "Channel",
    "Close",
    "Done",
    "Enter",
    "Entered",
    "Expect",
    "Move",
    "Open",
    "Opened",
    "Refused",
    "Reply",
    "Request",
    "Time",
    "Timed",
    "Trouble",
    "Verified",
    "Verify",
]

_PART = 65_536
_LONGEST = 64 * 2**20
"""The longest line is a list of modules or the details of a check: kilobytes. More means that another program
writes into the socket."""


class Enter(msgspec.Struct, frozen=True, tag=True):
    """Take this import path (none: keep the interpreter's own, with ``more`` after it), folder and device.

    ``repository`` is the root of the working tree; nothing may be imported from it where ``tree`` is another.
    """

    path: list[str] | None
    more: list[str]
    device: str
    folder: str
    repository: str
    tree: str


class Entered(msgspec.Struct, frozen=True, tag=True):
    """The device chosen, its clock, and what the worker runs on."""

    device: str
    timer: str
    resolution_ns: float
    notes: list[str]
    identity: GpuIdentity | None
    platform: str


class Open(msgspec.Struct, frozen=True, tag=True):
    """Load a case and make its inputs from the seed; ``anywhere``: its module may be an installed one."""

    target: str
    case: str
    seed: int
    anywhere: bool


class Opened(msgspec.Struct, frozen=True, tag=True):
    """What the case says it is, the digests of its inputs, and the names of all cases of its workload."""

    parameters: Mapping[str, str]
    work: str
    inputs: Mapping[str, str]
    cases: list[str]


class Expect(msgspec.Struct, frozen=True, tag=True):
    """Ask the case's oracle, and leave what it expects in this file."""

    path: str


class Verify(msgspec.Struct, frozen=True, tag=True):
    """Call the case once and hold its outputs against the arrays in this file."""

    expected: str


class Verified(msgspec.Struct, frozen=True, tag=True):
    """What was found, the compiled modules of the repository that are loaded by now, and the digest of each module."""

    results: list[CheckResult]
    compiled: list[str]
    code: Mapping[str, str]


class Time(msgspec.Struct, frozen=True, tag=True):
    """Time so many calls."""

    calls: int


class Timed(msgspec.Struct, frozen=True, tag=True):
    """Nanoseconds all of them took."""

    elapsed_ns: float


class Move(msgspec.Struct, frozen=True, tag=True):
    """Let the next buffers land elsewhere."""

    seed: int


class Close(msgspec.Struct, frozen=True, tag=True):
    """Forget the case and its arrays."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """Done, and there is nothing to say."""


class Trouble(Enum):
    """The kinds of reasons why a worker does not do what it is asked."""

    USAGE = "usage"
    MISSING = "missing"
    BROKEN = "broken"
    CANNOT_TELL = "cannot tell"
    UNAVAILABLE = "unavailable"
    OUTPUT = "output"
    STRAY = "stray"
    DIED = "died"
    HUNG = "hung"


class Refused(msgspec.Struct, frozen=True, tag=True):
    """Why it could not be done."""

    trouble: Trouble
    text: str


Request = Enter | Open | Expect | Verify | Time | Move | Close
Reply = Entered | Opened | Verified | Timed | Done | Refused


class Channel:
    """One end of the socket between a comparison and a worker."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._pending = bytearray()

    def send(self, message: Request | Reply) -> None:
        """Write a message; ``OSError`` when nobody reads any more."""
        self._connection.sendall(msgspec.json.encode(message) + b"\n")

    def request(self) -> Request:
        """The next request; ``EOFError`` when there will be none."""
        return msgspec.json.decode(self._line(), type=Request)

    def reply(self, patience_s: float) -> Reply:
        """The next reply; ``TimeoutError`` after silence, ``EOFError`` when the worker is gone."""
        self._connection.settimeout(patience_s)
        return msgspec.json.decode(self._line(), type=Reply)

    def fileno(self) -> int:
        """The socket's number, to wait for several at once."""
        return self._connection.fileno()

    def close(self) -> None:
        """Hang up; the other end sees the end of its input."""
        self._connection.close()

    def _line(self) -> bytes:
        while (end := self._pending.find(b"\n")) < 0:
            part = self._connection.recv(_PART)
            if not part or len(self._pending) > _LONGEST:
                raise EOFError
            self._pending += part
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        return line
