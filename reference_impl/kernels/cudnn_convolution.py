"""Convolutions by cuDNN on CuPy's arrays, where ``nvidia-cudnn-frontend`` is installed.

In float32 without TF32 and by deterministic algorithms alone, so that a step is what it is by columns up to rounding
and the same each time. cuDNN takes images as (N, C, H, W) in memory: one copy each way from the batch-last images of
the other layers. Nothing is copied between host and device and nothing waits, once a plan was made: the first call of
each shape looks for one, and is done before a timed or captured region. Threads take turns at launching.

Source of the calls: the code of cuDNN's Python frontend, versions 1.27 and 1.32.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import Any

__all__ = ["ByCudnn", "Convolution", "Direction", "described", "is_installed", "takes"]

Array = Any
"""A CuPy array."""

Pair = tuple[int, int]
Shape = tuple[int, int, int, int]

_ALIGNMENT_BYTES = 16
"""What the frontend tells cuDNN of every address, unless told otherwise; a view may begin anywhere."""

_TAKING_TURNS = Lock()
"""A handle is for one thread at a time, and so is a plan: cuDNN's release notes, and PyTorch's bug 103793."""


class Direction(Enum):
    """Which of the three arrays of a convolution is computed from the two others."""

    OUTPUT = "output"
    IMAGE_GRADIENT = "image gradient"
    KERNEL_GRADIENT = "kernel gradient"


@dataclass(frozen=True, slots=True)
class Convolution:
    """Images (N, C, H, W), kernels (O, C, height, width), and how the windows lie."""

    images: Shape
    kernels: Shape
    stride: Pair
    padding: Pair

    @property
    def output(self) -> Shape:
        """(N, O, down, across)."""
        down, across = (
            (size + 2 * border - window) // step + 1
            for size, window, step, border in zip(
                self.images[2:], self.kernels[2:], self.stride, self.padding, strict=True
            )
        )
        return (self.images[0], self.kernels[0], down, across)

    def shape_of(self, direction: Direction) -> Shape:
        """Of the array that is computed."""
        return {
            Direction.OUTPUT: self.output,
            Direction.IMAGE_GRADIENT: self.images,
            Direction.KERNEL_GRADIENT: self.kernels,
        }[direction]


@cache
def is_installed() -> bool:
    """Whether ``nvidia-cudnn-frontend`` is here. Looked up once, and not imported."""
    return find_spec("cudnn") is not None


def takes(x: Array, w: Array) -> bool:
    """Whether images ``x`` and kernels ``w`` are cuDNN's: CuPy's, float32, not empty, and the frontend is here."""
    on_cuda = type(x).__module__.partition(".")[0] == "cupy"
    return (
        on_cuda
        and x.dtype.name == w.dtype.name == "float32"
        and x.size > 0
        and w.size > 0
        and is_installed()
    )


class ByCudnn:
    """One convolution of images ``x`` with kernels ``w``, and its two gradients.

    Keeps x and w. Arrays are float32 on the current device, ``ValueError`` for others. ``RuntimeError`` where cuDNN
    does not start, or has no algorithm for this shape; there is no other way then, short of uninstalling the frontend.
    """

    def __init__(self, x: Array, w: Array, *, stride: Pair, padding: Pair) -> None:
        self._convolution = Convolution(x.shape, w.shape, stride, padding)
        self._x, self._w = _operand(x, x.shape), _operand(w, w.shape)

    def output(self) -> Array:
        """(N, O, down, across)."""
        return self._run(Direction.OUTPUT, self._x, self._w)

    def image_gradient(self, dy: Array) -> Array:
        """(N, C, H, W)."""
        return self._run(Direction.IMAGE_GRADIENT, self._gradient(dy), self._w)

    def kernel_gradient(self, dy: Array) -> Array:
        """(O, C, height, width)."""
        return self._run(Direction.KERNEL_GRADIENT, self._x, self._gradient(dy))

    def _gradient(self, dy: Array) -> Array:
        return _operand(dy, self._convolution.output)

    def _run(self, direction: Direction, first: Array, second: Array) -> Array:
        cupy = _cupy()
        result = cupy.empty(self._convolution.shape_of(direction), first.dtype)
        with _TAKING_TURNS:
            plan = _plan(direction, self._convolution, cupy.cuda.runtime.getDevice())
            # From CuPy's pool, which hands it out again on this stream alone, behind this launch.
            workspace = cupy.empty(max(1, plan.workspace_bytes), "uint8")
            _cudnn().set_stream(plan.handle, cupy.cuda.get_current_stream().ptr)
            addresses = (each.data.ptr for each in (first, second, result))
            plan.graph.execute(
                dict(zip(plan.tensors, addresses, strict=True)),
                workspace.data.ptr,
                handle=plan.handle,
            )
        return result


@dataclass(frozen=True, slots=True)
class _Plan:
    graph: Any
    tensors: tuple[Any, Any, Any]
    """The two operands and the result, as the graph knows them."""
    workspace_bytes: int
    handle: Any


@cache
def _plan(direction: Direction, convolution: Convolution, device: int) -> _Plan:
    """Made once for each device, which must be the current one."""
    cudnn = _cudnn()
    if _cupy().cuda.get_current_stream().is_capturing():
        raise RuntimeError(
            f"the first {_text(direction, convolution)} looks for an algorithm, which a captured stream "
            "does not allow: convolve once before the capture"
        )
    handle = _handle(device)
    graph, tensors = described(direction, convolution, handle=handle)
    try:
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        # Behind the line above: in older frontends it marks the plans that there are.
        graph.deselect_numeric_notes(_refused_notes())
        graph.check_support()
        graph.build_plans()
        workspace_bytes = int(graph.get_workspace_size())
    except (cudnn.cudnnGraphNotSupportedError, RuntimeError, ValueError) as error:
        raise RuntimeError(
            f"cuDNN made no plan for the {_text(direction, convolution)}, float32 without TF32 and deterministic: "
            f"{' '.join(str(error).split())}; without nvidia-cudnn-frontend convolutions go by columns"
        ) from error
    return _Plan(graph, tensors, workspace_bytes, handle)


def _refused_notes() -> list[Any]:
    """What would make more of a difference than rounding in float32, or another one each time.

    TENSOR_CORE on float32 is TF32, of ten bits. Winograd's transforms have errors of their own: on normal noise in 64
    channels, in units of 2**-24 of the sum of magnitudes, at most 1.4 in tiles of 4x4, 27 of 6x6 and 2e4 of 13x13,
    where a plain sum has 4.
    """
    note = _cudnn().numerical_note
    return [
        note.TENSOR_CORE,
        note.DOWN_CONVERT_INPUTS,
        note.REDUCED_PRECISION_REDUCTION,
        note.WINOGRAD_TILE_6x6,
        note.WINOGRAD_TILE_13x13,
        note.NONDETERMINISTIC,
    ]


def described(
    direction: Direction, convolution: Convolution, *, handle: Any = None
) -> tuple[Any, tuple[Any, Any, Any]]:
    """The graph of one convolution, with its two operands and its result. Needs the frontend, and no GPU."""
    cudnn = _cudnn()
    single = cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        io_data_type=single,
        intermediate_data_type=single,
        compute_data_type=single,
        handle=handle,
    )

    def tensor(name: str, shape: Shape) -> Any:
        return graph.tensor(name=name, dim=list(shape), stride=_row_major(shape), data_type=single)

    windows = {
        "padding": list(convolution.padding),
        "stride": list(convolution.stride),
        "dilation": [1, 1],
    }
    if direction is Direction.OUTPUT:
        x, w = tensor("x", convolution.images), tensor("w", convolution.kernels)
        operands, result = (x, w), graph.conv_fprop(image=x, weight=w, **windows)
    elif direction is Direction.IMAGE_GRADIENT:
        dy, w = tensor("dy", convolution.output), tensor("w", convolution.kernels)
        operands, result = (dy, w), graph.conv_dgrad(loss=dy, filter=w, **windows)
    else:
        x, dy = tensor("x", convolution.images), tensor("dy", convolution.output)
        operands, result = (x, dy), graph.conv_wgrad(image=x, loss=dy, **windows)
    shape = convolution.shape_of(direction)
    result.set_output(True).set_data_type(single).set_dim(list(shape)).set_stride(_row_major(shape))
    return graph, (*operands, result)


@cache
def _handle(device: int) -> Any:
    """One handle for each device; ``device`` must be the current one."""
    try:
        return _cudnn().create_handle()
    except RuntimeError as error:
        raise RuntimeError(
            f"nvidia-cudnn-frontend is installed, but cuDNN does not start on device {device} ({error}): "
            "pip install 'ondevice-harness[cudnn]' brings its library; without the frontend convolutions go by columns"
        ) from error


def _operand(array: Array, shape: Shape) -> Array:
    """``array`` as cuDNN reads it: C-ordered at an aligned address; a copy where it does not lie so."""
    cupy = _cupy()
    device = cupy.cuda.runtime.getDevice()
    if array.shape != shape or array.dtype.name != "float32" or array.device.id != device:
        raise ValueError(
            f"cuDNN needs float32 of shape {shape} on the current device, {device}; "
            f"got {array.dtype} of shape {array.shape} on device {array.device.id}"
        )
    packed = cupy.ascontiguousarray(array)
    return packed.copy() if packed.data.ptr % _ALIGNMENT_BYTES else packed


def _row_major(shape: Shape) -> list[int]:
    _, channels, height, width = shape
    return [channels * height * width, height * width, width, 1]


def _text(direction: Direction, convolution: Convolution) -> str:
    return (
        f"{direction.value} of images {convolution.images} under kernels {convolution.kernels}, "
        f"stride {convolution.stride}, padding {convolution.padding}"
    )


def _cudnn() -> Any:
    try:
        import cudnn
    except (ImportError, OSError, AssertionError) as error:
        # The frontend opens cuDNN's library as it is imported, and asserts that it finds one alone.
        raise ImportError(
            f"nvidia-cudnn-frontend is installed and does not import ({error}): "
            "pip install --force-reinstall 'ondevice-harness[cudnn]'"
        ) from error
    return cudnn


def _cupy() -> Any:
    import cupy

    return cupy
