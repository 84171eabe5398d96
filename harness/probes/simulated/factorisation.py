"""Factorisations that may fail: what the host learns of it, and what the values are then.

cuSOLVER and cuBLAS leave a status on the device. Under the default ``errstate(linalg="ignore")`` nobody reads
it and nothing is raised, whatever NumPy would say of the values; a matrix whose factorisation failed gives NaN
here (cuSOLVER leaves garbage or NaN). Under ``"raise"`` each status array is one read, and a failure one more,
of the statuses themselves for the message (cupy/linalg/_util.py:110-148).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from harness.probes.simulated import boundary
from harness.probes.simulated.errstate import raises_on_failure
from harness.probes.simulated.host_knowledge import depends_on_values
from harness.probes.simulated.storage import Memory

__all__ = ["factorisation", "report", "singular_values"]

_STATUS_BYTES = 4
"""A status is an int32."""


def factorisation(function: Callable[..., Any], statuses: Callable[..., int]) -> Callable[..., Any]:
    """``function`` on a matrix or a stack of them, failing as on a device.

    The first operand is the stack, further ones are stacked alike. ``statuses`` gives, of the operands and
    options, how many status arrays are checked. Wrong shapes raise ``LinAlgError`` as ever.
    """

    def compute(*operands: Memory, **options: Any) -> Any:
        failed = 0
        try:
            result = function(*operands, **options)
        except LinAlgError:
            if not depends_on_values(function, operands, options):
                raise
            result, failed = _matrix_by_matrix(function, operands, options)
        report(statuses(*operands, **options), failed=failed, matrices=_count(operands[0]))
        return result

    return compute


def report(statuses: int, *, failed: int = 0, matrices: int = 1) -> None:
    """The reads of the statuses, if anybody wants to know; ``LinAlgError`` when a factorisation failed."""
    if not (raises_on_failure() and statuses):
        return
    if failed:
        boundary.read_back(1)
        boundary.read_back(_STATUS_BYTES * matrices)
        raise LinAlgError(
            f"{failed} of {matrices} factorisations failed on the device (devInfo is not zero)"
        )
    for _ in range(statuses):
        boundary.read_back(1)


def singular_values(x: Memory) -> tuple[Memory, int]:
    """Singular values of a stack, NaN where they were not found, and for how many matrices that is."""
    failed = 0
    try:
        found = np.linalg.svd(x, compute_uv=False)
    except LinAlgError:
        if x.ndim < 2:
            raise
        found, failed = _matrix_by_matrix(_svdvals, (x,), {})
    return found, failed


def _svdvals(x: Memory) -> Memory:
    values: Memory = np.linalg.svd(x, compute_uv=False)
    return values


def _count(stack: Memory) -> int:
    return int(np.prod(stack.shape[:-2], dtype=int))


def _matrix_by_matrix(
    function: Callable[..., Any], operands: Sequence[Memory], options: Any
) -> tuple[Any, int]:
    """The results of the matrices one by one, with NaN for those that fail, and how many do."""
    batch = operands[0].shape[:-2]
    results, failed = [], 0
    for index in np.ndindex(batch):
        parts = [
            operand[index] if np.ndim(operand) > len(batch) else operand for operand in operands
        ]
        try:
            results.append(function(*parts, **options))
        except LinAlgError:
            regular = [
                np.broadcast_to(np.eye(*parts[0].shape), parts[0].shape).astype(parts[0].dtype)
            ]
            results.append(_as_nan(function(*regular, *parts[1:], **options)))
            failed += 1
    return _stacked(results, batch), failed


def _as_nan(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(_as_nan, result))
    # An integer is a rank: no singular value is found to be small.
    return np.full_like(result, np.nan) if np.asarray(result).dtype.kind in "fc" else result


def _stacked(results: list[Any], batch: tuple[int, ...]) -> Any:
    first = results[0]
    if isinstance(first, tuple):
        return tuple(_stacked(list(part), batch) for part in zip(*results, strict=True))
    return np.stack(results).reshape((*batch, *np.shape(first)))
