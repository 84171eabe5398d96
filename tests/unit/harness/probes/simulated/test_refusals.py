"""What CuPy refuses is refused, before anything is copied."""

from __future__ import annotations

import copy
import operator
from typing import Any

import numpy as np
import pytest

from harness.probes.simulated import SimulatedProbe, namespace


@pytest.fixture
def a() -> Any:
    return namespace.arange(4, dtype="float32")


_HOST = np.ones(4, "float32")


def _evaluate(expression: str, a: Any) -> Any:
    names = {"a": a, "host": _HOST.copy(), "np": np, "operator": operator, "xp": namespace}
    return eval(expression, names)


@pytest.mark.parametrize(
    "convert",
    [
        "np.asarray(a)",
        "np.array([a, a])",
        "np.array([a[0], 1.0])",
        "np.float32(a[0])",
        'host[a.astype("int64")]',
        "host.__setitem__(slice(None), a)",
        "np.linspace(0, 1, a[0].astype(int))",
    ],
)
def test_implicit_conversion_to_numpy_is_refused(a: Any, convert: str) -> None:
    with SimulatedProbe().record() as recording, pytest.raises(TypeError):
        _evaluate(convert, a)
    assert recording.trace().counts().d2h == 0


def test_the_refusal_says_what_to_call_instead(a: Any) -> None:
    with pytest.raises(TypeError, match=r"call a\.get\(\) or asnumpy\(a\)"):
        np.asarray(a)


@pytest.mark.parametrize(
    "mix",
    [
        "a + host",
        "host * a",
        "np.add(host, a)",
        "a == host",
        "a + np.array(1.0)",
        "a.__iadd__(host)",
        "operator.iadd(host, a)",
        "np.add(a, a, out=host)",
        "xp.add(a, host)",
        "np.concatenate([a, host])",
        "xp.stack([host, a])",
        "np.where(a > 1, host, 0.0)",
        "xp.maximum(a, [1.0, 2.0, 3.0, 4.0])",
        "xp.sum(host)",
        "xp.sum(a, out=np.zeros(()))",
        "np.copyto(host, a)",
        "a @ host",
        'a + "1"',
        "a + [1, 2, 3, 4]",
        "xp.repeat(a, np.array([1, 2, 3, 4]))",
        "xp.add.at(host, [0], 1.0)",
    ],
)
def test_host_and_device_arrays_do_not_mix(a: Any, mix: str) -> None:
    with SimulatedProbe().record() as recording, pytest.raises(TypeError):
        _evaluate(mix, a)
    counts = recording.trace().counts()
    assert (counts.d2h, counts.h2d, counts.syncs) == (0, 0, 0)


def test_comparing_with_a_0d_host_array_is_the_one_mix_that_cupy_allows(a: Any) -> None:
    assert (a < np.array(2.0)).tolist() == [True, True, False, False]
    assert (np.array(2.0) > a).tolist() == [True, True, False, False]


def test_a_device_array_is_no_index_of_host_code(a: Any) -> None:
    n = a.astype("int64")[2]
    for use in (
        lambda: operator.index(n),
        lambda: range(n),
        lambda: [1, 2, 3][n],
        lambda: a[:n],
        lambda: a[::n],
        lambda: "x" * n,
        lambda: np.zeros(n),
        lambda: a.reshape(n, 2),
        lambda: namespace.zeros((n,)),
    ):
        with SimulatedProbe().record() as recording, pytest.raises(TypeError):
            use()
        assert recording.trace().counts().syncs <= 1  # NumPy prints the offender in its message


def test_a_truth_value_of_more_than_one_element_is_refused_before_any_copy(a: Any) -> None:
    with SimulatedProbe().record() as recording:
        with pytest.raises(ValueError, match="ambiguous"):
            bool(a)
        with pytest.raises(ValueError, match="one element"):
            a.item()
    assert recording.trace().events == ()
    with pytest.warns(DeprecationWarning, match="empty device array"):
        assert not a[:0]


def test_a_device_array_is_unhashable_and_has_no_length_or_elements_when_0d(a: Any) -> None:
    for use in (lambda: hash(a), lambda: len(a[0]), lambda: iter(a[0])):
        with pytest.raises(TypeError):
            use()


def test_host_arrays_and_lists_are_not_assigned_implicitly(a: Any) -> None:
    for value in (_HOST, [1.0, 2.0, 3.0, 4.0]):
        with SimulatedProbe().record() as recording, pytest.raises(ValueError, match=r"a\.set"):
            a[:] = value
        assert recording.trace().events == ()
    with pytest.raises(ValueError, match="scalar"):
        a.fill(_HOST)


def test_bad_indices_are_refused(a: Any) -> None:
    for key in (1.5, "x", a, (0, 0), np.ones(4), [0.5], namespace.ones(3, "bool"), 4):
        with pytest.raises(IndexError):
            _ = a[key]
    with pytest.raises(IndexError):
        a[namespace.ones(3, "bool")] = 0
    with pytest.raises(IndexError):
        _ = a[..., ...]


def test_only_the_options_of_a_cupy_ufunc_are_taken(a: Any) -> None:
    with pytest.raises(TypeError, match="not where="):
        np.add(a, a, where=True)
    with pytest.raises(TypeError, match="both by position and by keyword"):
        namespace.add(a, a, a, out=a)
    assert np.add(a, a, dtype="float64").dtype == np.float64
    assert namespace.add(a, a, a) is a


def test_an_operand_that_handles_the_operation_itself_is_left_to_it(a: Any) -> None:
    class Wrapper:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "mine"

        def __eq__(self, other: object) -> Any:
            return "mine"

        __hash__ = None  # type: ignore[assignment]

    class Prior:
        __array_priority__ = 1000

        def __rmul__(self, other: Any) -> str:
            return "mine"

    assert a + Wrapper() == "mine"
    assert (a == Wrapper()) == "mine"
    assert a * Prior() == "mine"


def test_comparison_with_none_and_plain_objects_is_constant(a: Any) -> None:
    plain = object()
    assert (a == None).tolist() == [False] * 4  # noqa: E711 - the comparison under test
    assert (a != None).tolist() == [True] * 4  # noqa: E711 - the comparison under test
    assert not (a == plain).any()


def test_in_place_sorting_of_a_strided_array_is_refused() -> None:
    a = namespace.asarray([[3, 1], [2, 0]])
    with pytest.raises(NotImplementedError, match="contiguous"):
        a.T.sort()
    a.sort()
    assert a.tolist() == [[1, 3], [0, 2]]
    with pytest.raises(ValueError, match="sorts stably only"):
        namespace.sort(a, kind="heapsort")


def test_atomic_scatters_exist_for_the_dtypes_cupy_has_them_for() -> None:
    with pytest.raises(TypeError, match="int8"):
        namespace.add.at(namespace.zeros(2, "int8"), [0], 1)
    with pytest.raises(TypeError, match="float32"):
        np.bitwise_or.at(namespace.zeros(2, "float32"), [0], 1)


def test_casts_take_no_casting_rule(a: Any) -> None:
    with pytest.raises(TypeError, match="casting="):
        a.astype("int8", casting="safe")


def test_copies_of_copies_stay_on_the_device(a: Any) -> None:
    nested = copy.deepcopy({"a": [a]})
    assert nested["a"][0] is not a
    assert nested["a"][0].tolist() == a.tolist()
