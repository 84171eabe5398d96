"""What depends on values in device memory is read and counted, or is not known: no error, warning or shape tells it."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.model.trace import Trace
from harness.probes.simulated import (
    DeviceArray,
    NotModelledError,
    SimulatedProbe,
    errstate,
    namespace,
)
from harness.probes.simulated.elementwise import UFUNCS
from harness.probes.simulated.host_knowledge import REFUSALS, depends_on_values
from harness.probes.simulated.operation import Operation
from harness.probes.simulated.random_state import DISTRIBUTIONS

_TABLE = tomllib.loads(Path(__file__).with_name("calls.toml").read_text("utf-8"))
_CALLS = [expression for section in _TABLE.values() for expression, _ in section.values()]

_SHAPES: dict[str, tuple[str, tuple[int, ...]]] = {
    "c": ("float64", (2, 3, 4)),
    "e": ("float64", (3,)),
    "i": ("int64", (6,)),
    "m": ("bool", (2, 3)),
    "s": ("float64", (3, 3)),
    "u": ("uint8", (2,)),
    "v": ("float64", (6,)),
    "w": ("float64", (3,)),
    "w6": ("float64", (6,)),
    "x": ("float32", (2, 3)),
    "z": ("complex128", (3,)),
}


def _filled(value: float) -> Callable[[str, tuple[int, ...]], Any]:
    def fill(dtype: str, shape: tuple[int, ...]) -> Any:
        with np.errstate(all="ignore"):
            return np.full(shape, value).astype(dtype)

    return fill


def _falling(dtype: str, shape: tuple[int, ...]) -> Any:
    size = int(np.prod(shape))
    return np.arange(size, 0, -1).reshape(shape).astype(dtype)


def _mixed(dtype: str, shape: tuple[int, ...]) -> Any:
    values = np.resize([1.0, np.nan, -5.0, 0.0, np.inf], shape)
    with np.errstate(all="ignore"):
        return values.astype(dtype)


_HOSTILE = {
    "nan": _filled(np.nan),
    "inf": _filled(np.inf),
    "zero": _filled(0.0),
    "minus one": _filled(-1.0),
    "large": _filled(1000.0),
    "falling": _falling,
    "mixed": _mixed,
}


def _names(fill: Callable[[str, tuple[int, ...]], Any]) -> dict[str, Any]:
    return {name: namespace.asarray(fill(*described)) for name, described in _SHAPES.items()}


def _shapes(result: Any) -> Any:
    if isinstance(result, tuple | list):
        return [_shapes(part) for part in result]
    return (result.shape, result.dtype) if isinstance(result, DeviceArray) else type(result)


def _run(action: Callable[[], Any]) -> tuple[Any, Exception | None, Trace]:
    result, raised = None, None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "msort is deprecated")
        with SimulatedProbe().record() as recording:
            try:
                result = action()
            except Exception as error:  # noqa: BLE001 - whatever it is, it tells the host something
                raised = error
    return result, raised, recording.trace()


def _tells_nothing(action: Callable[[], Any], usual: Any) -> None:
    result, raised, trace = _run(action)
    if trace.counts().d2h:
        return
    if isinstance(raised, NotModelledError):
        assert trace.doubts
        return
    assert raised is None, f"{raised!r} tells of values that were not read"
    assert _shapes(result) == usual


def _ordinary(dtype: str, shape: tuple[int, ...]) -> Any:
    if len(shape) == 2:
        return np.eye(*shape).astype(dtype)
    return np.resize(np.arange(3), shape).astype(dtype)


@pytest.mark.parametrize("call", _CALLS)
def test_values_that_numpy_refuses_are_known_to_nobody(call: str) -> None:
    code = compile(call, "call", "eval")
    usual, raised, _ = _run(lambda: eval(code, {"xp": namespace, **_names(_ordinary)}))
    assert raised is None
    for fill in _HOSTILE.values():
        hostile = {"xp": namespace, **_names(fill)}
        _tells_nothing(lambda hostile=hostile: eval(code, hostile), _shapes(usual))


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_no_ufunc_refuses_values(name: str) -> None:
    ufunc, compute = UFUNCS[name], getattr(namespace, name)
    integral = any(kind in name for kind in ("bitwise", "shift", "invert", "gcd", "lcm"))
    for dtype in ["int64"] if integral else ["float64", "int64"]:
        for fill in _HOSTILE.values():
            operands = [namespace.asarray(fill(dtype, (2, 2))) for _ in range(ufunc.nin)]
            if name == "ldexp":
                operands[1] = operands[1].astype("int64")
            ones = [namespace.ones_like(operand) for operand in operands]
            usual, raised, _ = _run(lambda ones=ones: compute(*ones))
            assert raised is None
            _tells_nothing(lambda operands=operands: compute(*operands), _shapes(usual))


@pytest.mark.parametrize("row", DISTRIBUTIONS.strip().splitlines())
def test_no_distribution_refuses_parameters_it_has_not_read(row: str) -> None:
    name, *words = row.split()
    count = next(index for index, word in enumerate(words) if word in ("float", "int"))
    for state in (namespace.random, namespace.random.default_rng(0)):
        draw = getattr(state, name, None)
        if draw is None:
            continue
        for value in (-1.0, 0.0, 2.0, np.nan):
            parameters = [namespace.full(2, value) for _ in range(count)]
            result, raised, trace = _run(lambda draw=draw, given=parameters: draw(*given))
            told = trace.counts().d2h or trace.doubts or isinstance(raised, TypeError)
            assert told or (raised is None and isinstance(result, DeviceArray))


_SINGULAR = [
    "inv(s)",
    "solve(s, w)",
    "cholesky(s)",
    "eigh(s)",
    "eigvalsh(s)",
    "eig(s)",
    "eigvals(s)",
    "svd(s)",
    "svd(s, compute_uv=False)",
    "svd(t, full_matrices=False)",
    "pinv(t)",
    "norm(s, 2)",
    "norm(s, 'nuc', keepdims=True)",
    "norm(stack, -2, axis=(1, 2))",
    "matrix_rank(t)",
    "cond(s)",
    "cond(s, 1)",
    "cond(stack)",
    "lstsq(t, w)",
    "lstsq(t, t)",
    "matrix_power(s, -2)",
    "det(s)",
    "slogdet(s)",
    "qr(t)",
    "tensorsolve(s, w)",
    "tensorinv(s, ind=1)",
    "inv(stack)",
    "svd(stack)",
    "eigh(stack)",
    "cholesky(stack)",
    "solve(stack, stack)",
    "solve(stack, w)",
]


def _matrices(value: float, dtype: str) -> dict[str, Any]:
    s = np.full((3, 3), value).astype(dtype)
    return {
        "s": namespace.asarray(s),
        "stack": namespace.asarray(np.stack([np.eye(3, dtype=dtype), s])),
        "t": namespace.asarray(s[:, :2]),
        "w": namespace.ones(3, dtype),
        "xp": namespace,
    }


@pytest.mark.parametrize("call", _SINGULAR)
def test_a_factorisation_that_fails_raises_nothing_and_keeps_its_shapes(call: str) -> None:
    for dtype in ("float32", "float64", "complex128"):
        regular = _matrices(0.0, dtype)
        regular["s"] = namespace.eye(3, dtype=dtype)
        regular["stack"] = namespace.stack([regular["s"]] * 2)
        regular["t"] = regular["s"][:, :2]
        usual, _, usual_trace = _run(lambda regular=regular: eval(f"xp.linalg.{call}", regular))
        for value in (0.0, np.nan):
            names = _matrices(value, dtype)
            result, raised, trace = _run(lambda names=names: eval(f"xp.linalg.{call}", names))
            assert raised is None
            assert trace.doubts == ()
            assert trace.counts().d2h >= usual_trace.counts().d2h
            # Whether there are residuals is the one thing the host has read.
            assert _shapes(result) == _shapes(usual) or "lstsq" in call


@pytest.mark.parametrize(
    "call",
    [
        "inv(s)",
        "solve(s, w)",
        "cholesky(s)",
        "svd(n)",
        "eigh(n)",
        "pinv(n)",
        "norm(n, 2)",
        "cond(n)",
        "matrix_rank(n)",
        "lstsq(n, w)",
        "inv(stack)",
    ],
)
def test_a_failure_is_raised_when_asked_for_after_its_status_was_read(call: str) -> None:
    names = _matrices(0.0, "float64")
    names["n"] = names["s"] * np.nan
    with errstate(linalg="raise"):
        _, raised, trace = _run(lambda: eval(f"xp.linalg.{call}", names))
    assert isinstance(raised, np.linalg.LinAlgError)
    counts = trace.counts()
    status = 4 * (2 if "stack" in call else 1)
    assert (counts.d2h, counts.d2h_bytes, counts.syncs) == (2, 1 + status, 2)


def test_only_the_matrices_that_fail_are_nan() -> None:
    stack = namespace.asarray(np.stack([np.eye(2), np.zeros((2, 2)), 2 * np.eye(2)]))
    inverse = namespace.linalg.inv(stack).get()
    np.testing.assert_array_equal(inverse[0], np.eye(2))
    assert np.isnan(inverse[1]).all()
    np.testing.assert_array_equal(inverse[2], np.eye(2) / 2)
    values = namespace.linalg.eigvalsh(stack * namespace.asarray([1, np.nan, 1])[:, None, None])
    assert np.isnan(values.get()).tolist() == [[False] * 2, [True] * 2, [False] * 2]


def test_shapes_and_types_are_refused_as_ever() -> None:
    a = namespace.ones((2, 3))
    with SimulatedProbe().record() as recording:
        for call in ("inv", "cholesky", "eigh", "det", "eig"):
            with pytest.raises(np.linalg.LinAlgError):
                getattr(namespace.linalg, call)(a)
        with pytest.raises(ValueError, match="does not fit"):
            namespace.linalg.solve(namespace.ones((2, 3, 3)), namespace.ones((3, 3)))
        with pytest.raises(ValueError, match="b must have an axis"):
            namespace.linalg.solve(namespace.eye(2), namespace.asarray(1.0))
        with pytest.raises(np.linalg.LinAlgError):
            namespace.linalg.lstsq(a, namespace.ones(3))
        with pytest.raises(ValueError, match="reshape"):
            a.reshape(7)
    assert recording.trace().doubts == ()
    assert recording.trace().counts().d2h == 0


def test_an_error_about_shapes_is_told_from_one_about_values() -> None:
    zeros = np.zeros((2, 2))
    assert depends_on_values(np.linalg.inv, (zeros,), {})
    assert not depends_on_values(np.linalg.inv, (np.zeros((2, 3)),), {})
    assert depends_on_values(np.power, (np.array([2]), np.array([-1])), {})
    assert not depends_on_values(np.concatenate, ([zeros, np.zeros(3)],), {})
    assert all(issubclass(np.linalg.LinAlgError, REFUSALS) for _ in (0,))


def test_a_refusal_that_nobody_foresaw_is_not_passed_on() -> None:
    def picky(a: Any) -> Any:
        if (a < 0).any():
            raise ValueError("negative")
        return a + 1

    operation = Operation("picky", "a", values=picky)
    with SimulatedProbe().record() as recording:
        with pytest.raises(NotModelledError, match=r"xp\.picky of these values"):
            operation(namespace.asarray([-1.0]))
        with pytest.raises(NotModelledError, match=r"xp\.add\.reduceat of these values"):
            np.add.reduceat(namespace.ones(3), namespace.asarray([7]))
    assert len(recording.trace().doubts) == 2
    assert recording.trace().counts().d2h == 0


def test_eigenvalues_are_complex_whatever_they_are() -> None:
    values, vectors = namespace.linalg.eig(namespace.eye(2, dtype="float32"))
    assert (values.dtype, vectors.dtype) == (np.complex64, np.complex64)
    assert namespace.linalg.eigvals(namespace.asarray([[0, -1], [1, 0]])).dtype == np.complex128
    half = namespace.eye(2, dtype="float16")
    assert namespace.linalg.eigvalsh(half).dtype == np.float16
    assert [part.dtype for part in namespace.linalg.eigh(half)] == [np.float16, np.float16]


def test_nan_only_has_no_largest_and_falling_edges_are_not_noticed() -> None:
    a = namespace.asarray([[np.nan, np.nan], [np.nan, 2.0]])
    assert namespace.nanargmax(a, axis=1).tolist() == [-1, 1]
    assert namespace.nanargmin(a, axis=1, keepdims=True).tolist() == [[-1], [1]]
    out = namespace.zeros(2, "int64")
    assert namespace.nanargmax(a, axis=0, out=out) is out
    assert out.tolist() == [-1, 1]
    assert namespace.argmax(a * 0, axis=1, dtype="int32").dtype == np.int32
    edges = namespace.asarray([3.0, 1.0, 2.0, 0.0])
    x = namespace.asarray([0.5, 2.5])
    assert (
        namespace.digitize(x, edges[::3]).tolist() == np.digitize([0.5, 2.5], [3.0, 0.0]).tolist()
    )
    with SimulatedProbe().record() as recording:
        namespace.digitize(x, edges)
    assert recording.trace().counts().d2h == 0
    order = namespace.asarray([1, 0, 9])
    assert namespace.searchsorted(x, x, sorter=order[:2]).shape == (2,)
    namespace.searchsorted(edges[:3], x, sorter=order)
