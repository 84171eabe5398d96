"""Reverse-mode differentiation that knows no mathematics: operations, and the walk back through them.

The contract is that of Apache SINGA's ``autograd``: operations are recorded while ``training``; ``backward``
yields each parameter with its gradient as soon as the last use of that parameter is done, so that an
optimizer may update it, in place, while the walk goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple

import numpy as np

from reference_impl.backend import Array, namespace
from reference_impl.tensor import Tensor

__all__ = ["Operation", "Source", "backward", "gradients", "is_training", "training"]

_TRAINING: ContextVar[bool] = ContextVar("reference_impl.training", default=False)


@contextmanager
def training(mode: bool = True) -> Iterator[None]:
    """Record operations within the block, so that ``backward`` can be called on what they return.

    Off by default, as in SINGA. The flag belongs to the thread or task that sets it and ends with the
    block; an operation looks at it once, when it is called.
    """
    token = _TRAINING.set(mode)
    try:
        yield
    finally:
        _TRAINING.reset(token)


def is_training() -> bool:
    """Whether operations called now are recorded."""
    return _TRAINING.get()


class Source(NamedTuple):
    """Where one input of an operation came from.

    An input that requires no gradient, or is a leaf whose gradient nobody asked for, leaves neither a
    creator nor a parameter behind: the graph ends there and does not keep the array alive.
    """

    creator: Operation | None
    output_index: int
    parameter: Tensor | None
    requires_grad: bool

    @property
    def node(self) -> Operation | Tensor | None:
        """What gathers the gradient of this input; None when it may be thrown away."""
        return self.creator if self.creator is not None else self.parameter


class Operation:
    """One differentiable step: ``forward`` on arrays, ``backward`` beside it.

    A subclass keeps what ``backward`` needs only when ``self.recording`` is true, never changes it in
    place, and never changes an input. ``backward`` gets one gradient per output (None for an output that
    took no part) and returns one per input, in order; it may return the array it was given. It may be
    called more than once, with equal results. One instance stands for one call.
    """

    accepts_scalar_dy: ClassVar[bool] = False
    """Whether ``backward`` takes a Python float for a gradient that is the same everywhere."""

    recording: bool = False
    output_count: int = 0
    sources: tuple[Source, ...] = ()

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """The outputs of ``forward``, recorded when ``training`` and some input requires a gradient."""
        if self.output_count:
            raise RuntimeError(f"this {self!r} was called before; make a new one for each call")
        recording = _TRAINING.get() and any(x.requires_grad for x in inputs)
        self.recording = recording
        result = self.forward(*[x.data for x in inputs])
        outputs = result if isinstance(result, tuple) else (result,)
        self.output_count = len(outputs)
        if not recording:
            return tuple(Tensor(y, requires_grad=False) for y in outputs)
        self.sources = tuple(_source(x) for x in inputs)
        return tuple(Tensor(y, creator=self, output_index=i) for i, y in enumerate(outputs))

    def forward(self, *inputs: Any) -> Any:
        """The output array, or a tuple of them."""
        raise NotImplementedError(f"{type(self).__name__}.forward")

    def backward(self, *dys: Any) -> Any:
        """The gradient of the one input, or a tuple with one per input."""
        raise NotImplementedError(f"{type(self).__name__}.backward")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def _source(x: Tensor) -> Source:
    if not x.requires_grad:
        return Source(None, 0, None, False)
    creator = x.creator
    if creator is not None and not isinstance(creator, Operation):
        raise TypeError(f"the creator of {x!r} is not an Operation but {creator!r}")
    return Source(creator, x.output_index, x if x.stores_grad else None, True)


def backward(
    y: Tensor, dy: Tensor | Array | float | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Walk back from ``y`` and yield (parameter, gradient) as soon as the parameter's last use is done.

    ``dy`` is the gradient of ``y``: a number, or an array or tensor of ``y``'s shape; 1 when left out,
    which is allowed only where ``y`` has one element. The walk is last in, first out, and takes the
    inputs of an operation in their order. A parameter that was yielded may be changed in place before the
    next is asked for. Its gradient may share memory with other gradients and must only be read.

    Nothing is computed before the first item is asked for, but misuse raises at the call: ``TypeError``
    for a ``y`` or ``dy`` of the wrong kind, ``ValueError`` for one of the wrong shape or a ``y`` that was
    not recorded.
    """
    if not isinstance(y, Tensor):
        raise TypeError(f"backward needs a Tensor, got {type(y).__name__}")
    root = y.creator
    if not isinstance(root, Operation):
        raise ValueError(
            f"nothing was recorded for {y!r}: compute it within autograd.training(), "
            "from a tensor that requires its gradient"
        )
    return _walk(y, root, _root_gradient(y, root, dy))


