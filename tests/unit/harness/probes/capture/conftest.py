"""A CuPy and a CUDA runtime that capture a script: real enums and structs of cuda.bindings, and no driver."""

from __future__ import annotations

from typing import Any

import pytest

from harness.probes.capture import CaptureProbe

INSTALL = 'needs cuda-bindings: python -m pip install "cuda-bindings>=13,<14"'


@pytest.fixture(scope="session")
def real_runtime() -> Any:
    """The real ``cuda.bindings.runtime``; it imports without a driver."""
    return pytest.importorskip("cuda.bindings.runtime", reason=INSTALL)


@pytest.fixture
def device(real_runtime) -> FakeDevice:
    return FakeDevice(real_runtime)


@pytest.fixture
def probe(device) -> CaptureProbe:
    return CaptureProbe(cupy=device, runtime=device.runtime)


class FakeDevice:
    """Stands in for ``cupy``, with ops that add nodes to the graph being captured, or are refused as CuPy does.

    ``memory`` maps a pointer to CUDA's type of memory; a pointer not in it is ordinary host memory.
    """

    __version__ = "14.2.0"

    def __init__(self, real: Any) -> None:
        self.runtime = FakeRuntime(real, self)
        self.cuda = self
        self.memory = {0x1000: 2, 0x2000: 2, 0x3000: 1, 0x4000: 3}
        self.graph: list[dict[str, Any]] | None = None
        self.invalid = False
        self.streams: list[_Stream] = []
        self.end_error: Exception | None = None
        self.begin_error: Exception | None = None
        self.peeked = 0

    def Stream(self, *, non_blocking: bool) -> _Stream:
        stream = _Stream(self, non_blocking=non_blocking)
        self.streams.append(stream)
        return stream

    def error(self, name: str, text: str) -> RuntimeError:
        """As ``CUDARuntimeError`` prints itself."""
        return RuntimeError(f"{name}: {text}")

    # --- ops --------------------------------------------------------------------------------------------

    def add(self, kind: str, **fields: Any) -> None:
        """One node of the graph being captured."""
        assert self.graph is not None, "nothing is being captured"
        if not self.invalid:
            self.graph.append({"kind": kind, **fields})

    def kernel(self) -> None:
        self.add("Kernel")

    def copy(
        self, *, source: int, destination: int, size_bytes: int = 4, kind: str = "Default"
    ) -> None:
        self.add(
            "Memcpy", source=source, destination=destination, size_bytes=size_bytes, stated=kind
        )

    def get(self) -> None:
        """``float(a)``: CuPy refuses before it calls CUDA."""
        raise RuntimeError("the current stream is capturing, so D2H transfers are disallowed")

    def asarray(self) -> None:
        raise RuntimeError("the current stream is capturing, so H2D transfers are disallowed")

    def synchronize(self) -> None:
        """CUDA refuses, and the capture is spoilt."""
        self.invalid = True
        raise self.error(
            "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"
        )

    def poll(self) -> None:
        """``stream.done``: spoils the capture and raises nothing."""
        self.invalid = True

    def matmul(self) -> None:
        raise NotImplementedError(
            "calling cuBLAS API during stream capture is currently unsupported"
        )


class _Stream:
    ptr = 0xABC0

    def __init__(self, device: FakeDevice, *, non_blocking: bool) -> None:
        self._device = device
        self.non_blocking = non_blocking
        self.entered = 0

    def __enter__(self) -> _Stream:
        self.entered += 1
        return self

    def __exit__(self, *error: object) -> None:
        self.entered -= 1

    def begin_capture(self) -> None:
        if self._device.begin_error is not None:
            raise self._device.begin_error
        assert self.entered
        assert self._device.graph is None, "a capture inside a capture"
        self._device.graph = []

    def end_capture(self) -> None:
        device, invalid = self._device, self._device.invalid
        device.graph, device.invalid = None, False
        if invalid:
            raise device.error(
                "cudaErrorStreamCaptureInvalidated",
                "operation failed due to a previous error during capture",
            )
        if device.end_error is not None:
            raise device.end_error


