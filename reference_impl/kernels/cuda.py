"""The fused kernels on a GPU, through CuPy, which is imported when the first of them is needed.

Nothing here copies between host and device, and nothing waits: not the launches, not the look at whether a label was
bad. What a first call costs more, compiling a kernel and allocating a ``Workspace``, is done before a timed or captured
region by calling once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.kernels.complaint import raise_if_complained
from reference_impl.kernels.planner import (
    MAX_GROUPS,
    DeviceLimits,
    Launch,
    plan_counting,
    plan_rows,
    plan_scaling,
)
from reference_impl.kernels.source import device_source
from reference_impl.kernels.task import COMPLAINT, TASK, WORKSPACE, Flag

__all__ = ["Workspace", "compiled", "forward_backward", "limits_of", "scale_gradient", "takes"]

Array = Any
"""A CuPy array."""

_DTYPES = frozenset(("float16", "bfloat16", "float32", "float64"))
_REDUCTIONS = {"mean": Flag.MEAN, "sum": Flag.SUM, "none": Flag(0)}
_ID_DTYPE = {
    "int8": "int32",
    "int16": "int32",
    "int32": "int32",
    "int64": "int64",
    "uint8": "int32",
    "uint16": "int32",
    "uint32": "int64",
}
"""The dtype in which ids reach a kernel. Those it does not read are converted first, by one launch over N of them."""

_PIECE_BYTES = 16
_SHARED_BYTES_WITHOUT_REQUEST = 48 * 1024
"""What CUDA gives a block unasked, on every device."""


class Workspace:
    """Memory that the kernels need besides their arguments, for launches of up to ``rows`` rows on one stream.

    Launches that may run at the same time, on two streams or in two graphs, need one each.
    """

    def __init__(self, rows: int) -> None:
        cupy = _cupy()
        self.rows = rows
        self.device = cupy.zeros(WORKSPACE.itemsize, np.uint8)
        self.losses = cupy.empty(rows, np.float64)
        self.partials = cupy.empty(MAX_GROUPS, np.float64)
        self._pinned = cupy.cuda.alloc_pinned_memory(COMPLAINT.itemsize)
        self.complaint: NDArray[Any] = np.frombuffer(self._pinned, COMPLAINT, 1)
        self.complaint[...] = 0

    @property
    def complaint_address(self) -> int:
        """Where the device writes of a bad label: pinned memory has one address on both sides."""
        return int(self._pinned.ptr)

    def check(self, *, classes: int) -> None:
        """Raises ``ValueError`` naming row and label if a launch that has ended met a label outside [0, classes).

        Looks at host memory only. Once it has raised, the device is told to report the next one.
        """
        try:
            raise_if_complained(self.complaint, classes=classes)
        except ValueError:
            start = WORKSPACE.fields["claimed"][1]  # type: ignore[index]  # structured, so it has fields
            self.device[start : start + 4].fill(0)
            raise


def takes(logits: Array, labels: Array) -> bool:
    """Whether the kernels are written for such arrays: C-ordered logits (N, C), C >= 1, with ids (N,) or (N, 1).

    Looks at dtypes, shapes and strides only.
    """
    return (
        logits.ndim == 2
        and logits.shape[1] > 0
        and logits.dtype.name in _DTYPES
        and bool(logits.flags.c_contiguous)
        and labels.shape in ((logits.shape[0],), (logits.shape[0], 1))
        and labels.dtype.name in _ID_DTYPE
    )


def forward_backward(
    logits: Array,
    labels: Array,
    *,
    workspace: Workspace,
    loss_out: Array,
    gradient_out: Array | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    expected_dy: float = 1.0,
) -> None:
    """Loss and gradient of ``logits`` (N, C), read once, under class ids ``labels``, on the current stream.

    As ``fused_cpu.forward_backward``, save that a bad label is reported by ``Workspace.check``. One launch; a second,
    over N labels, where a mean may ignore some. Raises ``TypeError`` for what ``takes`` refuses, ``ValueError`` for a
    workspace of too few rows. For float16 see ``planner.default_expected_dy``.
    """
    if not takes(logits, labels):
        raise TypeError(
            f"no fused kernel for logits {logits.dtype} {logits.shape} and labels {labels.dtype} {labels.shape}"
        )
    rows, classes = logits.shape
    if rows > workspace.rows:
        raise ValueError(f"{rows} rows, but a workspace for {workspace.rows}")
    ids = labels.reshape(rows).astype(_ID_DTYPE[labels.dtype.name], order="C", copy=False)
    limits = limits_of(logits.device.id)
    launch = plan_rows(
        dtype=logits.dtype.name,
        rows=rows,
        classes=classes,
        limits=limits,
        in_step=gradient_out is None or _are_in_step(logits, gradient_out),
    )
    flags = _REDUCTIONS[reduction]
    flags |= Flag.LABELS_ARE_INT64 if ids.dtype == np.int64 else Flag(0)
    flags |= Flag.HAS_IGNORE_INDEX if ignore_index is not None else Flag(0)
    flags |= Flag.STREAMING_STORES if launch.streaming_stores else Flag(0)
    task = _task(rows, classes, launch, flags, expected_dy)
    task["ignore_index"] = ignore_index or 0
    task["logits"] = logits.data.ptr
    task["labels"] = ids.data.ptr
    task["gradient"] = 0 if gradient_out is None else gradient_out.data.ptr
    task["losses"] = (loss_out if reduction == "none" else workspace.losses).data.ptr
    task["loss"] = loss_out.data.ptr
    task["partials"] = workspace.partials.data.ptr
    task["workspace"] = workspace.device.data.ptr
    task["complaint"] = workspace.complaint_address
    if reduction == "mean" and ignore_index is not None:
        _run(plan_counting(rows=rows), task)
    _run(launch, task)


def scale_gradient(gradient: Array, dy: Array, *, expected_dy: float = 1.0) -> None:
    """Multiplies ``gradient`` (N, C) in place by ``dy / expected_dy``; ``dy`` of one element, or (N,).

    ``dy`` lies on the device in float32, float64 for float64 gradients, and is looked at there: where it is
    ``expected_dy`` the launch does nothing else. Zeros stay zeros, whatever dy is.
    """
    rows, classes = gradient.shape
    limits = limits_of(gradient.device.id)
    launch = plan_scaling(dtype=gradient.dtype.name, rows=rows, classes=classes, limits=limits)
    flags = Flag.STREAMING_STORES if launch.streaming_stores else Flag(0)
    if dy.size > 1:
        flags |= Flag.DY_PER_ROW
    task = _task(rows, classes, launch, flags, expected_dy)
    task["gradient"] = gradient.data.ptr
    task["dy"] = dy.data.ptr
    _run(launch, task)


@cache
def limits_of(device: int) -> DeviceLimits:
    """What CUDA says of device number ``device``."""
    attributes = _cupy().cuda.Device(device).attributes
    return DeviceLimits(
        compute_capability=(
            attributes["ComputeCapabilityMajor"],
            attributes["ComputeCapabilityMinor"],
        ),
        shared_memory_bytes=attributes["MaxSharedMemoryPerBlockOptin"],
        l2_bytes=attributes["L2CacheSize"],
    )


@cache
def compiled(kernel: str, device: int, *, may_use_all_shared_memory: bool = False) -> Any:
    """The kernel that C++ calls ``kernel`` for a device, which must be the current one: compiled, or found on disk."""
    module = _cupy().RawModule(
        code=device_source(), options=("--std=c++17",), name_expressions=(kernel,)
    )
    function = module.get_function(kernel)
    if may_use_all_shared_memory:
        function.max_dynamic_shared_size_bytes = limits_of(device).shared_memory_bytes
    return function


def _run(launch: Launch, task: NDArray[Any]) -> None:
    device = _cupy().cuda.runtime.getDevice()
    function = compiled(
        launch.kernel,
        device,
        may_use_all_shared_memory=launch.shared_bytes > _SHARED_BYTES_WITHOUT_REQUEST,
    )
    function((launch.grid,), (launch.block,), (task,), shared_mem=launch.shared_bytes)


def _task(rows: int, classes: int, launch: Launch, flags: Flag, expected_dy: float) -> NDArray[Any]:
    task = np.zeros(1, TASK)
    task["rows"] = rows
    task["classes"] = classes
    task["rows_per_group"] = launch.rows_per_group
    task["flags"] = flags
    task["expected_dy"] = expected_dy
    return task


def _are_in_step(logits: Array, gradient: Array) -> bool:
    """Whether equal elements of both are equally far from an address that 16 divides."""
    return bool((logits.data.ptr - gradient.data.ptr) % _PIECE_BYTES == 0)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as missing:
        raise ImportError(
            f"the CUDA kernels need CuPy ({missing}): pip install 'ondevice-harness[cuda13]'"
        ) from missing
    return cupy
