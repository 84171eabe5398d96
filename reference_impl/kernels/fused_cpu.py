"""Softmax cross-entropy on the CPU in one pass: about what copying the logits costs. Needs the extra ``fast``.

The gradient is formed in forward, multiplied by ``expected_dy`` and by the mean's 1 / count; ``scale_gradient`` makes
up for another dy, and is nothing when there is none to make up for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import chain
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.kernels.complaint import complain

__all__ = ["default_threads", "forward_backward", "is_available", "scale_gradient", "takes"]

_PARALLEL_FROM = 1_000_000
"""Logits from which on several threads are used. Waking them costs about 50 us, as much as a quarter of a million
logits take; at a million two threads are ahead for certain."""

_RANGES_PER_THREAD = 8
"""Runs of rows to a thread. A thread that the machine holds up leaves the rest to others."""

_STREAMING_FROM_BYTES = 6 * 2**20
"""Gradients from which on are written past the caches. Measured on a Zen 4 with 32 MiB of third-level cache, including a
copy of the gradient right afterwards, which then comes from memory: 20% slower at 4 MB, as fast or faster from 8 MB on."""

_STREAMING_ROW_BYTES = 3 * 2**10
"""Rows shorter than that are not: there is work at both ends of each. Measured likewise, in gradients of 16 MB: 5% faster
from 3.4 KB on, 30% slower at 2.4 KB."""

_BITS = {"float32": np.int32, "float64": np.int64, "float16": np.uint16, "bfloat16": np.uint16}
_ID_DTYPES = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"))


def is_available() -> bool:
    """Whether numba is installed. Imports it if so."""
    try:
        _loops()
    except ImportError:
        return False
    return True


def takes(logits: Any, labels: Any) -> bool:
    """Whether this kernel is written for such arrays: C-ordered logits (N, C), C >= 1, with ids (N,) or (N, 1).

    Looks at types, dtypes, shapes and strides only.
    """
    return (
        type(logits) is np.ndarray
        and type(labels) is np.ndarray
        and logits.ndim == 2
        and logits.shape[1] > 0
        and _name(logits.dtype) in _BITS
        and logits.flags.c_contiguous
        and labels.shape in ((logits.shape[0],), (logits.shape[0], 1))
        and _name(labels.dtype) in _ID_DTYPES
    )


def forward_backward(
    logits: NDArray[Any],
    labels: NDArray[Any],
    *,
    loss_out: NDArray[Any],
    gradient_out: NDArray[Any] | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    expected_dy: float = 1.0,
    complaint_out: NDArray[Any] | None = None,
    threads: int | None = None,
) -> None:
    """Loss and gradient of ``logits`` (N, C), read once, under class ids ``labels``.

    ``loss_out``: float32, float64 for float64 logits; of one element, or (N,) for ``reduction`` "none".
    ``gradient_out``: shape and dtype of the logits, C order, may be the logits themselves; None for the loss alone.
    It receives the gradient times ``expected_dy``. A row of ``ignore_index`` has loss and gradient 0, whatever it holds.
    A label out of range makes its row NaN; the first such row is noted in ``complaint_out``, a record of
    ``task.COMPLAINT``. Other rows become NaN when they hold NaN or +inf or nothing but -inf.

    Raises ``TypeError`` or ``ValueError`` for arrays that ``takes`` refuses or that do not fit one another, and
    ``ImportError`` without numba. Cost: 8 bytes moved per float32 logit; ``threads`` (default: all) above a million.
    """
    rows = _check(logits, labels, loss_out, gradient_out, reduction)
    ids = labels.reshape(rows).astype(np.int64, copy=False)
    losses = loss_out if reduction == "none" else np.empty(rows, loss_out.dtype)
    scale = float(expected_dy)
    if reduction == "mean":
        count = rows if ignore_index is None else int((ids != ignore_index).sum())
        scale = expected_dy / count if count else 0.0
    work = _work(logits, ids, losses, gradient_out, scale=scale, ignore_index=ignore_index)
    bad = [row for row in _in_ranges(work, logits, threads) if row >= 0]
    if bad and complaint_out is not None:
        complain(complaint_out, row=min(bad), label=int(ids[min(bad)]))
    if reduction == "none":
        return
    total = _loops().added_up(losses)
    if reduction == "mean":
        total = total / count if count else np.nan
    loss_out[...] = total


def scale_gradient(
    gradient: NDArray[Any],
    dy: NDArray[Any] | float,
    *,
    expected_dy: float = 1.0,
    threads: int | None = None,
) -> None:
    """Multiplies ``gradient`` (N, C) in place by ``dy / expected_dy``, a number or one for each row.

    Returns at once where that is 1. Zeros stay zeros, whatever dy is: an ignored row has no gradient.
    """
    if isinstance(dy, np.ndarray) and dy.size != 1:
        _scale_rows(gradient, dy.astype(np.float64) / expected_dy)
        return
    factor = (dy.item() if isinstance(dy, np.ndarray) else float(dy)) / expected_dy
    if factor == 1.0:
        return
    if gradient.itemsize == 2:
        _scale_rows(gradient, np.array([factor]))
        return
    scaled = _loops().scaled
    for _ in _in_ranges(
        lambda first, last: scaled(gradient, first, last, factor), gradient, threads
    ):
        pass


def _scale_rows(gradient: NDArray[Any], factors: NDArray[np.float64]) -> None:
    if (factors == 1.0).all():
        return
    column = factors.reshape((-1, 1)).astype(np.float64 if gradient.itemsize == 8 else np.float32)
    with np.errstate(all="ignore"):
        np.multiply(gradient, column, out=gradient, where=gradient != 0, casting="same_kind")


def default_threads() -> int:
    """The threads that are used where nobody says otherwise: NUMBA_NUM_THREADS, or the processors given to us."""
    threads: int = _loops().default_threads()
    return threads


def _work(
    logits: NDArray[Any],
    ids: NDArray[np.int64],
    losses: NDArray[Any],
    gradient: NDArray[Any] | None,
    *,
    scale: float,
    ignore_index: int | None,
) -> Callable[[int, int], int]:
    loops = _loops()
    bits = logits.view(_BITS[_name(logits.dtype)])
    # 16-bit rows are computed in float32; which of the two formats they have is for the loops to know.
    if logits.itemsize == 2:
        rows, kind = loops.half_rows, logits.dtype == np.float16
        of_gradient = None if gradient is None else gradient.view(np.uint16)
        arrays: tuple[Any, ...] = (bits, kind, ids, losses, of_gradient)
        more: tuple[bool, ...] = ()
    else:
        rows, more = loops.float_rows, (_is_streaming(gradient),)
        arrays = (logits, bits, ids, losses, gradient)
    # A number in every case: for None the loops would be compiled once more.
    ignored = (ignore_index is not None, 0 if ignore_index is None else ignore_index)

    def work(first: int, last: int) -> int:
        bad: int = rows(*arrays, first, last, scale, *ignored, *more)
        return bad

    return work


def _is_streaming(gradient: NDArray[Any] | None) -> bool:
    return (
        gradient is not None
        and gradient.nbytes >= _STREAMING_FROM_BYTES
        and gradient.shape[1] * gradient.itemsize >= _STREAMING_ROW_BYTES
        and gradient.flags.aligned
    )


def _in_ranges(
    work: Callable[[int, int], Any], array: NDArray[Any], threads: int | None
) -> Iterator[Any]:
    rows = array.shape[0]
    threads = default_threads() if threads is None else threads
    if threads == 1 or array.size < _PARALLEL_FROM or rows < 2:
        return iter((work(0, rows),))
    step = -(-rows // (threads * _RANGES_PER_THREAD))
    ranges = iter([(first, min(first + step, rows)) for first in range(0, rows, step)])
    # Every thread takes the next range that is left; the interpreter's lock makes taking one indivisible.
    run = partial(_run, work, ranges)
    others = [_pool(threads - 1).submit(run) for _ in range(threads - 1)]
    mine = run()
    return chain(mine, *(other.result() for other in others))


def _run(work: Callable[[int, int], Any], ranges: Iterator[tuple[int, int]]) -> list[Any]:
    return [work(first, last) for first, last in ranges]


@cache
def _name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype in native byte order. NumPy takes a microsecond to say it."""
    return dtype.name if dtype.isnative else "foreign"


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="fused_cpu")


