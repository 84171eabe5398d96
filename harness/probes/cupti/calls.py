"""What each CUDA call can mean for traffic, decided by its name.

CUPTI numbers some 1,400 runtime and driver calls and adds more with each release, so the class of a call is
read off its name. A name that looks as if it mattered and fits no class is ``UNKNOWN``, never ``OTHER``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

__all__ = [
    "NO_TRAFFIC",
    "OBSERVED_AT_ENTRY",
    "Call",
    "CallClass",
    "call_named",
    "calls_by_id",
    "plain_name",
]


class CallClass(Enum):
    """What a call may do to the host or to the boundary; the value is how people read it."""

    COPY = "copy"
    MEMSET = "memset"
    SYNC = "host wait"
    POLL = "poll"
    ORDER = "ordering on the device"
    HOST_CALLBACK = "host callback"
    ALLOCATE = "allocation or release, may serialise"
    LOAD = "code loading, may serialise"
    MIGRATE = "hint on managed memory"
    MAP_HOST = "host memory mapped for the device"
    LAUNCH = "kernel launch"
    GRAPH_LAUNCH = "graph launch"
    GRAPH_EDIT = "work on a graph's description"
    BEGIN_CAPTURE = "begin of stream capture"
    END_CAPTURE = "end of stream capture"
    OTHER = "other"
    UNKNOWN = "unknown"


OBSERVED_AT_ENTRY = frozenset(
    {
        CallClass.COPY,
        CallClass.SYNC,
        CallClass.ALLOCATE,
        CallClass.HOST_CALLBACK,
        CallClass.GRAPH_LAUNCH,
    }
)
"""Classes whose Python line is taken on entry: what can cross or hold, never each kernel launch."""


@dataclass(frozen=True, slots=True)
class Call:
    """One CUDA call as people know it, ``cudaMemcpyAsync``, and its class."""

    name: str
    kind: CallClass


_SUFFIX = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
"""Version and per-thread-stream variants: ``cudaMemcpyAsync_ptsz_v7000``, ``cuMemcpyDtoH_v2_ptds``."""

_RULES = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (CallClass.GRAPH_LAUNCH, r"GraphLaunch$"),
        (CallClass.BEGIN_CAPTURE, r"StreamBegin(C|Rec)apture(?!ToCig)"),
        (CallClass.END_CAPTURE, r"StreamEndCapture$"),
        (CallClass.GRAPH_EDIT, r"^(da)?Graph(?!ics)|GraphMemTrim$"),
        (CallClass.SYNC, r"(Ctx|Thread|Device|Stream|Event)Synchronize$"),
        (CallClass.POLL, r"(Stream|Event)Query$"),
        (CallClass.HOST_CALLBACK, r"(LaunchHostFunc|StreamAddCallback)$"),
        (
            CallClass.ORDER,
            r"WaitEvent$|EventRecord(WithFlags)?$|RecordEvent$|ExternalSemaphoresAsync$"
            r"|Stream(Wait|Write)Value(32|64)$|StreamBatchMemOp$",
        ),
        (CallClass.COPY, r"^(da)?Memcpy"),
        (CallClass.MEMSET, r"^(da)?Memset"),
        (CallClass.MIGRATE, r"^(da)?Mem(Prefetch|Advise|Discard)|StreamAttachMemAsync$"),
        (CallClass.MAP_HOST, r"HostGetDevicePointer$"),
        (
            CallClass.ALLOCATE,
            r"^da(Malloc|Free|Host(Alloc|Register|Unregister))"
            r"|^Mem(Alloc|Free|HostAlloc|HostRegister|HostUnregister|Create$|Release$|Map|Unmap$)"
            r"|^MemAddress(Free|Reserve)$|^(Mipmapped)?Array(3D)?(Create|Destroy)$"
            r"|^(da)?MemPool(Create|Destroy|TrimTo)$",
        ),
        (CallClass.LOAD, r"^(da)?(Module|Library|Kernel|Func)(Load|Unload|GetFunction)"),
        (CallClass.LAUNCH, r"^(da)?Launch"),
    )
)
"""Tried in order on the name without its ``cu``; ``da`` begins what a runtime call has left of ``cuda``."""

_TELLING = re.compile(
    r"[Mm]emcpy|[Mm]emset|[Cc]opy|ynchron|[Aa]lloc|[Ff]ree|Query|Wait|HostFunc|AddCallback"
    r"|[Pp]refetch|[Mm]igrat|[Tt]ransfer|^(da)?\d+$|^reserved\d+$"
)
"""Words no call without traffic should carry, ``NO_TRAFFIC`` apart; and numbers that CUPTI gives no name."""

NO_TRAFFIC: Mapping[str, str] = {
    "cudaStreamCopyAttributes": "copies launch attributes between two stream handles, on the host",
    "cuStreamCopyAttributes": "copies launch attributes between two stream handles, on the host",
    "cuMemGetAllocationGranularity": "answers from a table",
    "cuMemGetAllocationPropertiesFromHandle": "reads back what an allocation was made with",
    "cuMemRetainAllocationHandle": "adds a reference to an allocation",
    "cuBinaryFree": "frees host memory of the compiler",
    "cuNNSetAllocator": "a retired hook that no driver calls",
    "cuLogicalEndpointQuery": "reads properties of a fabric endpoint",
}
"""Calls with a telling name that move nothing and wait for nothing, each with the reason."""

_SENTINELS = frozenset({"INVALID", "SIZE", "FORCE_INT"})


def plain_name(enum_name: str) -> str:
    """A call's name without version and stream variant: ``cudaMemcpyAsync_ptsz_v7000`` is ``cudaMemcpyAsync``."""
    return _SUFFIX.sub("", enum_name)


@lru_cache(maxsize=4096)
def call_named(enum_name: str) -> Call:
    """The call behind one of CUPTI's names; its class is ``UNKNOWN`` when it may matter and fits no rule."""
    name = plain_name(enum_name)
    stem = re.sub(r"^cu(64)?", "", name)
    for kind, pattern in _RULES:
        if pattern.search(stem):
            return Call(name, kind)
    telling = _TELLING.search(stem) and name not in NO_TRAFFIC
    return Call(name, CallClass.UNKNOWN if telling else CallClass.OTHER)


def calls_by_id(names: Iterable[tuple[str, int]]) -> dict[int, Call]:
    """Callback number to call, from the members of one of CUPTI's enums of callback numbers."""
    return {number: call_named(name) for name, number in names if name not in _SENTINELS}
