"""The nodes of a CUDA graph as events: what the op will do each time its graph is launched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.model.event import (
    Direction,
    Event,
    Kernel,
    MemoryKind,
    Memset,
    Sync,
    SyncKind,
    Transfer,
)

__all__ = ["SILENT", "GraphReader", "Node"]

SILENT: Mapping[str, str] = {
    "Empty": "orders others",
    "WaitEvent": "orders others",
    "EventRecord": "orders others",
    "ExtSemaphoreSignal": "orders others",
    "ExtSemaphoreWait": "orders others",
    "MemAlloc": "memory of the graph's own pool, set aside when the graph is made",
    "MemFree": "memory of the graph's own pool, set aside when the graph is made",
}
"""Node types that neither copy nor hold anybody, each with the reason."""

_PREFIX = "cudaGraphNodeType"


@dataclass(frozen=True, slots=True)
class Node:
    """What one node does: the class of event, its fields, and why it may be less than the truth."""

    kind: type[Event] | None
    details: dict[str, Any]
    doubt: str = ""


class GraphReader:
    """Reads nodes through ``cuda.bindings.runtime``, given as ``runtime``; ``RuntimeError`` where CUDA refuses."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime

    def graph_of(self, stream: int) -> Any | None:
        """The graph being captured on the stream with this handle; ``None`` when there is none any more."""
        runtime = self._runtime
        answer = runtime.cudaStreamGetCaptureInfo(runtime.cudaStream_t(stream))
        if answer[0] != runtime.cudaError_t.cudaSuccess:
            return None
        active = runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusActive
        return answer[3] if answer[1] == active else None

    def count(self, graph: Any) -> int:
        """Nodes of the graph, child graphs not looked into; cost: one call."""
        _, count = self._ask("cudaGraphGetNodes", graph, 0)
        return int(count)

    def nodes(self, graph: Any) -> dict[int, Any]:
        """All nodes by handle, child graphs not looked into."""
        nodes, count = self._ask("cudaGraphGetNodes", graph, self.count(graph))
        return {int(node): node for node in nodes[: int(count)]}

    def read(self, node: Any) -> Iterator[Node]:
        """What a node does; the nodes of a child graph in its place."""
        (found,) = self._ask("cudaGraphNodeGetType", node)
        kind = str(getattr(found, "name", found)).removeprefix(_PREFIX)
        match kind:
            case "Graph":
                (child,) = self._ask("cudaGraphChildGraphNodeGetGraph", node)
                for inner in self.nodes(child).values():
                    yield from self.read(inner)
            case "Memcpy":
                (params,) = self._ask("cudaGraphMemcpyNodeGetParams", node)
                yield self._copy(params)
            case "Memset":
                (params,) = self._ask("cudaGraphMemsetNodeGetParams", node)
                size_bytes = params.width * params.elementSize * max(1, params.height)
                yield Node(Memset, {"api": "graph memset node", "size_bytes": int(size_bytes)})
            case "Kernel":
                yield Node(Kernel, {"api": "graph kernel node"})
            case "Host":
                yield Node(Sync, {"api": "graph host node", "kind": SyncKind.HOST_CALLBACK})
            case _ if kind not in SILENT:
                yield Node(
                    None,
                    {},
                    f"a graph node of type {kind} cannot be looked into, so copies in it are not seen; "
                    "check the op with the CUPTI probe",
                )

    def _copy(self, params: Any) -> Node:
        source = self._end(params.srcPtr, params.srcArray)
        destination = self._end(params.dstPtr, params.dstArray)
        direction = _direction(source, destination) or self._stated(params.kind)
        size_bytes = self._size_of(params)
        if direction is None:
            return Node(
                None,
                {},
                f"a graph copy of {size_bytes:,} B between {source.value} and {destination.value} memory has "
                "no direction that can be told; check the op with the CUPTI probe",
            )
        details = {
            "api": "graph memcpy node",
            "direction": direction,
            "size_bytes": size_bytes,
            "source": source,
            "destination": destination,
            "blocking": False,
        }
        return Node(Transfer, details)

    def _end(self, pointer: Any, array: Any) -> MemoryKind:
        """The memory at one end, by what CUDA knows of the pointer."""
        if int(array):
            return MemoryKind.ARRAY
        runtime = self._runtime
        (attributes,) = self._ask("cudaPointerGetAttributes", int(pointer.ptr))
        kinds = {
            runtime.cudaMemoryType.cudaMemoryTypeUnregistered: MemoryKind.PAGEABLE,
            runtime.cudaMemoryType.cudaMemoryTypeHost: MemoryKind.PINNED,
            runtime.cudaMemoryType.cudaMemoryTypeDevice: MemoryKind.DEVICE,
            runtime.cudaMemoryType.cudaMemoryTypeManaged: MemoryKind.MANAGED,
        }
        return kinds.get(attributes.type, MemoryKind.UNKNOWN)

    def _stated(self, kind: Any) -> Direction | None:
        """The direction the call stated, used only where memory does not tell; ``Default`` states none."""
        kinds = self._runtime.cudaMemcpyKind
        return {
            kinds.cudaMemcpyHostToHost: Direction.HOST_TO_HOST,
            kinds.cudaMemcpyHostToDevice: Direction.HOST_TO_DEVICE,
            kinds.cudaMemcpyDeviceToHost: Direction.DEVICE_TO_HOST,
            kinds.cudaMemcpyDeviceToDevice: Direction.DEVICE_TO_DEVICE,
        }.get(kind)

    def _size_of(self, params: Any) -> int:
        """Bytes of a copy; with an array at one end CUDA counts the width in its elements."""
        extent = params.extent
        elements = int(extent.width) * max(1, int(extent.height)) * max(1, int(extent.depth))
        array = next((a for a in (params.srcArray, params.dstArray) if int(a)), None)
        if array is None:
            return elements
        description, *_ = self._ask("cudaArrayGetInfo", array)
        bits = description.x + description.y + description.z + description.w
        return elements * int(bits) // 8

    def _ask(self, name: str, *args: Any) -> tuple[Any, ...]:
        status, *answer = getattr(self._runtime, name)(*args)
        if status != self._runtime.cudaError_t.cudaSuccess:
            raise RuntimeError(f"{name} returned {getattr(status, 'name', status)}")
        return tuple(answer)


_HOST = frozenset({MemoryKind.PAGEABLE, MemoryKind.PINNED})
_DEVICE = frozenset({MemoryKind.DEVICE, MemoryKind.ARRAY})


def _direction(source: MemoryKind, destination: MemoryKind) -> Direction | None:
    """Which way, by the memory at both ends; ``None`` with managed or unknown memory at one of them."""
    if source in _DEVICE and destination in _HOST:
        return Direction.DEVICE_TO_HOST
    if source in _HOST and destination in _DEVICE:
        return Direction.HOST_TO_DEVICE
    if source in _DEVICE and destination in _DEVICE:
        return Direction.DEVICE_TO_DEVICE
    if source in _HOST and destination in _HOST:
        return Direction.HOST_TO_HOST
    return None
