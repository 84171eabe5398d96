"""Every type of node, every kind of memory at both ends of a copy, child graphs included."""

from __future__ import annotations

import pytest

from harness.model.event import Direction, Kernel, MemoryKind, Memset, Sync, SyncKind, Transfer
from harness.probes.capture.graph import SILENT, GraphReader

READ = {"Kernel", "Memcpy", "Memset", "Host", "Graph"}
REFUSED = {"Conditional", "MemcpyBatch", "Reserved16", "ExternalEngine"}

DEVICE, OTHER_DEVICE, PINNED, MANAGED, PAGEABLE = 0x1000, 0x2000, 0x3000, 0x4000, 0x9000


@pytest.fixture
def read(device):
    """What the nodes added so far come to."""

    def found():
        reader = GraphReader(device.runtime)
        graph = reader.graph_of(0xABC0)
        nodes = reader.nodes(graph)
        return [found for handle in sorted(nodes) for found in reader.read(nodes[handle])]

    device.graph = []
    return found


def test_every_type_of_node_cuda_has_is_read_silent_or_refused(real_runtime):
    names = {
        name.removeprefix("cudaGraphNodeType")
        for name in real_runtime.cudaGraphNodeType.__members__
    }
    assert names - {"Count"} <= READ | set(SILENT) | REFUSED
    assert all(SILENT.values())


@pytest.mark.parametrize("kind", sorted(SILENT))
def test_a_silent_node_is_nothing(device, read, kind):
    device.add(kind)
    assert read() == []


@pytest.mark.parametrize("kind", [*sorted(REFUSED), "SomethingNew"])
def test_a_node_that_cannot_be_looked_into_is_a_doubt_that_names_it(device, read, kind):
    device.add(kind)
    (node,) = read()
    assert node.kind is None
    assert kind in node.doubt


def test_the_pointers_used_here_are_of_the_memory_they_are_named_after(device):
    kinds = [device.memory.get(pointer, 0) for pointer in (PAGEABLE, PINNED, DEVICE, MANAGED)]
    names = [
        device.runtime.cudaMemoryType(kind).name.removeprefix("cudaMemoryType") for kind in kinds
    ]
    assert names == ["Unregistered", "Host", "Device", "Managed"]


@pytest.mark.parametrize(
    ("source", "destination", "direction", "ends"),
    [
        (DEVICE, PAGEABLE, Direction.DEVICE_TO_HOST, (MemoryKind.DEVICE, MemoryKind.PAGEABLE)),
        (DEVICE, PINNED, Direction.DEVICE_TO_HOST, (MemoryKind.DEVICE, MemoryKind.PINNED)),
        (PINNED, DEVICE, Direction.HOST_TO_DEVICE, (MemoryKind.PINNED, MemoryKind.DEVICE)),
        (PAGEABLE, DEVICE, Direction.HOST_TO_DEVICE, (MemoryKind.PAGEABLE, MemoryKind.DEVICE)),
        (DEVICE, OTHER_DEVICE, Direction.DEVICE_TO_DEVICE, (MemoryKind.DEVICE, MemoryKind.DEVICE)),
        (PINNED, PAGEABLE, Direction.HOST_TO_HOST, (MemoryKind.PINNED, MemoryKind.PAGEABLE)),
    ],
)
def test_a_copy_of_default_kind_goes_where_its_pointers_say(
    device, read, source, destination, direction, ends
):
    device.copy(source=source, destination=destination, size_bytes=4)
    (node,) = read()
    assert node.kind is Transfer
    assert node.details["direction"] is direction
    assert (node.details["source"], node.details["destination"]) == ends
    assert node.details["size_bytes"] == 4
    assert not node.details["blocking"]


def test_pointers_overrule_what_the_call_stated(device, read):
    device.copy(source=DEVICE, destination=PINNED, kind="DeviceToDevice")
    assert read()[0].details["direction"] is Direction.DEVICE_TO_HOST


