"""PyTorch's cross-entropy, forward and backward, on the device's default stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["NAMES", "MissingPeerError", "step"]

NAMES = (
    "PyTorch eager",
    "PyTorch eager, CUDA graph",
    "torch.compile",
    "torch.compile, CUDA graph",
)

_WARM_UP = 3
"""PyTorch's own advice before a capture."""


class MissingPeerError(Exception):
    """A peer is not here, or does not take these arrays."""


def step(name: str, logits: Any, labels: Any, *, device: str = "cuda") -> Callable[[], object]:
    """One forward and backward of peer ``name`` over host arrays, copied to the device here.

    Raises ``MissingPeerError`` with the reason.
    """
    torch = _torch(device)
    x = _tensor(torch, logits).to(device).requires_grad_()
    t = torch.from_numpy(labels).to(device)
    loss_of: Callable[[Any, Any], Any] = torch.nn.functional.cross_entropy
    if name.startswith("torch.compile"):
        torch._dynamo.reset()  # else it gives up compiling after some shapes, and runs them eagerly
        # Of the shapes it is given: code for any shape is slower, and the comparison would be too kind to us.
        loss_of = torch.compile(_mean_cross_entropy, dynamic=False)

    def call() -> None:
        x.grad = None
        loss_of(x, t).backward()

    return _as_graph(torch, call) if name.endswith("CUDA graph") else call


def _mean_cross_entropy(x: Any, t: Any) -> Any:
    import torch

    return torch.nn.functional.cross_entropy(x, t)


def _torch(device: str) -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingPeerError(f"PyTorch does not import ({error})") from error
    if device == "cuda" and not torch.cuda.is_available():
        raise MissingPeerError(f"PyTorch {torch.__version__} sees no GPU")
    return torch


def _tensor(torch: Any, array: Any) -> Any:
    """NumPy's bfloat16 is not one that PyTorch knows: its bits are handed over."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)


def _as_graph(torch: Any, call: Callable[[], object]) -> Callable[[], object]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UP):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    replay: Callable[[], object] = graph.replay
    return replay
