"""Convolutions by cuDNN on CuPy's arrays, where ``nvidia-cudnn-frontend`` can be imported.

In float32 without TF32 and by deterministic algorithms alone, so that a step is what it is by columns up to rounding
and the same each time. cuDNN takes images as (N, C, H, W) in memory: one copy each way from the batch-last images of
the other layers. Nothing is copied between host and device and nothing waits, once a plan was made: the first call of
each shape looks for one, and is done before a timed or captured region.

Source of the calls: the documentation of cuDNN's Python frontend, versions 1.27 and 1.32.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

__all__ = ["ByCudnn", "Convolution", "Direction", "described", "is_importable", "takes"]

Array = Any
"""A CuPy array."""

Pair = tuple[int, int]
Shape = tuple[int, int, int, int]


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
def is_importable() -> bool:
    """Whether ``nvidia-cudnn-frontend`` is here. Looked up once."""
    try:
        import cudnn  # noqa: F401 - asked whether it can be imported
    except ImportError:
        return False
    return True


def takes(x: Array) -> bool:
    """Whether images ``x`` are cuDNN's to convolve: CuPy's, float32, not empty, and the frontend is here."""
    on_cuda = type(x).__module__.partition(".")[0] == "cupy"
    return on_cuda and x.dtype.name == "float32" and x.size > 0 and is_importable()


class ByCudnn:
    """One convolution of images ``x`` with kernels ``w``, and its two gradients.

    Keeps x and w. Raises ``RuntimeError`` of cuDNN where it has no algorithm, or its library is not found.
    """

    def __init__(self, x: Array, w: Array, *, stride: Pair, padding: Pair) -> None:
        self._x, self._w = _packed(x), _packed(w)
        self._convolution = Convolution(x.shape, w.shape, stride, padding)

    def output(self) -> Array:
        """(N, O, down, across)."""
        return self._run(Direction.OUTPUT, self._x, self._w)

    def image_gradient(self, dy: Array) -> Array:
        """(N, C, H, W)."""
        return self._run(Direction.IMAGE_GRADIENT, _packed(dy), self._w)

    def kernel_gradient(self, dy: Array) -> Array:
        """(O, C, height, width)."""
        return self._run(Direction.KERNEL_GRADIENT, self._x, _packed(dy))

    def _run(self, direction: Direction, first: Array, second: Array) -> Array:
        cupy = _cupy()
        plan = _plan(direction, self._convolution, cupy.cuda.runtime.getDevice())
        result = cupy.empty(self._convolution.shape_of(direction), first.dtype)
        # From CuPy's pool, which hands it out again on this stream alone, behind this launch.
        workspace = cupy.empty(max(1, plan.workspace_bytes), "uint8")
        _cudnn().set_stream(plan.handle, cupy.cuda.get_current_stream().ptr)
        plan.graph.execute(
            dict(
                zip(plan.tensors, (each.data.ptr for each in (first, second, result)), strict=True)
            ),
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
    cudnn, handle = _cudnn(), _handle(device)
    graph, tensors = described(direction, convolution, handle=handle)
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    note = cudnn.numerical_note
    # TENSOR_CORE on float32 is TF32, of ten bits.
    graph.deselect_numeric_notes(
        [note.TENSOR_CORE, note.DOWN_CONVERT_INPUTS, note.NONDETERMINISTIC]
    )
    graph.check_support()
    graph.build_plans()
    return _Plan(graph, tensors, int(graph.get_workspace_size()), handle)


def described(
    direction: Direction, convolution: Convolution, *, handle: Any = None
) -> tuple[Any, tuple[Any, Any, Any]]:
    """The graph of one convolution, with its two operands and its result. Needs the frontend, and no GPU."""
    cudnn = _cudnn()
    single = cudnn.data_type.FLOAT
    context = {} if handle is None else {"handle": handle}
    graph = cudnn.pygraph(
        io_data_type=single, intermediate_data_type=single, compute_data_type=single, **context
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
    return _cudnn().create_handle()


def _row_major(shape: Shape) -> list[int]:
    _, channels, height, width = shape
    return [channels * height * width, height * width, width, 1]


def _packed(array: Array) -> Array:
    return _cupy().ascontiguousarray(array)


def _cudnn() -> Any:
    import cudnn

    return cudnn


def _cupy() -> Any:
    import cupy

    return cupy