def test_with_managed_memory_the_stated_direction_is_believed(device, read):
    device.copy(source=MANAGED, destination=PINNED, kind="DeviceToHost")
    assert read()[0].details["direction"] is Direction.DEVICE_TO_HOST


def test_with_managed_memory_and_none_stated_it_is_a_doubt(device, read):
    device.copy(source=MANAGED, destination=PINNED, size_bytes=4096)
    (node,) = read()
    assert node.kind is None
    assert "4,096 B between managed and pinned" in node.doubt


def test_a_copy_of_three_dimensions_has_all_its_bytes(device, read):
    device.add("Memcpy", source=DEVICE, destination=PINNED, stated="Default", extent=(16, 3, 2))
    assert read()[0].details["size_bytes"] == 96


def test_a_copy_from_an_array_counts_elements(device, read):
    device.add(
        "Memcpy", source=0, destination=PINNED, stated="Default", extent=(4, 2, 0), from_array=True
    )
    (node,) = read()
    assert node.details["source"] is MemoryKind.ARRAY
    assert node.details["size_bytes"] == 4 * 2 * 8
    assert node.details["direction"] is Direction.DEVICE_TO_HOST


def test_kernels_fills_and_host_functions_are_events(device, read):
    device.kernel()
    device.add("Memset")
    device.add("Host")
    ran, filled, called = read()
    assert (ran.kind, filled.kind, called.kind) == (Kernel, Memset, Sync)
    assert filled.details["size_bytes"] == 8 * 4 * 2
    assert called.details == {"api": "graph host node", "kind": SyncKind.HOST_CALLBACK}


def test_a_child_graph_is_looked_into_at_every_depth(device, read):
    copy = {"kind": "Memcpy", "source": DEVICE, "destination": PINNED, "size_bytes": 4}
    grandchild = {"kind": "Graph", "nodes": [{**copy, "stated": "Default"}]}
    device.add("Graph", nodes=[{"kind": "Kernel"}, grandchild])
    assert sorted(node.kind.__name__ for node in read()) == ["Kernel", "Transfer"]


def test_there_is_no_graph_after_a_call_has_spoilt_the_capture(device):
    device.graph = []
    device.invalid = True
    assert GraphReader(device.runtime).graph_of(0xABC0) is None


def test_there_is_no_graph_where_cuda_will_not_say(device, real_runtime):
    device.graph = []
    device.runtime.fail["cudaStreamGetCaptureInfo"] = real_runtime.cudaError_t(1)
    assert GraphReader(device.runtime).graph_of(0xABC0) is None


def test_a_question_cuda_refuses_is_an_error_that_names_it(device, read, real_runtime):
    device.kernel()
    device.runtime.fail["cudaGraphNodeGetType"] = real_runtime.cudaError_t(1)
    with pytest.raises(RuntimeError, match="cudaGraphNodeGetType returned cudaErrorInvalidValue"):
        read()


def test_the_functions_used_exist_in_cuda_bindings(real_runtime):
    for name in (
        "cudaStreamGetCaptureInfo",
        "cudaGraphGetNodes",
        "cudaGraphNodeGetType",
        "cudaGraphChildGraphNodeGetGraph",
        "cudaGraphMemcpyNodeGetParams",
        "cudaGraphMemsetNodeGetParams",
        "cudaPointerGetAttributes",
        "cudaArrayGetInfo",
    ):
        assert callable(getattr(real_runtime, name))


def test_the_real_bindings_answer_in_the_shape_used_here(real_runtime):
    """A status, then the capture's status, id and graph: the positions ``graph_of`` reads."""
    try:
        answer = real_runtime.cudaStreamGetCaptureInfo(real_runtime.cudaStream_t(0))
    except RuntimeError as error:
        pytest.skip(f"these cuda-bindings answer nothing without a driver ({error})")
    assert isinstance(answer[0], real_runtime.cudaError_t)
    assert len(answer) >= 4