# A child of fork has none of its parent's threads.
os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def _loops() -> ModuleType:
    try:
        from reference_impl.kernels import fused_cpu_loops
    except ImportError as missing:
        raise ImportError(
            f"the fused CPU kernel needs numba ({missing}): pip install 'ondevice-harness[fast]'"
        ) from missing
    return fused_cpu_loops


def _check(
    logits: NDArray[Any],
    labels: NDArray[Any],
    loss_out: NDArray[Any],
    gradient_out: NDArray[Any] | None,
    reduction: str,
) -> int:
    if not takes(logits, labels):
        raise TypeError(
            f"no fused kernel for logits {logits.dtype} {logits.shape} and labels {labels.dtype} "
            f"{labels.shape}: need C-ordered (N, C) and integer ids (N,)"
        )
    rows: int = logits.shape[0]
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction {reduction!r} is not one of mean, sum, none")
    wide = np.float64 if logits.dtype == np.float64 else np.float32
    if loss_out.dtype != wide or loss_out.size != (rows if reduction == "none" else 1):
        raise ValueError(
            f"loss_out is {loss_out.dtype} {loss_out.shape}: need {np.dtype(wide)}, "
            f"{f'({rows},)' if reduction == 'none' else 'one element'}"
        )
    if gradient_out is not None and not (
        gradient_out.shape == logits.shape
        and gradient_out.dtype == logits.dtype
        and gradient_out.flags.c_contiguous
        and gradient_out.flags.writeable
    ):
        raise ValueError(
            f"gradient_out is {gradient_out.dtype} {gradient_out.shape}: need C-ordered, writeable "
            f"{logits.dtype} {logits.shape}"
        )
    return rows
