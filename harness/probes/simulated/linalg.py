"""``cupy.linalg`` by name: parameters, reads and values; failures are those of ``factorisation``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from harness.probes.simulated import boundary
from harness.probes.simulated.factorisation import factorisation, report, singular_values
from harness.probes.simulated.indexing import count_true
from harness.probes.simulated.operation import Operation, Work
from harness.probes.simulated.storage import Memory

__all__ = ["FUNCTIONS"]

_LARGEST_BATCHED = 256
"""Up to this size a stack is solved by one batched call (cupy/cublas.py:16), beyond it matrix by matrix."""


def _one_if_any(a: Memory, *others: Any, **options: Any) -> int:
    return 1 if a.size else 0


def _two_if_any(a: Memory, *others: Any, **options: Any) -> int:
    """Two steps report, batched or not (cupyx/lapack.py:73-78, cupy/linalg/_solve.py:301-313)."""
    return 2 if a.size else 0


def _of_solve(a: Memory, b: Memory) -> int:
    """getrf and getrs report each; the batched routine once (cupyx/lapack.py:73-78, cupy/cublas.py:106)."""
    if not a.size:
        return 0
    if a.ndim > 2 and a.shape[-1] <= _LARGEST_BATCHED:
        return 1
    return 2 * int(np.prod(a.shape[:-2], dtype=int))


def _of_qr(a: Memory, *, mode: str = "reduced") -> int:
    """geqrf, and orgqr when Q is wanted (cupy/linalg/_decomposition.py:349, 389; cupyx/_cusolver.pyx:1232, 1283)."""
    if not a.size:
        return 0
    return 1 if mode in ("r", "raw") else 2


def _of_power(a: Memory, n: int) -> int:
    return _two_if_any(a) if n < 0 else 0


def _solve(a: Memory, b: Memory) -> Any:
    """CuPy broadcasts ``b`` over a stack only when it is one row (cupy/linalg/_solve.py:46-59)."""
    if b.ndim == 0:
        raise ValueError("b must have an axis")
    if a.ndim > 1 and b.ndim > 1 and a.shape[:-1] != b.shape[:-1]:
        raise ValueError(f"b of shape {b.shape} does not fit a of shape {a.shape}")
    if b.ndim == 1 and a.ndim > 2:
        b = np.broadcast_to(b, a.shape[:-1])[..., None]
        return np.linalg.solve(a, b)[..., 0]
    return np.linalg.solve(a, b)


def _eig(a: Memory) -> Any:
    """NumPy answers in reals when every eigenvalue is one, which a device cannot know."""
    values, vectors = np.linalg.eig(a)
    return tuple(part.astype(np.result_type(part, np.complex64)) for part in (values, vectors))


def _eigvals(a: Memory) -> Any:
    return _eig(a)[0]


def _with_half(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` for float16 too, computed in float32 (cupy/linalg/_eigenvalue.py:30)."""

    def compute(a: Memory, *, UPLO: str = "L") -> Any:  # noqa: N803 - NumPy's and CuPy's name
        if a.dtype != np.float16:
            return function(a, UPLO=UPLO)
        result = function(a.astype(np.float32), UPLO=UPLO)
        if isinstance(result, tuple):
            return tuple(part.astype(np.float16) for part in result)
        return result.astype(np.float16)

    return compute


