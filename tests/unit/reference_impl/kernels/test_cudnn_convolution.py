"""Convolutions by cuDNN without a GPU: what the real frontend is told, and what is done around its launches.

The frontend is the real one up to where it would ask cuDNN; from there on a script stands in, which reads the addresses
it is given by the frontend's own account of them.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.devices.simulated import SimulatedDevice
from reference_impl.autograd import training
from reference_impl.kernels import cudnn_convolution
from reference_impl.kernels.cudnn_convolution import (
    ByCudnn,
    Convolution,
    Direction,
    described,
    is_installed,
    takes,
)
from reference_impl.nn import Conv2d
from reference_impl.nn import Convolution as Operation
from reference_impl.nn.by_columns import ByColumns
from reference_impl.nn.windows import Windows
from reference_impl.tensor import Tensor

NEEDS_FRONTEND = (
    "needs nvidia-cudnn-frontend: python -m pip install --no-deps nvidia-cudnn-frontend"
)

CONVOLUTIONS = (
    Convolution((2, 3, 6, 7), (4, 3, 3, 3), (1, 1), (0, 0)),
    Convolution((2, 3, 6, 7), (4, 3, 3, 3), (2, 2), (1, 1)),
    Convolution((2, 3, 6, 7), (4, 3, 2, 4), (1, 3), (0, 2)),
    Convolution((2, 3, 6, 7), (4, 3, 1, 1), (2, 2), (0, 0)),
)


@pytest.fixture
def frontend():
    return pytest.importorskip("cudnn", reason=NEEDS_FRONTEND)


# --- what the frontend is told --------------------------------------------------------------------------


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("convolution", CONVOLUTIONS)
def test_the_graph_has_the_shapes_and_strides_of_packed_arrays(frontend, direction, convolution):
    graph, (first, second, result) = described(direction, convolution)
    expected = {
        Direction.OUTPUT: ("CONV_FPROP", convolution.images, convolution.kernels),
        Direction.IMAGE_GRADIENT: ("CONV_DGRAD", convolution.output, convolution.kernels),
        Direction.KERNEL_GRADIENT: ("CONV_WGRAD", convolution.images, convolution.output),
    }
    kind, *operands = expected[direction]
    (node,) = graph.nodes
    assert node.node_type.name == kind
    shapes = (*operands, convolution.shape_of(direction))
    for tensor, shape in zip((first, second, result), shapes, strict=True):
        assert tuple(tensor.get_dim()) == shape
        packed = np.empty(shape, np.float32)
        assert [4 * step for step in tensor.get_stride()] == list(packed.strides)
        assert tensor.get_data_type() == frontend.data_type.FLOAT
    assert list(node.inputs.values()) == [first, second]
    assert list(node.outputs.values()) == [result]
    assert not result.get_is_virtual()
    assert node.params == {
        "padding": list(convolution.padding),
        "stride": list(convolution.stride),
        "dilation": [1, 1],
    }


def pair(low, high):
    return st.tuples(st.integers(low, high), st.integers(low, high))


@given(size=pair(1, 12), kernel=pair(1, 5), stride=pair(1, 4), padding=pair(0, 3))
def test_cudnn_is_told_of_as_many_windows_as_there_are_columns(size, kernel, stride, padding):
    windows = Windows(kernel, stride, padding)
    convolution = Convolution((2, 3, *size), (4, 3, *kernel), stride, padding)
    try:
        places = windows.places(*size)
    except ValueError:
        assert min(convolution.output[2:]) < 1
        return
    assert convolution.output == (2, 4, *places)


@pytest.mark.parametrize("convolution", CONVOLUTIONS)
def test_the_frontend_infers_the_output_that_it_is_told(frontend, convolution):
    graph = frontend.pygraph(io_data_type=frontend.data_type.FLOAT)
    x, w = (graph.tensor(dim=list(shape)) for shape in (convolution.images, convolution.kernels))
    inferred = graph.conv_fprop(
        image=x, weight=w, padding=list(convolution.padding), stride=list(convolution.stride)
    )
    assert tuple(inferred.get_dim()) == convolution.output


# --- what is done around the launches -------------------------------------------------------------------


class DeviceArray(np.ndarray):
    """A host array that passes for one of CuPy's on device 0."""

    __module__ = "cupy"
    device = SimpleNamespace(id=0)

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


def on_device(array):
    return np.asarray(array, np.float32).view(DeviceArray)


def at_odd_address(array):
    """The same values at an address that 4 divides and 16 does not."""
    room = np.empty(array.size + 4, np.float32)
    start = next(at for at in range(4) if room[at:].ctypes.data % 16 == 4)
    room[start : start + array.size] = array.reshape(-1)
    return room[start : start + array.size].reshape(array.shape).view(DeviceArray)


