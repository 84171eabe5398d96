"""What a worker tells its supervisor: JSON objects, each behind its kind and its length, over a pipe."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, get_args

import msgspec

from harness.model.conditions import MatmulRate
from harness.model.measurement import CopyBandwidth
from harness.model.verdict import Verdict
from harness.session.record import Plan

__all__ = [
    "Begun",
    "Broke",
    "Doing",
    "Finished",
    "Found",
    "GarbledError",
    "Inbox",
    "Interrupted",
    "Item",
    "Measured",
    "Message",
    "Partly",
    "Refused",
    "Spoilt",
    "Stage",
    "built_in",
    "encoded",
]


@dataclass(frozen=True, slots=True)
class Doing:
    """Something outside of any case begins; ``workload`` is the name given for the one it is about, if any."""

    what: str
    workload: str = ""


@dataclass(frozen=True, slots=True)
class Begun:
    """A case begins."""

    case: str


@dataclass(frozen=True, slots=True)
class Stage:
    """What is being done about the case that runs; its time limit goes on."""

    what: str


@dataclass(frozen=True, slots=True)
class Item:
    """Something only the errand itself knows how to read, by its kind; ``done``: the case that runs ends with it."""

    kind: str
    body: Any
    done: bool = False


@dataclass(frozen=True, slots=True)
class Partly:
    """So much is known about the case that runs."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Found:
    """A case is done."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Measured:
    """How fast the timing device copies and multiplies, and why what is missing is not known."""

    copy: CopyBandwidth | None
    matmul: MatmulRate | None
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The errand cannot be done: the text and the exit status of a ``HarnessError``."""

    text: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class Broke:
    """The harness itself failed; the traceback is on standard error."""

    text: str


@dataclass(frozen=True, slots=True)
class Spoilt:
    """After what a case has done to the device, no other can be run in this process."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker was asked to stop, or its workload behaved as if."""


@dataclass(frozen=True, slots=True)
class Finished:
    """All cases are done."""


Message = (
    Plan
    | Doing
    | Begun
    | Stage
    | Item
    | Partly
    | Found
    | Measured
    | Refused
    | Broke
    | Spoilt
    | Interrupted
    | Finished
)

_KINDS: tuple[type[Any], ...] = get_args(Message)
_HEADER = struct.Struct(">BI")
"""The number of the kind and the length of the object in bytes; a verdict of 4 GiB does not exist."""


class GarbledError(ValueError):
    """Something that is no message came through the pipe: the code under test wrote into it."""


def encoded(message: Message) -> bytes:
    """The bytes of a message. JSON as Python writes it, which keeps infinities, NaN and unpaired surrogates."""
    body = json.dumps(built_in(message)).encode("ascii")
    return _HEADER.pack(_KINDS.index(type(message)), len(body)) + body


def built_in(value: object) -> Any:
    """Dictionaries, lists, texts and numbers that say the same; ``msgspec.convert`` is the way back."""
    return msgspec.to_builtins(value, enc_hook=_builtin)


class Inbox:
    """Bytes as they come, to messages; what is cut off waits for the rest."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are whole now; ``GarbledError`` for what is none."""
        self._data += data
        while len(self._data) >= _HEADER.size:
            number, length = _HEADER.unpack_from(self._data)
            if number >= len(_KINDS):
                raise GarbledError(f"no message is of kind {number}")
            end = _HEADER.size + length
            if len(self._data) < end:
                return
            body = bytes(self._data[_HEADER.size : end])
            del self._data[:end]
            yield _decoded(body, _KINDS[number])


def _decoded(body: bytes, kind: type[Any]) -> Message:
    try:
        message: Message = msgspec.convert(json.loads(body), kind)
    except ValueError as error:  # msgspec's errors and those of json and UTF-8 are ValueErrors
        raise GarbledError(f"no {kind.__name__} can be made of {body[:80]!r}: {error}") from error
    return message


def _builtin(value: object) -> Any:
    """What msgspec does not write itself: NumPy's numbers, and mappings other than dict."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a verdict cannot hold {type(value).__name__}")