class FakeRuntime:
    """Answers about the graph of a ``FakeDevice`` in the tuples, enums and structs of cuda.bindings."""

    def __init__(self, real: Any, device: FakeDevice) -> None:
        self._real = real
        self._device = device
        self._graphs: dict[int, list[dict[str, Any]]] = {}
        self.fail: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _answer(self, name: str, *values: Any) -> tuple[Any, ...]:
        return (self.fail.get(name, self._real.cudaError_t.cudaSuccess), *values)

    def cudaStreamGetCaptureInfo(self, stream: Any) -> tuple[Any, ...]:
        assert int(stream) == _Stream.ptr
        status = self._real.cudaStreamCaptureStatus
        device = self._device
        if device.graph is None:
            state = status.cudaStreamCaptureStatusNone
        elif device.invalid:
            state = status.cudaStreamCaptureStatusInvalidated
        else:
            state = status.cudaStreamCaptureStatusActive
            self._graphs[1] = device.graph
        graph = self._real.cudaGraph_t(1)
        return self._answer("cudaStreamGetCaptureInfo", state, 1, graph, [], [], 0)

    def cudaGraphGetNodes(self, graph: Any, count: int = 0) -> tuple[Any, ...]:
        self._device.peeked += 1
        nodes = self._graphs[int(graph)]
        base = int(graph) * 1000
        # In no particular order, as CUDA gives them.
        handles = [self._real.cudaGraphNode_t(base + n) for n in reversed(range(len(nodes)))]
        return self._answer("cudaGraphGetNodes", handles[:count], len(nodes))

    def _node(self, node: Any) -> dict[str, Any]:
        graph, position = divmod(int(node), 1000)
        return self._graphs[graph][position]

    def cudaGraphNodeGetType(self, node: Any) -> tuple[Any, ...]:
        kind = self._node(node)["kind"]
        kinds = self._real.cudaGraphNodeType.__members__
        return self._answer("cudaGraphNodeGetType", kinds.get(f"cudaGraphNodeType{kind}", kind))

    def cudaGraphChildGraphNodeGetGraph(self, node: Any) -> tuple[Any, ...]:
        number = int(node)
        self._graphs[number] = self._node(node)["nodes"]
        return self._answer("cudaGraphChildGraphNodeGetGraph", self._real.cudaGraph_t(number))

    def cudaGraphMemcpyNodeGetParams(self, node: Any) -> tuple[Any, ...]:
        fields, real = self._node(node), self._real
        params = real.cudaMemcpy3DParms()
        for name in ("srcPtr", "dstPtr"):
            pointer = real.cudaPitchedPtr()
            pointer.ptr = fields["source" if name == "srcPtr" else "destination"]
            setattr(params, name, pointer)
        extent = real.cudaExtent()
        extent.width, extent.height, extent.depth = fields.get(
            "extent", (fields.get("size_bytes"), 1, 1)
        )
        params.extent = extent
        params.kind = real.cudaMemcpyKind.__members__[f"cudaMemcpy{fields['stated']}"]
        if fields.get("from_array"):
            params.srcArray = real.cudaArray_t(0x77)
        return self._answer("cudaGraphMemcpyNodeGetParams", params)

    def cudaArrayGetInfo(self, array: Any) -> tuple[Any, ...]:
        description = self._real.cudaChannelFormatDesc()
        description.x, description.y, description.z, description.w = 32, 32, 0, 0
        return self._answer("cudaArrayGetInfo", description, self._real.cudaExtent(), 0)

    def cudaGraphMemsetNodeGetParams(self, node: Any) -> tuple[Any, ...]:
        params = self._real.cudaMemsetParams()
        params.width, params.elementSize, params.height = 8, 4, 2
        return self._answer("cudaGraphMemsetNodeGetParams", params)

    def cudaPointerGetAttributes(self, pointer: int) -> tuple[Any, ...]:
        attributes = self._real.cudaPointerAttributes()
        attributes.type = self._real.cudaMemoryType(self._device.memory.get(pointer, 0))
        return self._answer("cudaPointerGetAttributes", attributes)


def _as_if_installed(*fakes: type) -> None:
    """Give the fakes' code the file name of an installed package: it stands for CuPy and is nobody's line."""
    for function in (member for fake in fakes for member in vars(fake).values()):
        if hasattr(function, "__code__"):
            function.__code__ = function.__code__.replace(
                co_filename="/usr/lib/python3/dist-packages/cupy/fake.py"
            )


_as_if_installed(FakeDevice, FakeRuntime, _Stream)