class Stream:
    ptr, capturing = 7, False

    def is_capturing(self):
        return self.capturing


class Script:
    """What the frontend would have cuDNN do, and what it was asked for; ``refuse`` names a step that raises."""

    def __init__(self, frontend):
        self.frontend, self.steps, self.streams, self.addresses = frontend, [], [], []
        self.handles, self.refuse, self.inside, self.overlapped = [], None, 0, False
        self.stream, self.device = Stream(), 0

    def step(self, name):
        self.steps.append(name)
        if name == self.refuse:
            raise self.frontend.cudnnGraphNotSupportedError("No valid engine configs\n  [0] eng0")

    def create_handle(self):
        self.handles.append(object())
        return self.handles[-1]

    def set_stream(self, handle, stream):
        assert handle in self.handles
        self.streams.append(stream)

    def launch(self, node, arrays):
        self.inside += 1
        self.overlapped |= self.inside > 1
        time.sleep(0.001)
        _convolve(node, arrays)
        self.inside -= 1


def _convolve(node, arrays):
    """The definition, over all offsets of a window; ``arrays`` by port."""
    x = arrays.get("image", arrays.get("DX"))
    w = arrays.get("weight", arrays.get("filter", arrays.get("DW")))
    y = arrays.get("loss", arrays.get("Y"))
    (above, left), (down, across) = node.params["padding"], node.params["stride"]
    bordered = np.pad(
        x if "image" in arrays else 0 * x, ((0, 0), (0, 0), (above,) * 2, (left,) * 2)
    )
    result = arrays[next(iter(node.outputs))]
    result[...] = 0
    for i, j in np.ndindex(w.shape[2:]):
        rows = slice(i, i + down * (y.shape[2] - 1) + 1, down)
        columns = slice(j, j + across * (y.shape[3] - 1) + 1, across)
        seen = bordered[:, :, rows, columns]
        if result is y:
            y += np.einsum("ncij,oc->noij", seen, w[:, :, i, j])
        elif result is w:
            w[:, :, i, j] = np.einsum("ncij,noij->oc", seen, y)
        else:
            seen += np.einsum("noij,oc->ncij", y, w[:, :, i, j])
    if result is x:
        x[...] = bordered[:, :, above : above + x.shape[2], left : left + x.shape[3]]


def scripted_graph(script):
    """The frontend's own graph, whose later steps are those of the script."""

    class Graph(script.frontend.pygraph):
        def validate(self):
            script.step("validate")
            for node in self.nodes:
                node.validate()

        def build_operation_graph(self):
            script.step("build_operation_graph")

        def create_execution_plans(self, modes):
            script.step("create_execution_plans")

        def deselect_numeric_notes(self, notes):
            script.step("deselect " + " ".join(sorted(note.name for note in notes)))

        def check_support(self):
            script.step("check_support")

        def build_plans(self):
            script.step("build_plans")

        def get_workspace_size(self):
            return 64

        def execute(self, tensor_dict, workspace=None, handle=None):
            assert handle is self._handle
            assert type(workspace) is int
            (node,) = self.nodes
            by_uid = self._uid_to_data(tensor_dict)
            script.addresses += by_uid.values()
            ports = {**node.inputs, **node.outputs}
            arrays = {port: _at(by_uid[t.uid], t) for port, t in ports.items()}
            script.launch(node, arrays)

    return Graph


def _at(address, tensor):
    assert type(address) is int
    count = math.prod(tensor.get_dim())
    memory = (ctypes.c_float * count).from_address(address)
    return np.frombuffer(memory, np.float32).reshape(tensor.get_dim())


