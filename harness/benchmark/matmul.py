"""How fast a device multiplies matrices: the roof that every op with much arithmetic per byte works under."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.errors import UnavailableError
from harness.timers.base import Timer

__all__ = ["MatmulSpeed", "measure_matmul"]

_SIZES = (256, 512, 1024, 2048, 4096)
"""A core reaches its pace at 512 rows; a GPU of 132 multiprocessors is full from 2,048 on, and 4,096 rows are 200 MB."""

_BUDGET_NS = 0.15e9
"""At 100 Gflop/s, a core with wide vectors, four products of 1,024 rows take 86 ms of it."""

_MOST = 3
"""Products of one size; the best counts, since nothing can make one too fast."""


@dataclass(frozen=True, slots=True)
class MatmulSpeed:
    """The best of some products of square matrices of ``size`` rows, two operations per multiply-add."""

    size: int
    flops_per_second: float


def measure_matmul(make: Callable[[int], Callable[[], object]], *, timer: Timer) -> MatmulSpeed:
    """Time products of growing size for 0.15 s; ``make(size)`` gives what multiplies two matrices of so many rows.

    The first product of all may load a library and is on nobody's time, the first of a size may touch its result for
    the first time and is not counted. A size is tried only where all its products are sure to fit, but for the
    smallest. Raises ``UnavailableError`` when the clock stands still or runs backwards; what ``make`` and the products
    raise passes through.
    """
    timer.measure(make(_SIZES[0]), 1)
    best = MatmulSpeed(size=0, flops_per_second=0.0)
    started_ns = timer.now_ns()
    for size in _SIZES:
        operations = 2.0 * size**3
        left_ns = _BUDGET_NS - (timer.now_ns() - started_ns)
        if best.size and operations / best.flops_per_second * 1e9 * (_MOST + 1) > left_ns:
            break
        multiply = make(size)
        timer.measure(multiply, 1)
        for _ in range(_MOST):
            elapsed_ns = timer.measure(multiply, 1)
            if elapsed_ns <= 0:
                raise UnavailableError(
                    f"timer {timer.name!r} read {elapsed_ns:g} ns for a product of {size:,} rows; "
                    "check the machine's clock source"
                )
            if operations / elapsed_ns * 1e9 > best.flops_per_second:
                best = MatmulSpeed(size, operations / elapsed_ns * 1e9)
    return best
