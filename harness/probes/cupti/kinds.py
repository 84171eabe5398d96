"""CUPTI's numbers as this probe uses them, under CUPTI's own names.

Each enum here repeats one of CUPTI's, member for member; a test holds them against the installed package and
fails on a number or a name that is missing here. Source: ``cupti_activity.h`` of CUDA 13; of what is used, CUDA
12 lacks ``GRAPH_HOST_NODE`` and differs in nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from harness.model.event import Direction, MemoryKind, SyncKind

__all__ = [
    "DIRECTIONS",
    "ENABLED",
    "HOST_KINDS",
    "MEMCPY_ASYNC",
    "MEMORY_KINDS",
    "NEVER_ENABLED",
    "REQUIRED",
    "WAITS",
    "ActivityKind",
    "ActivityMemcpyKind",
    "ActivityMemoryKind",
    "ActivityMemoryOperationType",
    "ActivitySynchronizationType",
    "ActivityUnifiedMemoryCounterKind",
    "ApiCallbackSite",
    "CallbackDomain",
]

MEMCPY_ASYNC = 1
"""``ActivityFlag.MEMCPY_ASYNC``: the copy was asked not to block."""


class ActivityKind(IntEnum):
    """The kinds of record this probe asks for or must recognise; all others are in ``NEVER_ENABLED``."""

    MEMCPY = 1
    MEMSET = 2
    KERNEL = 3
    DRIVER = 4
    RUNTIME = 5
    CONCURRENT_KERNEL = 10
    CDP_KERNEL = 18
    MEMCPY2 = 22
    UNIFIED_MEMORY_COUNTER = 25
    CUDA_EVENT = 36
    SYNCHRONIZATION = 38
    MEMORY2 = 49
    GRAPH_TRACE = 51
    GRAPH_HOST_NODE = 56


REQUIRED = (
    ActivityKind.RUNTIME,
    ActivityKind.DRIVER,
    ActivityKind.MEMCPY,
    ActivityKind.SYNCHRONIZATION,
)
"""Without any one of these a count of copies or waits would be a guess."""

ENABLED = (
    *REQUIRED,
    # Peer copies: emitted only while MEMCPY is on as well.
    ActivityKind.MEMCPY2,
    # Since CUDA 12.9 a kind of its own, needed for EVENT_SYNCHRONIZE records to carry their event.
    ActivityKind.CUDA_EVENT,
    ActivityKind.MEMSET,
    ActivityKind.CONCURRENT_KERNEL,
    ActivityKind.MEMORY2,
    ActivityKind.GRAPH_HOST_NODE,
)
"""What a session turns on, in this order; never ``GRAPH_TRACE``, which silences the copies inside graphs."""

_LEGACY = "counter and source-level profiling; unsupported since CUDA 13"
_DESCRIPTION = "describes a device, context, stream or module; moves nothing"
_OTHER_MODEL = "OpenACC and OpenMP regions; their CUDA calls leave records of their own"

NEVER_ENABLED: Mapping[str, str] = {
    "EVENT": _LEGACY,
    "METRIC": _LEGACY,
    "EVENT_INSTANCE": _LEGACY,
    "METRIC_INSTANCE": _LEGACY,
    "INSTANTANEOUS_EVENT": _LEGACY,
    "INSTANTANEOUS_EVENT_INSTANCE": _LEGACY,
    "INSTANTANEOUS_METRIC": _LEGACY,
    "INSTANTANEOUS_METRIC_INSTANCE": _LEGACY,
    "SOURCE_LOCATOR": _LEGACY,
    "GLOBAL_ACCESS": _LEGACY,
    "BRANCH": _LEGACY,
    "INSTRUCTION_EXECUTION": _LEGACY,
    "SHARED_ACCESS": _LEGACY,
    "PC_SAMPLING": _LEGACY,
    "PC_SAMPLING_RECORD_INFO": _LEGACY,
    "INSTRUCTION_CORRELATION": _LEGACY,
    "DEVICE": _DESCRIPTION,
    "CONTEXT": _DESCRIPTION,
    "STREAM": _DESCRIPTION,
    "MODULE": _DESCRIPTION,
    "FUNCTION": _DESCRIPTION,
    "DEVICE_ATTRIBUTE": _DESCRIPTION,
    "GREEN_CONTEXT": _DESCRIPTION,
    "PCIE": _DESCRIPTION,
    "NVLINK": _DESCRIPTION,
    "NAME": "NVTX",
    "MARKER": "NVTX",
    "MARKER_DATA": "NVTX",
    "OPENACC_DATA": _OTHER_MODEL,
    "OPENACC_LAUNCH": _OTHER_MODEL,
    "OPENACC_OTHER": _OTHER_MODEL,
    "OPENMP": _OTHER_MODEL,
    "OVERHEAD": "cost of profiling; time is never measured in a traced run",
    "ENVIRONMENT": "clocks and temperature; read through NVML instead",
    "PREEMPTION": "device-side scheduling",
    "COMPUTE_ENGINE_CTX_SWITCH": "device-side scheduling",
    "EXTERNAL_CORRELATION": "regions are matched by launch time and thread",
    "INTERNAL_LAUNCH_API": "launches outside any call; their kernels leave records of their own",
    "MEMORY": "older form of MEMORY2",
    "MEMORY_POOL": "a pool's size; allocations from it are in MEMORY2",
    "DEVICE_GRAPH_TRACE": "comes with GRAPH_TRACE",
    "JIT": "compilation on the host",
    "MEM_DECOMPRESS": "device-side decompression",
    "ROTATION": "keys of confidential computing",
    "HOST_LAUNCH": "the call that launched the host function is in RUNTIME and DRIVER",
}
"""Record kinds left off, each with the reason."""


class ActivityMemcpyKind(IntEnum):
    """Which way a copy went."""

    UNKNOWN = 0
    HTOD = 1
    DTOH = 2
    HTOA = 3
    ATOH = 4
    ATOA = 5
    ATOD = 6
    DTOA = 7
    DTOD = 8
    HTOH = 9
    PTOP = 10


DIRECTIONS: Mapping[int, Direction] = {
    ActivityMemcpyKind.HTOD: Direction.HOST_TO_DEVICE,
    ActivityMemcpyKind.HTOA: Direction.HOST_TO_DEVICE,
    ActivityMemcpyKind.DTOH: Direction.DEVICE_TO_HOST,
    ActivityMemcpyKind.ATOH: Direction.DEVICE_TO_HOST,
    ActivityMemcpyKind.ATOA: Direction.DEVICE_TO_DEVICE,
    ActivityMemcpyKind.ATOD: Direction.DEVICE_TO_DEVICE,
    ActivityMemcpyKind.DTOA: Direction.DEVICE_TO_DEVICE,
    ActivityMemcpyKind.DTOD: Direction.DEVICE_TO_DEVICE,
    ActivityMemcpyKind.HTOH: Direction.HOST_TO_HOST,
    ActivityMemcpyKind.PTOP: Direction.PEER_TO_PEER,
}
"""All but ``UNKNOWN``, which is told from the memory on both sides where that tells."""


class ActivityMemoryKind(IntEnum):
    """The memory at one end."""

    UNKNOWN = 0
    PAGEABLE = 1
    PINNED = 2
    DEVICE = 3
    ARRAY = 4
    MANAGED = 5
    DEVICE_STATIC = 6
    MANAGED_STATIC = 7


MEMORY_KINDS: Mapping[int, MemoryKind] = {
    ActivityMemoryKind.UNKNOWN: MemoryKind.UNKNOWN,
    ActivityMemoryKind.PAGEABLE: MemoryKind.PAGEABLE,
    ActivityMemoryKind.PINNED: MemoryKind.PINNED,
    ActivityMemoryKind.DEVICE: MemoryKind.DEVICE,
    ActivityMemoryKind.ARRAY: MemoryKind.ARRAY,
    ActivityMemoryKind.MANAGED: MemoryKind.MANAGED,
    ActivityMemoryKind.DEVICE_STATIC: MemoryKind.DEVICE,
    ActivityMemoryKind.MANAGED_STATIC: MemoryKind.MANAGED,
}

HOST_KINDS = frozenset({MemoryKind.PAGEABLE, MemoryKind.PINNED})


class ActivitySynchronizationType(IntEnum):
    """What was synchronized with what."""

    UNKNOWN = 0
    EVENT_SYNCHRONIZE = 1
    STREAM_WAIT_EVENT = 2
    STREAM_SYNCHRONIZE = 3
    CONTEXT_SYNCHRONIZE = 4


WAITS: Mapping[int, SyncKind] = {
    ActivitySynchronizationType.EVENT_SYNCHRONIZE: SyncKind.EVENT,
    ActivitySynchronizationType.STREAM_SYNCHRONIZE: SyncKind.STREAM,
    ActivitySynchronizationType.CONTEXT_SYNCHRONIZE: SyncKind.DEVICE,
}
"""Types that hold the host; ``STREAM_WAIT_EVENT`` only orders streams."""


class ActivityMemoryOperationType(IntEnum):
    """Whether memory came or went."""

    INVALID = 0
    ALLOCATION = 1
    RELEASE = 2


class ActivityUnifiedMemoryCounterKind(IntEnum):
    """What happened to pages of managed memory."""

    UNKNOWN = 0
    BYTES_TRANSFER_HTOD = 1
    BYTES_TRANSFER_DTOH = 2
    CPU_PAGE_FAULT_COUNT = 3
    GPU_PAGE_FAULT = 4
    THRASHING = 5
    THROTTLING = 6
    REMOTE_MAP = 7
    BYTES_TRANSFER_DTOD = 8


class ApiCallbackSite(IntEnum):
    """On which side of a call a callback is made."""

    API_ENTER = 0
    API_EXIT = 1


class CallbackDomain(IntEnum):
    """The two families of calls a callback can be asked for."""

    DRIVER_API = 1
    RUNTIME_API = 2