def gradients(y: Tensor, dy: Tensor | Array | float | None = None) -> dict[Tensor, Tensor]:
    """The gradient of every parameter ``y`` depends on, in the order ``backward`` yields them."""
    return dict(backward(y, dy))


def _root_gradient(y: Tensor, root: Operation, dy: Tensor | Array | float | None) -> Array | float:
    if dy is None:
        if y.size != 1:
            raise ValueError(f"{y!r} has {y.size} elements: give dy, the gradient of each")
        dy = 1.0
    given: Array | float = dy.data if isinstance(dy, Tensor) else dy
    if isinstance(given, int | float | np.generic):
        # A number on the host stays one: an op that takes it as such needs no array, and no kernel.
        if root.accepts_scalar_dy and not y.stores_grad:
            return float(given)
        return namespace(y.data).full(y.shape, float(given), dtype=y.dtype)
    namespace(y.data, given)
    if given.shape == y.shape:
        return given
    if given.size == y.size == 1:
        return given.reshape(y.shape)
    raise ValueError(f"dy has shape {given.shape}, but {y!r} has shape {y.shape}")


class _Gathering:
    """The gradients that have reached the outputs of one node, and how many are still to come."""

    __slots__ = ("gradients", "missing")

    def __init__(self, output_count: int) -> None:
        self.gradients: list[Array | None] = [None] * output_count
        self.missing = [0] * output_count

    def add(self, index: int, gradient: Array) -> None:
        # Never in place: an operation may return one array for several inputs, or the one it was given.
        known = self.gradients[index]
        self.gradients[index] = gradient if known is None else known + gradient
        self.missing[index] -= 1


def _count_uses(root: Operation) -> dict[Operation | Tensor, _Gathering]:
    gathering: dict[Operation | Tensor, _Gathering] = {}
    to_visit = [root]
    while to_visit:
        operation = to_visit.pop()
        for source in operation.sources:
            node = source.node
            if node is None:
                continue
            if node not in gathering:
                creator = source.creator
                gathering[node] = _Gathering(1 if creator is None else creator.output_count)
                if creator is not None:
                    to_visit.append(creator)
            gathering[node].missing[source.output_index] += 1
    return gathering


def _walk(y: Tensor, root: Operation, dy: Array | float) -> Iterator[tuple[Tensor, Tensor]]:
    gathering = _count_uses(root)
    if y.stores_grad:
        yield y, Tensor(dy, requires_grad=False)
    dys: list[Array | None] = [None] * root.output_count
    dys[y.output_index] = dy
    ready = [(root, dys)]
    del y, root, dy, dys
    while ready:
        operation, dys = ready.pop()
        for source, dx in zip(operation.sources, _input_gradients(operation, dys), strict=True):
            node = source.node
            if node is None:
                continue
            gathered = gathering[node]
            gathered.add(source.output_index, dx)
            if source.parameter is not None and not gathered.missing[source.output_index]:
                yield (
                    source.parameter,
                    _gradient_of(source.parameter, gathered, source.output_index),
                )
            if not any(gathered.missing):
                del gathering[node]
                if source.creator is not None:
                    ready.append((source.creator, gathered.gradients))


def _input_gradients(operation: Operation, dys: list[Array | None]) -> tuple[Array | None, ...]:
    result = operation.backward(*dys)
    dxs = result if isinstance(result, tuple) else (result,)
    sources = operation.sources
    if len(dxs) != len(sources):
        raise ValueError(
            f"{operation!r} has {len(sources)} inputs but backward returned {len(dxs)} gradients"
        )
    for index, (source, dx) in enumerate(zip(sources, dxs, strict=True)):
        if dx is None and source.node is not None:
            raise ValueError(f"backward of {operation!r} returned no gradient for input {index}")
    return dxs


def _gradient_of(parameter: Tensor, gathered: _Gathering, index: int) -> Tensor:
    gradient = gathered.gradients[index]
    if gradient is None or gradient.shape != parameter.shape:
        shape = None if gradient is None else gradient.shape
        raise ValueError(f"the gradient of {parameter!r} came back with shape {shape}")
    return Tensor(gradient, requires_grad=False)