@pytest.fixture
def script(frontend, monkeypatch):
    made = Script(frontend)
    for name in ("create_handle", "set_stream"):
        monkeypatch.setattr(frontend, name, getattr(made, name))
    monkeypatch.setattr(frontend, "pygraph", scripted_graph(made))
    cupy = ModuleType("cupy")
    cupy.empty = lambda shape, dtype: np.empty(shape, dtype).view(DeviceArray)
    cupy.ascontiguousarray = lambda array: np.ascontiguousarray(array).view(DeviceArray)
    cupy.cuda = SimpleNamespace(
        runtime=SimpleNamespace(getDevice=lambda: made.device),
        get_current_stream=lambda: made.stream,
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    cached = (cudnn_convolution._plan, cudnn_convolution._handle, is_installed)
    for function in cached:
        function.cache_clear()
    yield made
    for function in cached:
        function.cache_clear()


def arrays_of(convolution):
    rng = np.random.default_rng(3)
    shapes = (convolution.images, convolution.kernels, convolution.output)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def all_three(product, dy):
    return [product.output(), product.image_gradient(dy), product.kernel_gradient(dy)]


def by_cudnn(convolution, x, w):
    return ByCudnn(x, w, stride=convolution.stride, padding=convolution.padding)


def by_columns(convolution, x, w):
    return ByColumns(Windows(w.shape[2:], convolution.stride, convolution.padding), x, w)


@pytest.mark.parametrize(
    "lay",
    [on_device, at_odd_address, lambda array: on_device(np.asfortranarray(array))],
    ids=["packed", "at an odd address", "in another order"],
)
@pytest.mark.parametrize("convolution", CONVOLUTIONS)
def test_each_array_reaches_cudnn_packed_and_under_its_own_name(script, convolution, lay):
    x, w, dy = arrays_of(convolution)
    found = all_three(by_cudnn(convolution, lay(x), lay(w)), lay(dy))
    for one, expected in zip(found, all_three(by_columns(convolution, x, w), dy), strict=True):
        assert one.shape == expected.shape
        np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-5)
    assert len(script.addresses) == 9
    assert not any(address % 16 for address in script.addresses)


def test_a_layer_trains_through_it_as_through_columns(script):
    (convolution,) = CONVOLUTIONS[1:2]
    x, w, dy = arrays_of(convolution)
    b = np.arange(4, dtype=np.float32)
    results = []
    for lay in (on_device, np.asarray):
        operation = Operation(Windows((3, 3), (2, 2), (1, 1)))
        inputs = [Tensor(lay(array), stores_grad=True) for array in (x, w, b)]
        with training():
            (y,) = operation(*inputs)
        results.append([y.data, *operation.backward(lay(dy))])
    assert script.steps
    for one, expected in zip(*results, strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-5)


PLANNING = [
    "validate",
    "build_operation_graph",
    "create_execution_plans",
    "deselect DOWN_CONVERT_INPUTS NONDETERMINISTIC REDUCED_PRECISION_REDUCTION TENSOR_CORE "
    "WINOGRAD_TILE_13x13 WINOGRAD_TILE_6x6",
    "check_support",
    "build_plans",
]


def test_a_plan_is_made_once_for_a_shape_and_a_direction_and_a_handle_once_for_a_device(script):
    first, other = CONVOLUTIONS[:2]
    for convolution in (first, first, other):
        x, w, _ = map(on_device, arrays_of(convolution))
        by_cudnn(convolution, x, w).output()
    assert script.steps == 2 * PLANNING
    assert len(script.handles) == 1
    x, _, dy = map(on_device, arrays_of(first))
    by_cudnn(first, x, w).image_gradient(dy)
    assert script.steps == 3 * PLANNING


def test_every_launch_is_on_the_stream_that_is_current_then(script):
    x, w, _ = map(on_device, arrays_of(CONVOLUTIONS[0]))
    product = by_cudnn(CONVOLUTIONS[0], x, w)
    for number in (7, 8, 7):
        script.stream.ptr = number
        product.output()
    assert script.streams == [7, 8, 7]