def _norm(x: Memory, *, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Only the orders that need singular values have a status (cupy/linalg/_norms.py:123, 126, 149)."""
    axes = tuple(range(x.ndim)) if axis is None else axis
    of_matrices = isinstance(axes, tuple) and len(axes) == 2
    if not (of_matrices and ord in (2, -2, "nuc")):
        return np.linalg.norm(x, ord, axis, keepdims)
    kept: Any = np.linalg.norm(
        np.ones_like(x, dtype=float), ord, axis, keepdims
    )  # shapes, axes, order
    matrices = np.moveaxis(x, axes, (-2, -1))
    values, failed = singular_values(matrices)
    report(1 if x.size else 0, failed=failed, matrices=int(np.prod(matrices.shape[:-2], dtype=int)))
    reduce: Any = {2: np.max, -2: np.min, "nuc": np.sum}[ord]
    return np.asarray(reduce(values, axis=-1)).reshape(np.shape(kept))


def _cond(x: Memory, *, p: Any = None) -> Any:
    """Whether any result is NaN, and if so which (cupy/linalg/_norms.py:214-218)."""
    if x.size == 0:
        raise LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        values, failed = singular_values(x)
        report(1, failed=failed, matrices=int(np.prod(x.shape[:-2], dtype=int)))
        ends = values[..., 0], values[..., -1]
        ratio = np.asarray(ends[1] / ends[0] if p == -2 else ends[0] / ends[1])
    else:
        inverse = factorisation(np.linalg.inv, lambda a: 0)(x)
        norms = [np.linalg.norm(matrix, p, axis=(-2, -1)) for matrix in (x, inverse)]
        ratio = np.asarray(norms[0] * norms[1])
    boundary.read_back(1)
    unknown = np.isnan(ratio)
    if unknown.any():
        if ratio.ndim:
            count_true(ratio)
        else:
            boundary.read_back(1)
        ratio = np.where(unknown & ~np.isnan(x).any(axis=(-2, -1)), np.inf, ratio)
    return ratio


def _matrix_rank(x: Memory, *, tol: Any = None) -> Any:
    """How many singular values exceed ``tol``; none that were not found do."""
    if x.ndim < 2:
        return np.asarray((x != 0).any().astype(int))
    values, failed = singular_values(x)
    report(1 if x.size else 0, failed=failed, matrices=int(np.prod(x.shape[:-2], dtype=int)))
    if tol is None:
        largest = values.max(axis=-1, keepdims=True)
        tol = largest * max(x.shape[-2:]) * np.finfo(values.dtype).eps
    return (values > tol).sum(axis=-1, dtype=np.intp)


def _pinv(a: Memory, *, rcond: Any = 1e-15) -> Any:
    """Which singular values are small (cupy/linalg/_solve.py:361)."""
    if not a.size:
        return np.linalg.pinv(a)
    pseudo = factorisation(np.linalg.pinv, _one_if_any)(a, rcond=rcond)
    count_true(np.empty((*a.shape[:-2], min(a.shape[-2:])), bool))
    return pseudo


def _lstsq(a: Memory, b: Memory, *, rcond: float | None = None) -> Any:
    """Which singular values are small, and the rank when there are more rows (cupy/linalg/_solve.py:198, 206)."""
    computed = factorisation(_lstsq_values, _one_if_any)(a, b, rcond=rcond)
    if min(a.shape):
        count_true(np.empty(min(a.shape), bool))
    if a.shape[0] > a.shape[1]:
        boundary.read_back(4)
    return computed


def _lstsq_values(a: Memory, b: Memory, *, rcond: float | None = None) -> Any:
    if a.ndim != 2 or b.ndim > 2 or a.shape[0] != b.shape[0]:
        raise LinAlgError(f"lstsq() takes matrices that fit, not shapes {a.shape} and {b.shape}")
    if not np.isfinite(a).all():
        raise LinAlgError(
            "no singular values"
        )  # as LAPACK says, after complaints on standard error
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond=rcond)
    return x, residuals, np.asarray(rank, np.int32), s


def _matmul(x1: Memory, x2: Memory, **options: Any) -> Any:
    return np.matmul(x1, x2, **options)


_ROWS: tuple[tuple[str, str, Callable[..., Any] | None], ...] = (
    # name, parameters, values with their reads
    ("cholesky", "a", factorisation(np.linalg.cholesky, _one_if_any)),
    ("cond", "x | p", _cond),
    ("cross", "x1 x2 | axis", None),
    ("det", "a", None),
    ("eig", "a", factorisation(_eig, _one_if_any)),
    ("eigh", "a | UPLO", factorisation(_with_half(np.linalg.eigh), _one_if_any)),
    ("eigvals", "a", factorisation(_eigvals, _one_if_any)),
    ("eigvalsh", "a | UPLO", factorisation(_with_half(np.linalg.eigvalsh), _one_if_any)),
    ("inv", "a", factorisation(np.linalg.inv, _two_if_any)),
    ("lstsq", "a b | rcond", _lstsq),
    (
        "matmul",
        "x1 x2 | !axes !axis !keepdims casting dtype !signature !order out",
        _matmul,
    ),
    ("matrix_power", "M n", factorisation(np.linalg.matrix_power, _of_power)),
    ("matrix_rank", "M | tol", _matrix_rank),
    ("norm", "x | ord axis keepdims", _norm),
    ("pinv", "a | rcond", _pinv),
    ("qr", "a | mode", factorisation(np.linalg.qr, _of_qr)),
    ("slogdet", "a", None),
    ("solve", "a b", factorisation(_solve, _of_solve)),
    ("svd", "a | full_matrices compute_uv", factorisation(np.linalg.svd, _one_if_any)),
)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{
        name: Operation(
            name,
            parameters,
            values=values if values is not None else getattr(np.linalg, name),
            owner="xp.linalg",
            announces_itself=values is not None,
        )
        for name, parameters, values in _ROWS
    },
    "matrix_transpose": Operation("matrix_transpose", "a", work=Work.VIEW, owner="xp.linalg"),
}
"""Functions that take device arrays and return memory."""
