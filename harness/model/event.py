"""Events: what a probe saw once, each with the line of user code that caused it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = [
    "Allocation",
    "Direction",
    "Event",
    "EventType",
    "Kernel",
    "MemoryKind",
    "Memset",
    "Site",
    "Sync",
    "SyncKind",
    "Transfer",
]


class Direction(Enum):
    """Which way a copy goes. Taken from the record of the copy, never from an API's ``kind`` argument."""

    HOST_TO_DEVICE = "H2D"
    DEVICE_TO_HOST = "D2H"
    DEVICE_TO_DEVICE = "D2D"
    HOST_TO_HOST = "H2H"
    PEER_TO_PEER = "P2P"


class MemoryKind(Enum):
    """The memory on one side of a copy; pageable host memory makes an "async" copy block."""

    PAGEABLE = "pageable"
    PINNED = "pinned"
    DEVICE = "device"
    ARRAY = "array"
    MANAGED = "managed"
    UNKNOWN = "unknown"


class SyncKind(Enum):
    """What the host waited for; or, with a host callback, that the device waits for the host."""

    STREAM = "stream"
    EVENT = "event"
    DEVICE = "device"
    HOST_CALLBACK = "host callback"


class EventType(Enum):
    """The kinds of event a probe may or may not be able to see."""

    TRANSFER = "transfer"
    SYNC = "sync"
    MEMSET = "memset"
    KERNEL = "kernel"
    ALLOCATION = "allocation"


@dataclass(frozen=True, slots=True)
class Site:
    """The line of user code an event comes from."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing a probe saw, in order of its launch on the host.

    ``regions`` are the regions open when it was launched, outermost first. ``start_ns`` counts from the
    start of the trace and ``host_ns`` is how long the call kept the host; ``device_start_ns`` (from the same start) and
    ``device_ns`` are when and how long the device worked on it. All are ``None`` when not measured.
    """

    api: str
    regions: tuple[str, ...] = ()
    site: Site | None = None
    stream: int = 0
    start_ns: int | None = None
    host_ns: int | None = None
    device_start_ns: int | None = None
    device_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer(Event):
    """One copy of ``size_bytes``.

    ``blocking`` means the copy call itself holds the host: a synchronous copy, or an "async" one with
    pageable memory on the host side. Such a block leaves no ``Sync`` behind.
    """

    direction: Direction
    size_bytes: int
    source: MemoryKind
    destination: MemoryKind
    blocking: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync(Event):
    """One explicit wait of one side for the other. Polling and stream-wait-event are not waits.

    The host waits for the device, but for ``SyncKind.HOST_CALLBACK``: there the stream goes on only after a
    function has run on the host, whose thread may be busy or waiting for the GIL.
    """

    kind: SyncKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Memset(Event):
    """One fill of ``size_bytes`` by the copy engine's memset, not by a kernel."""

    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel(Event):
    """One kernel launch; ``api`` is the kernel's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation(Event):
    """One allocation of ``size_bytes`` of ``memory``."""

    size_bytes: int
    memory: MemoryKind
