"""Every function of the tables, called once: the values are NumPy's and what crosses is what its row says."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.probes.simulated import (
    DeviceArray,
    SimulatedProbe,
    catalogue,
    composed,
    creation,
    histograms,
    host_answers,
    index_functions,
    joining,
    linalg,
    namespace,
    polynomials,
    ranges,
    variadic,
)
from harness.probes.simulated.elementwise import UFUNCS

_FROM_HOST = {"diag_indices_from", "frombuffer", "r_", "sliding_window_view"}

_REMOVED = {
    "alltrue": np.all,
    "asfarray": lambda a: np.asarray(a, float),
    "cumproduct": np.cumprod,
    "msort": lambda a: np.sort(a, axis=0),
    "product": np.prod,
    "round_": np.round,
    "row_stack": np.vstack,
    "sometrue": np.any,
    "trapz": np.trapezoid,
    "unique_values": np.unique,
}
"""Names CuPy keeps and NumPy 2 has dropped, and one whose order NumPy leaves open."""


class _NumPy:
    def __getattr__(self, name: str) -> Any:
        return _REMOVED[name] if name in _REMOVED else getattr(np, name)


_TABLE = tomllib.loads(Path(__file__).with_name("calls.toml").read_text("utf-8"))
CALLS = [(name, *row) for name, row in _TABLE["functions"].items()]
LINALG_CALLS = [(name, *row) for name, row in _TABLE["linalg"].items()]
COMPOSED_CALLS = [(name, *row) for name, row in _TABLE["composed"].items()]


def _inputs() -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return {
        "c": rng.normal(size=(2, 3, 4)),
        "e": np.array([-1.0, 0.0, 1.0]),
        "i": np.array([2, 0, 1, 3, 2, 5]),
        "m": np.array([[True, False, True], [False, True, True]]),
        "s": np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]),
        "u": np.array([3, 255], "uint8"),
        "v": rng.normal(size=6),
        "w": np.array([1.0, 2.0, 3.0]),
        "w6": rng.normal(size=6),
        "x": rng.normal(size=(2, 3)).astype("float32"),
        "z": rng.normal(size=3) + 1j * rng.normal(size=3),
    }


def _host(result: Any) -> Any:
    if isinstance(result, DeviceArray):
        return result.get()
    if isinstance(result, tuple | list):
        return [_host(part) for part in result]
    return result


def _compare(observed: Any, expected: Any) -> None:
    if isinstance(expected, tuple | list):
        assert len(observed) == len(expected)
        for left, right in zip(observed, expected, strict=True):
            _compare(left, right)
    elif expected is None:
        assert observed is None
    else:
        np.testing.assert_allclose(observed, expected, rtol=1e-6)
        assert np.asarray(observed).shape == np.asarray(expected).shape


@pytest.mark.parametrize(
    ("name", "call", "reads"),
    CALLS + LINALG_CALLS + COMPOSED_CALLS,
    ids=[call for _, call, _ in CALLS + LINALG_CALLS + COMPOSED_CALLS],
)
@pytest.mark.filterwarnings("ignore:msort is deprecated")
def test_a_function_computes_numpys_values_and_reads_what_its_row_says(
    name: str, call: str, reads: int
) -> None:
    on_host = _inputs()
    expected = eval(call, {"xp": _NumPy(), **on_host})
    on_device = {key: namespace.asarray(value) for key, value in _inputs().items()}
    with SimulatedProbe().record() as recording:
        result = eval(call, {"xp": namespace, **on_device})
    counts = recording.trace().counts()
    assert (counts.d2h, counts.syncs) == (reads, reads)
    assert counts.h2d == (1 if name in _FROM_HOST else 0)
    _compare(_host(result), expected)
    for key, value in on_device.items():
        np.testing.assert_array_equal(value.get(), on_host[key])


def test_every_function_of_the_tables_is_called_above() -> None:
    assert {name for name, _, _ in CALLS} == set(catalogue.FUNCTIONS)
    assert {name for name, _, _ in LINALG_CALLS} == set(linalg.FUNCTIONS)
    made_of_others = {
        **composed.FUNCTIONS,
        **histograms.FUNCTIONS,
        **index_functions.FUNCTIONS,
        **polynomials.FUNCTIONS,
    }
    elsewhere = {"as_strided", "broadcast", "sliding_window_view", "tensorinv", "tensorsolve"}
    assert {name for name, _, _ in COMPOSED_CALLS} - elsewhere == made_of_others.keys() - elsewhere


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_a_ufunc_is_one_kernel_with_numpys_values(name: str) -> None:
    ufunc = UFUNCS[name]
    dtype = "float64"
    if any(kind in name for kind in ("bitwise", "shift", "invert", "gcd", "lcm")):
        dtype = "int64"
    operands = [np.array([[1, 2], [3, 1]], dtype) for _ in range(ufunc.nin)]
    if name == "ldexp":
        operands[1] = operands[1].astype("int64")
    with np.errstate(all="ignore"):
        expected = ufunc(*operands)
    on_device = [namespace.asarray(operand) for operand in operands]
    with SimulatedProbe().record() as recording:
        result = getattr(namespace, name)(*on_device)
    _compare(_host(result), list(expected) if isinstance(expected, tuple) else expected)
    (kernel,) = recording.trace().events
    assert kernel.api == ufunc.__name__


def test_every_reading_row_names_where_cupy_reads() -> None:
    rows = catalogue.READS.strip().splitlines()
    assert len(rows) > 25
    assert all(":" in row.split()[-1] and ".py" in row.split()[-1] for row in rows)


def test_views_launch_nothing_unless_a_copy_is_needed() -> None:
    a = namespace.arange(6).reshape(2, 3)
    with SimulatedProbe().record() as recording:
        a.T.reshape(3, 2)
        namespace.ravel(a)
        namespace.transpose(a)
        namespace.split(a, 3, axis=1)
    assert recording.trace().events == ()
    with SimulatedProbe().record() as recording:
        namespace.ravel(a.T)
    assert [event.api for event in recording.trace().events] == ["ravel"]


def test_a_result_never_shares_memory_with_an_operand_of_a_kernel() -> None:
    kernels = {line.split()[0] for line in catalogue.KERNELS.strip().splitlines()}
    for name, call, _ in CALLS:
        if name not in kernels or "nan_to_num" in name:
            continue
        on_device = {key: namespace.asarray(value) for key, value in _inputs().items()}
        result = eval(call, {"xp": namespace, **on_device})
        parts = result if isinstance(result, tuple | list) else [result]
        for part in parts:
            for operand in on_device.values():
                assert not np.may_share_memory(part._memory, operand._memory), name


def test_an_empty_result_launches_nothing() -> None:
    empty = namespace.empty((0, 3), "float32")
    with SimulatedProbe().record() as recording:
        _ = empty + 1, namespace.exp(empty), namespace.sort(empty), empty.copy()
    assert recording.trace().events == ()


def test_numpy_functions_dispatch_to_the_namespace() -> None:
    a = namespace.arange(4.0)
    for result in (np.sum(a), np.concatenate([a, a]), np.where(a > 1, a, 0.0), np.zeros_like(a)):
        assert isinstance(result, DeviceArray)
    assert np.shape(a) == (4,)
    assert np.result_type(a, np.float32) == np.float64
    with SimulatedProbe().record() as recording:
        assert "0., 1., 2., 3." in np.array_repr(a)
    assert recording.trace().counts().d2h == 1


def test_answers_about_the_host_are_free() -> None:
    a = namespace.arange(4)
    reading = {"shares_memory"} | {name for name in host_answers.FUNCTIONS if name[:5] == "array"}
    with SimulatedProbe().record() as recording:
        for name in host_answers.FUNCTIONS.keys() - reading:
            arguments = (a, a) if name in ("can_cast", "may_share_memory") else (a,)
            getattr(namespace, name)(*arguments)
    assert recording.trace().events == ()


def test_no_answer_about_the_host_depends_on_values() -> None:
    small, large = namespace.asarray(3), namespace.asarray(2**40)
    for name in ("min_scalar_type", "result_type", "common_type"):
        assert getattr(namespace, name)(small) == getattr(namespace, name)(large)
    assert namespace.min_scalar_type(small) == np.int64
    assert namespace.min_scalar_type(3) == np.uint8


def test_whether_arrays_share_memory_is_computed_on_the_device_and_read() -> None:
    a = namespace.arange(6)
    with SimulatedProbe().record() as recording:
        assert namespace.shares_memory(a, a)
        assert namespace.shares_memory(a[::2], a[1::2], "MAY_SHARE_BOUNDS")
    assert recording.trace().events == ()
    with SimulatedProbe().record() as recording:
        assert not namespace.shares_memory(a[::2], a[1::2])
    counts = recording.trace().counts()
    assert (counts.d2h, counts.d2h_bytes, counts.syncs) == (1, 1, 1)
    for call in (namespace.shares_memory, namespace.may_share_memory):
        with pytest.raises(NotImplementedError, match="max_work"):
            call(a, a[1:], 10)
    low, high = namespace.byte_bounds(a)
    assert high - low == a.nbytes


def test_only_cupys_parameters_are_taken() -> None:
    a = namespace.arange(4.0)
    with pytest.raises(TypeError, match="no argument 'where'"):
        np.sum(a, where=a > 1)
    with pytest.raises(TypeError, match="at most"):
        namespace.sum(a, None, None, None, False, 0)
    with pytest.raises(TypeError, match="two values"):
        namespace.sum(a, None, axis=0)
    with pytest.raises(TypeError, match="lacks 'condition'"):
        namespace.where(x=a, y=a)
    with pytest.raises(TypeError, match="host value"):
        namespace.sum(a, axis=a[0].astype(int))
    assert float(namespace.sum(a=a)) == 6.0
    assert namespace.take(a, axis=0, indices=namespace.asarray([1])).shape == (1,)
    out = namespace.zeros((), "float64")
    assert namespace.sum(a, out=out) is out
    with pytest.raises(TypeError, match="unsupported type str"):
        namespace.isclose(a, "x")
    with pytest.raises(NotImplementedError, match="subscripts as text"):
        namespace.einsum(a, [0])
    transposed = namespace.einsum("i->i", a)
    assert not np.may_share_memory(transposed._memory, a._memory)
    assert namespace.ravel_multi_index(namespace.asarray([[0], [1]]), (2, 2)).tolist() == [1]
    assert namespace.broadcast_arrays() == ()


def test_the_tables_of_functions_do_not_overlap() -> None:
    names = [
        *creation.FUNCTIONS,
        *joining.FUNCTIONS,
        *ranges.FUNCTIONS,
        *variadic.FUNCTIONS,
        *host_answers.FUNCTIONS,
        *UFUNCS,
    ]
    assert len(names) == len(set(names))