def overlapping(script):
    """Whether two of 20 launches of four threads were inside cuDNN at once."""
    x, w, _ = map(on_device, arrays_of(CONVOLUTIONS[0]))
    product = by_cudnn(CONVOLUTIONS[0], x, w)
    product.output()
    threads = [
        threading.Thread(target=lambda: [product.output() for _ in range(5)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return script.overlapped


def test_threads_take_turns(script):
    assert not overlapping(script)


def test_threads_that_do_not_take_turns_would_be_noticed(script, monkeypatch):
    monkeypatch.setattr(cudnn_convolution, "_TAKING_TURNS", nullcontext())
    assert overlapping(script)


def test_a_capture_is_refused_before_the_first_call_and_not_after_it(script):
    x, w, _ = map(on_device, arrays_of(CONVOLUTIONS[0]))
    product = by_cudnn(CONVOLUTIONS[0], x, w)
    script.stream.capturing = True
    with pytest.raises(RuntimeError, match=r"the first output of images .*: convolve once before"):
        product.output()
    script.stream.capturing = False
    product.output()
    script.stream.capturing = True
    product.output()


@pytest.mark.parametrize("step", ["validate", "create_execution_plans", "check_support"])
def test_where_cudnn_has_no_plan_the_shape_is_named_and_columns_are_not_taken_instead(script, step):
    script.refuse = step
    x, w, dy = map(on_device, arrays_of(CONVOLUTIONS[1]))
    product = by_cudnn(CONVOLUTIONS[1], x, w)
    with pytest.raises(RuntimeError) as refused:
        product.kernel_gradient(dy)
    (line,) = str(refused.value).splitlines()
    assert line.startswith(
        "cuDNN made no plan for the kernel gradient of images (2, 3, 6, 7) under kernels "
        "(4, 3, 3, 3), stride (2, 2), padding (1, 1)"
    )
    assert "No valid engine configs" in line
    script.refuse = None
    assert product.kernel_gradient(dy).shape == w.shape


def test_a_library_that_is_missing_is_named_with_what_installs_it(script, frontend, monkeypatch):
    def create_handle():
        raise RuntimeError("Unable to find symbol cudnnCreate")

    monkeypatch.setattr(frontend, "create_handle", create_handle)
    x, w, _ = map(on_device, arrays_of(CONVOLUTIONS[0]))
    message = (
        r"cuDNN does not start on device 0 \(Unable to find symbol cudnnCreate\): "
        r"pip install 'ondevice-harness\[cudnn\]'"
    )
    with pytest.raises(RuntimeError, match=message):
        Conv2d(w)(Tensor(x))


def test_a_frontend_that_does_not_import_is_named(script, monkeypatch):
    x, w, _ = map(on_device, arrays_of(CONVOLUTIONS[0]))
    assert takes(x, w)
    monkeypatch.setitem(sys.modules, "cudnn", None)
    with pytest.raises(ImportError, match=r"does not import .*: pip install --force-reinstall"):
        Conv2d(w)(Tensor(x))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda dy: dy[:1],
            r"shape \(2, 4, 4, 5\) on the current device, 0; got .* \(1, 4, 4, 5\)",
        ),
        (lambda dy: dy.astype(np.float64), "got float64"),
    ],
)
def test_a_gradient_of_another_shape_or_dtype_is_not_read(script, spoil, message):
    x, w, dy = map(on_device, arrays_of(CONVOLUTIONS[0]))
    product = by_cudnn(CONVOLUTIONS[0], x, w)
    for gradient in (product.image_gradient, product.kernel_gradient):
        with pytest.raises(ValueError, match=message):
            gradient(spoil(dy))
    assert not script.addresses


def test_arrays_of_another_device_are_refused(script):
    x, w, _ = map(on_device, arrays_of(CONVOLUTIONS[0]))
    script.device = 1
    with pytest.raises(ValueError, match=r"on the current device, 1; got .* on device 0"):
        by_cudnn(CONVOLUTIONS[0], x, w)


# --- which arrays it is for -----------------------------------------------------------------------------


def test_it_takes_cupys_arrays_of_float32_alone(script):
    x, w, _ = map(on_device, arrays_of(CONVOLUTIONS[0]))
    assert takes(x, w)
    assert not takes(x, w.astype(np.float64))
    assert not takes(x.astype(np.float16), w.astype(np.float16))
    assert not takes(x[:0], w)
    assert not takes(x, w[:0])


def test_without_the_frontend_it_takes_nothing(script, monkeypatch):
    x, w, _ = map(on_device, arrays_of(CONVOLUTIONS[0]))
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    monkeypatch.delitem(sys.modules, "cudnn")
    assert not takes(x, w)


@pytest.mark.parametrize(
    "put", [np.asarray, SimulatedDevice().to_device], ids=["host", "simulated"]
)
def test_arrays_of_others_never_go_to_cudnn(script, put):
    x, w, _ = arrays_of(CONVOLUTIONS[0])
    y = Conv2d(put(w))(Tensor(put(x))).data
    assert y.shape == CONVOLUTIONS[0].output
    assert script.steps == []
    assert script.handles == []


# --- what importing and convolving on the host load -----------------------------------------------------

ON_THE_HOST = """
import numpy as np
from reference_impl.nn import Conv2d
from reference_impl.tensor import Tensor
Conv2d(np.ones((1, 1, 2, 2), np.float32))(Tensor(np.ones((1, 1, 3, 3), np.float32)))
"""


def loaded_by(code, folder):
    """Of ``cudnn`` and ``cupy`` those a fresh interpreter loads, where both could be."""
    for name in ("cudnn", "cupy"):
        (folder / f"{name}.py").write_text("")
    told = "import json, sys; print(json.dumps(sorted({'cudnn', 'cupy'} & set(sys.modules))))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{told}"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
    )
    return json.loads(done.stdout)


def test_a_convolution_on_the_host_loads_neither_cudnn_nor_cupy(tmp_path):
    assert loaded_by(ON_THE_HOST, tmp_path) == []


def test_an_import_of_cudnn_would_be_noticed(tmp_path):
    assert loaded_by(f"{ON_THE_HOST}\nimport cudnn", tmp_path) == ["cudnn"]
