"""The calls that reach a GPU, on a stand-in for CuPy that notes launches: no kernel runs here."""

import sys
import types
from dataclasses import dataclass, field

import numpy as np
import pytest

from reference_impl.kernels import cuda
from reference_impl.kernels.task import WORKSPACE, Flag

ATTRIBUTES = {
    "ComputeCapabilityMajor": 9,
    "ComputeCapabilityMinor": 0,
    "MaxSharedMemoryPerBlockOptin": 232448,
    "L2CacheSize": 50 * 2**20,
}


class Array(np.ndarray):
    """A NumPy array that says where it lies as CuPy's do."""

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data)

    device = types.SimpleNamespace(id=0)


def on_device(array):
    return np.ascontiguousarray(array).view(Array)


@dataclass
class Function:
    kernel: str
    launches: list
    max_dynamic_shared_size_bytes: int | None = None

    def __call__(self, grid, block, args, *, shared_mem):
        (task,) = args
        self.launches.append((self.kernel, grid, block, shared_mem, task[0].copy()))


@dataclass
class FakeCupy:
    launches: list = field(default_factory=list)
    functions: dict = field(default_factory=dict)
    options: tuple = ()

    def RawModule(self, *, code, options, name_expressions):
        assert "__global__" in code
        self.options = options
        (kernel,) = name_expressions

        def get_function(name):
            assert name == kernel
            return self.functions.setdefault(name, Function(name, self.launches))

        return types.SimpleNamespace(get_function=get_function)

    def zeros(self, shape, dtype):
        return on_device(np.zeros(shape, dtype))

    def empty(self, shape, dtype):
        return on_device(np.empty(shape, dtype))

    @property
    def cuda(self):
        return types.SimpleNamespace(
            Device=lambda number: types.SimpleNamespace(attributes=ATTRIBUTES),
            runtime=types.SimpleNamespace(getDevice=lambda: 0),
            alloc_pinned_memory=lambda size: Pinned(size),
        )


class Pinned(bytearray):
    @property
    def ptr(self):
        return np.frombuffer(self, np.uint8).ctypes.data


@pytest.fixture
def gpu(monkeypatch):
    fake = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    for cached in (cuda.limits_of, cuda.compiled):
        cached.cache_clear()
    yield fake
    for cached in (cuda.limits_of, cuda.compiled):
        cached.cache_clear()


@pytest.fixture
def arrays(gpu):
    x = on_device(np.zeros((9, 1000), np.float32))
    return {
        "logits": x,
        "labels": on_device(np.zeros(9, np.int64)),
        "loss_out": on_device(np.zeros(1, np.float32)),
        "gradient_out": on_device(np.zeros((9, 1000), np.float32)),
        "workspace": cuda.Workspace(9),
    }


def test_a_mean_is_one_launch_with_every_address_in_its_place(gpu, arrays):
    cuda.forward_backward(**arrays, expected_dy=2.0)
    ((kernel, grid, block, shared, task),) = gpu.launches
    assert (kernel, grid, block) == ("rows_in_registers<float, 4, 32, 8>", (3,), (128,))
    assert shared == 528
    workspace = arrays["workspace"]
    assert task["logits"] == arrays["logits"].data.ptr
    assert task["labels"] == arrays["labels"].data.ptr
    assert task["gradient"] == arrays["gradient_out"].data.ptr
    assert task["loss"] == arrays["loss_out"].data.ptr
    assert task["losses"] == workspace.losses.data.ptr
    assert task["partials"] == workspace.partials.data.ptr
    assert task["workspace"] == workspace.device.data.ptr
    assert task["complaint"] == workspace.complaint.ctypes.data
    assert (task["rows"], task["classes"], task["expected_dy"]) == (9, 1000, 2.0)
    assert task["flags"] == Flag.MEAN | Flag.LABELS_ARE_INT64
    assert gpu.options == ("--std=c++17",)


def test_a_kernel_is_compiled_once(gpu, arrays):
    for _ in range(3):
        cuda.forward_backward(**arrays)
    assert len(gpu.functions) == 1
    assert cuda.compiled.cache_info().misses == 1


