"""Linear algebra on the device.

cuSOLVER and cuBLAS leave a status on the device. Under the default ``errstate(linalg="ignore")`` nobody
reads it and a failed factorisation shows in the values, NaN here; under ``"raise"`` every status array is
one read (cupy/linalg/_util.py:110-148).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from harness.probes.simulated import boundary
from harness.probes.simulated.errstate import raises_on_failure
from harness.probes.simulated.indexing import count_true
from harness.probes.simulated.operation import Call, Operation, Work
from harness.probes.simulated.refusal import NotModelledError
from harness.probes.simulated.storage import Memory

__all__ = ["FUNCTIONS"]


def _statuses(count: int) -> None:
    if raises_on_failure():
        for _ in range(count):
            boundary.read_back(1)


def _one_matrix(call: Call, name: str) -> Memory:
    a: Memory = next(iter(call.memory.values()))
    if a.ndim > 2 and raises_on_failure():
        raise NotModelledError(
            f"linalg.{name} of a stack of matrices under errstate(linalg='raise')"
        )
    return a


def _solve(call: Call) -> None:
    """getrf and getrs report each; the batched routine once (cupyx/lapack.py:73-78, cupy/cublas.py:106)."""
    _statuses(1 if call.memory["a"].ndim > 2 else 2)


def _inv(call: Call) -> None:
    """Two factorisation steps report, batched or not (cupyx/lapack.py:73-78, cupy/linalg/_solve.py:301-313)."""
    _statuses(2)


def _one_status(name: str) -> Callable[[Call], None]:
    def read(call: Call) -> None:
        _one_matrix(call, name)
        _statuses(1)

    return read


def _qr(call: Call) -> None:
    """geqrf, and orgqr when Q is wanted (cupy/linalg/_decomposition.py:349, 389)."""
    a = _one_matrix(call, "qr")
    if min(a.shape):
        _statuses(1 if call.given.get("mode") in ("r", "raw") else 2)


def _norm(call: Call) -> None:
    """Only the orders that need singular values have a status (cupy/linalg/_norms.py:123, 126, 149)."""
    axis = call.given.get("axis")
    of_matrices = call.memory["x"].ndim > 1 if axis is None else isinstance(axis, tuple)
    if of_matrices and call.given.get("ord") in (2, -2, "nuc"):
        _one_matrix(call, "norm")
        _statuses(1)


def _cond(call: Call) -> None:
    """Whether any result is NaN, and if so which (cupy/linalg/_norms.py:214-218)."""
    x = _one_matrix(call, "cond")
    if x.size == 0:
        raise LinAlgError("cond is not defined on empty arrays")
    if call.given.get("p") in (None, 2, -2):
        _statuses(1)
    boundary.read_back(1)
    found = _ratio(x, call.given.get("p"))
    if np.isnan(found).any():
        if found.ndim:
            count_true(found)
        else:
            boundary.read_back(1)


def _ratio(x: Memory, p: Any) -> Memory:
    """The condition number before NaN is turned into infinity."""
    if p in (None, 2, -2):
        s = np.linalg.svd(x, compute_uv=False)
        return np.asarray(s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1])
    try:
        inverse = np.linalg.inv(x)
    except LinAlgError:
        return np.full(x.shape[:-2], np.nan)
    norms = [np.linalg.norm(matrix, p, axis=(-2, -1)) for matrix in (x, inverse)]
    return np.asarray(norms[0] * norms[1])


def _lstsq(call: Call) -> None:
    """Which singular values are small, and the rank when there are more rows (cupy/linalg/_solve.py:198, 206)."""
    a = call.memory["a"]
    _statuses(1)
    if min(a.shape):
        count_true(np.empty(min(a.shape), bool))
    if a.shape[0] > a.shape[1]:
        boundary.read_back(4)


def _pinv(call: Call) -> None:
    """Which singular values are small (cupy/linalg/_solve.py:361)."""
    a = _one_matrix(call, "pinv")
    if a.size:
        _statuses(1)
        count_true(np.empty((*a.shape[:-2], min(a.shape[-2:])), bool))


def _nan_when_singular(name: str, shaped_like: int) -> Callable[..., Any]:
    """NumPy's ``name``; a singular matrix gives NaN unless failures are to be raised.

    The result has the shape of the operand ``shaped_like``.
    """
    function = getattr(np.linalg, name)

    def compute(*operands: Memory, **options: Any) -> Any:
        a = operands[0]
        if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
            raise LinAlgError(f"linalg.{name} takes square matrices, not shape {a.shape}")
        try:
            return function(*operands, **options)
        except LinAlgError:
            if raises_on_failure():
                raise
            template = operands[shaped_like]
            return np.full(template.shape, np.nan, np.result_type(template, np.float32))

    return compute


def _lstsq_values(a: Memory, b: Memory, *, rcond: float | None = None) -> Any:
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond=rcond)
    return x, residuals, np.asarray(rank, np.int32), s


_ROWS: tuple[tuple[str, str, Any, Any], ...] = (
    # name, parameters, crossings, values
    ("cholesky", "a", _one_status("cholesky"), _nan_when_singular("cholesky", 0)),
    ("cond", "x | p", _cond, None),
    ("cross", "x1 x2 | axis", None, None),
    ("det", "a", None, None),
    ("eigh", "a | UPLO", _one_status("eigh"), None),
    ("eigvalsh", "a | UPLO", _one_status("eigvalsh"), None),
    ("inv", "a", _inv, _nan_when_singular("inv", 0)),
    ("lstsq", "a b | rcond", _lstsq, _lstsq_values),
    ("matmul", "x1 x2", None, None),
    ("matrix_power", "a | n", None, None),
    ("matrix_rank", "A | tol", _one_status("matrix_rank"), None),
    ("norm", "x | ord axis keepdims", _norm, None),
    ("pinv", "a | rcond", _pinv, None),
    ("qr", "a | mode", _qr, None),
    ("slogdet", "a", None, None),
    ("solve", "a b", _solve, _nan_when_singular("solve", 1)),
    ("svd", "a | full_matrices compute_uv", _one_status("svd"), None),
)


def _operation(name: str, parameters: str, crossings: Any, values: Any) -> Operation:
    computed = values if values is not None else getattr(np.linalg, name)
    return Operation(name, parameters, crossings=crossings, values=computed)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{row[0]: _operation(*row) for row in _ROWS},
    "matrix_transpose": Operation("matrix_transpose", "x", work=Work.VIEW),
}
"""``cupy.linalg`` by name."""
