"""Softmax cross-entropy on the CPU, forward and backward, beside its peers: prints one table.

Every peer does the same work on the same logits with the same number of threads. A round times each peer once, in an
order that is drawn anew, so that whatever the machine does falls on all of them alike and each finds the caches as
another left them. The floor is what copying the logits costs with as many threads.
"""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rounds import Call, Peer, machine, measure, ratio, say, spread, versions

SHAPES = ((64, 10), (256, 1000), (4096, 1000), (1024, 32000))
FLOOR = "memcpy (floor)"
OURS = "fused kernel (numba)"
TORCH = "torch eager"


@dataclass(frozen=True)
class Problem:
    """Logits (N, C) float32, labels (N,) int64, and the number of threads to use."""

    logits: NDArray[np.float32]
    labels: NDArray[np.int64]
    threads: int


def main() -> None:
    """Prints the table and what it was measured with."""
    # Large pages for torch's allocations, which otherwise take most of its time. torch looks when it is imported.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    options = _options()
    missing: dict[str, str] = {}
    say(_conditions(options))
    say("")
    say(
        "| shape | peer | forward, us: median [min] | forward + backward, us: median [min] |"
        " spread of the latter | it / floor | torch eager / it |"
    )
    say("|---|---|---|---|---|---|---|")
    for rows, classes in SHAPES:
        generator = np.random.default_rng(options.seed)
        logits = generator.standard_normal((rows, classes), dtype=np.float32) * 4
        problem = Problem(logits, generator.integers(0, classes, rows), options.threads)
        rounds = max(
            options.least_rounds, min(options.rounds, options.rounds * 10**6 // logits.size)
        )
        forward, both = _peers(problem, missing)
        measure([*forward, *both], rounds=rounds, seed=options.seed)
        for line in _lines(f"({rows}, {classes})", forward, both):
            say(line)
    say("")
    for name, why in missing.items():
        say(f"left out: {name}: {why}")
    say(f"load average at the end: {os.getloadavg()[0]:.2f}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1, help="of every peer (default: 1)")
    parser.add_argument("--rounds", type=int, default=300, help="at most, of the small shapes")
    parser.add_argument("--least-rounds", type=int, default=15, help="of the largest shape")
    parser.add_argument("--seed", type=int, default=0, help="of logits, labels and orders")
    return parser.parse_args()


def _peers(problem: Problem, missing: dict[str, str]) -> tuple[list[Peer], list[Peer]]:
    """The peers' forward calls and their forward + backward calls. Whatever cannot be had goes to ``missing``."""
    forward, both = [], []
    makers = {
        TORCH: _torch_eager,
        "torch.compile": _torch_compiled,
        "the op of this package (NumPy)": _numpy_op,
        OURS: _fused,
    }
    for name, make in makers.items():
        try:
            calls = make(problem)
            for call in calls:
                call()
        except Exception as problem_with_it:  # noqa: BLE001  whatever a peer raises, the others are measured
            missing[name] = (
                f"{type(problem_with_it).__name__}: {str(problem_with_it).splitlines()[0]}"
            )
            continue
        forward.append(Peer(name, calls[0]))
        both.append(Peer(name, calls[1]))
    both.append(Peer(FLOOR, _memcpy(problem)))
    return forward, both


def _lines(shape: str, forward: list[Peer], both: list[Peer]) -> Iterator[str]:
    by_name = {peer.name: peer for peer in both}
    forward_by_name = {peer.name: peer for peer in forward}
    for name, peer in by_name.items():
        alone = forward_by_name.get(name)
        cells = (
            shape,
            name,
            _time(alone) if alone else "",
            _time(peer),
            spread(peer),
            ratio(peer, by_name[FLOOR]),
            ratio(by_name[TORCH], peer) if TORCH in by_name else "",
        )
        yield "| " + " | ".join(cells) + " |"


def _time(peer: Peer) -> str:
    return f"{peer.median_s * 1e6:.1f} [{min(peer.times_s) * 1e6:.1f}]"


def _torch_eager(problem: Problem) -> tuple[Call, Call]:
    import torch

    torch.set_num_threads(problem.threads)
    return _torch_calls(problem, torch.nn.functional.cross_entropy)


def _torch_compiled(problem: Problem) -> tuple[Call, Call]:
    import torch

    torch._dynamo.reset()
    return _torch_calls(problem, torch.compile(torch.nn.functional.cross_entropy))


def _torch_calls(problem: Problem, cross_entropy: Callable[..., object]) -> tuple[Call, Call]:
    import torch

    x = torch.from_numpy(problem.logits).requires_grad_(True)
    t = torch.from_numpy(problem.labels)

    def forward() -> object:
        with torch.no_grad():
            return cross_entropy(x, t)

    def both() -> object:
        x.grad = None
        loss = cross_entropy(x, t)
        loss.backward()  # type: ignore[attr-defined]  # a torch.Tensor
        return x.grad

    return forward, both


def _numpy_op(problem: Problem) -> tuple[Call, Call]:
    from reference_impl.autograd import gradients, training
    from reference_impl.ops import softmax_cross_entropy
    from reference_impl.tensor import Tensor

    x = Tensor(problem.logits, requires_grad=True, stores_grad=True)

    def both() -> object:
        with training():
            return gradients(softmax_cross_entropy(x, problem.labels))

    return lambda: softmax_cross_entropy(x, problem.labels), both


def _fused(problem: Problem) -> tuple[Call, Call]:
    from reference_impl.kernels import fused_cpu

    loss = np.empty(1, np.float32)
    gradient = np.empty_like(problem.logits)

    def forward() -> None:
        fused_cpu.forward_backward(
            problem.logits, problem.labels, loss_out=loss, threads=problem.threads
        )

    def both() -> None:
        fused_cpu.forward_backward(
            problem.logits,
            problem.labels,
            loss_out=loss,
            gradient_out=gradient,
            threads=problem.threads,
        )
        fused_cpu.scale_gradient(gradient, 1.0)

    return forward, both


def _memcpy(problem: Problem) -> Call:
    source, target = problem.logits, np.empty_like(problem.logits)
    if problem.threads == 1 or source.size < 10**6:
        return lambda: np.copyto(target, source)
    pool = ThreadPoolExecutor(problem.threads - 1)
    step = -(-len(source) // (8 * problem.threads))

    def copy(starts: Iterator[int]) -> None:
        for start in starts:
            np.copyto(target[start : start + step], source[start : start + step])

    def both() -> None:
        starts = _shared(range(0, len(source), step))
        others = [pool.submit(copy, starts) for _ in range(problem.threads - 1)]
        copy(starts)
        for other in others:
            other.result()

    return both


def _shared(numbers: range) -> Iterator[int]:
    lock, remaining = threading.Lock(), iter(numbers)
    while True:
        with lock:
            number = next(remaining, None)
        if number is None:
            return
        yield number


def _conditions(options: argparse.Namespace) -> str:
    return (
        f"{machine()}, {options.threads} threads for every peer, "
        f"THP_MEM_ALLOC_ENABLE={os.environ['THP_MEM_ALLOC_ENABLE']}\n"
        f"{versions('numpy', 'numba', 'torch')}, seed {options.seed}, load average at the start {os.getloadavg()[0]:.2f}\n"
        "float32 logits, int64 labels, mean. Spread: the 10th and 90th percentile around the median (calls).\n"
        "Ratios: the median over rounds [of the fastest calls]."
    )


if __name__ == "__main__":
    main()