def test_a_mean_that_may_ignore_rows_counts_labels_first(gpu, arrays):
    cuda.forward_backward(**arrays, ignore_index=-100)
    first, second = gpu.launches
    assert first[0] == "count_labels"
    assert first[4]["ignore_index"] == second[4]["ignore_index"] == -100
    assert second[4]["flags"] & Flag.HAS_IGNORE_INDEX


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_without_a_mean_nothing_is_counted(gpu, arrays, reduction):
    if reduction == "none":
        arrays["loss_out"] = on_device(np.zeros(9, np.float32))
    cuda.forward_backward(**arrays, ignore_index=0, reduction=reduction)
    ((_, _, _, _, task),) = gpu.launches
    own = task["losses"] == arrays["loss_out"].data.ptr
    assert own == (reduction == "none")


@pytest.mark.parametrize(
    ("dtype", "is_int64"),
    [("int8", False), ("uint16", False), ("int32", False), ("uint32", True), ("int64", True)],
)
def test_ids_reach_the_kernel_as_int32_or_int64(gpu, arrays, dtype, is_int64):
    arrays["labels"] = on_device(np.zeros((9, 1), dtype))
    cuda.forward_backward(**arrays)
    assert bool(gpu.launches[0][4]["flags"] & Flag.LABELS_ARE_INT64) == is_int64


def test_a_row_in_shared_memory_asks_for_all_there_is_once(gpu, arrays):
    for classes in (40000, 50000):
        arrays["logits"] = on_device(np.zeros((1, classes), np.float32))
        arrays["gradient_out"] = on_device(np.zeros((1, classes), np.float32))
        arrays["labels"] = on_device(np.zeros(1, np.int32))
        cuda.forward_backward(**arrays)
    assert len(gpu.functions) == 1
    (function,) = gpu.functions.values()
    assert function.max_dynamic_shared_size_bytes == 232448


def test_arrays_out_of_step_are_read_element_by_element(gpu, arrays):
    memory = on_device(np.zeros(9 * 1000 + 1, np.float32))
    arrays["logits"] = memory[1:].reshape(9, 1000).view(Array)
    cuda.forward_backward(**arrays)
    assert gpu.launches[0][0] == "rows_read_twice<float, 1, 1024>"


def test_backward_is_one_launch_that_looks_at_dy_where_it_lies(gpu):
    gradient = on_device(np.zeros((9, 1000), np.float32))
    dy = on_device(np.ones(1, np.float32))
    cuda.scale_gradient(gradient, dy, expected_dy=4.0)
    cuda.scale_gradient(gradient, on_device(np.ones(9, np.float32)))
    (one, each) = gpu.launches
    assert one[0] == "scale_gradient<float, 4>"
    assert (one[4]["dy"], one[4]["expected_dy"]) == (dy.data.ptr, 4.0)
    assert not one[4]["flags"] & Flag.DY_PER_ROW
    assert each[4]["flags"] & Flag.DY_PER_ROW


def test_a_reported_label_is_raised_once_and_the_device_may_report_again(arrays):
    workspace = arrays["workspace"]
    workspace.check(classes=10)
    claimed = WORKSPACE.fields["claimed"][1]
    workspace.device[claimed] = 1
    workspace.complaint[0] = (1, 7, -3)
    with pytest.raises(ValueError, match=r"label -3 in row 7 is outside \[0, 10\)"):
        workspace.check(classes=10)
    assert not workspace.device.any()
    workspace.check(classes=10)


def test_what_no_kernel_takes_is_refused(arrays):
    with pytest.raises(TypeError, match="labels float32"):
        cuda.forward_backward(**arrays | {"labels": on_device(np.zeros(9, np.float32))})
    with pytest.raises(ValueError, match="9 rows, but a workspace for 3"):
        cuda.forward_backward(**arrays | {"workspace": cuda.Workspace(3)})


def test_without_cupy_the_install_line_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match=r"pip install 'ondevice-harness\[cuda13\]'"):
        cuda.Workspace(3)
