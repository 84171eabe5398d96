"""Universal functions: methods, outputs, operators that CuPy maps to other functions."""

from __future__ import annotations

import numpy as np
import pytest

from harness.probes.simulated import DeviceArray, SimulatedProbe, namespace


def test_ufunc_methods_that_cupy_has_are_one_kernel_each() -> None:
    a = namespace.asarray([[1.0, 2.0], [3.0, 4.0]])
    out = namespace.zeros(2)
    with SimulatedProbe().record() as recording:
        assert namespace.add.reduce(a).shape == (2,)
        assert np.multiply.reduce(a, axis=1).shape == (2,)
        assert np.add.reduce(a, axis=0, out=out) is out
        assert namespace.add.accumulate(a, axis=1).shape == (2, 2)
        assert namespace.multiply.outer(a[0], a[1]).shape == (2, 2)
        assert np.subtract.outer(a[0], a[1]).shape == (2, 2)
    assert [event.api for event in recording.trace().events] == [
        "add.reduce",
        "multiply.reduce",
        "add.reduce",
        "add.accumulate",
        "multiply.outer",
        "subtract.outer",
    ]
    assert out.tolist() == [4, 6]
    assert namespace.multiply.accumulate(a, axis=0).tolist() == [[1, 2], [3, 8]]
    assert namespace.add.nin == 2
    assert "add" in repr(namespace.add)


def test_ufunc_methods_that_cupy_refuses_are_refused_alike_and_leave_no_doubt() -> None:
    a = namespace.ones(2)
    with SimulatedProbe().record() as recording:
        for use in (
            lambda: np.maximum.reduce(a),
            lambda: np.maximum.reduceat(a, [0]),
            lambda: np.subtract.accumulate(a),
            lambda: namespace.multiply.at(a, [0], 1),
        ):
            with pytest.raises(NotImplementedError, match="CuPy has no such"):
                use()
        with pytest.raises(TypeError, match="device array"):
            np.add.reduce(a, out=np.zeros(()))
    assert recording.trace().events == ()
    assert recording.trace().doubts == ()
    # NumPy prints the operands in its message, which reads them.
    with SimulatedProbe().record() as recording:
        with pytest.raises(TypeError, match="all returned NotImplemented"):
            np.spacing(a)
        with pytest.raises(TypeError, match="all returned NotImplemented"):
            np.spacing.at(a, [0])
    assert recording.trace().doubts == ()


def test_outer_and_reduceat_put_host_operands_on_the_device() -> None:
    a = namespace.asarray([1.0, 2.0, 3.0])
    with SimulatedProbe().record() as recording:
        assert np.add.outer(a, 1.0).tolist() == [2, 3, 4]
        assert namespace.add.outer(a, [1.0, 2.0]).tolist() == [[2, 3], [3, 4], [4, 5]]
        assert namespace.add.reduceat(a, [0, 2]).tolist() == [3, 3]
        assert np.add.reduceat(a, namespace.asarray([1])).tolist() == [5]
    assert recording.trace().counts().h2d == 3


def test_a_ufunc_of_scipy_runs_when_cupy_has_it_too() -> None:
    special = pytest.importorskip("scipy.special")
    a = namespace.asarray([0.0, 1.0])
    with SimulatedProbe().record() as recording:
        assert special.erf(a).tolist() == pytest.approx(special.erf(np.array([0.0, 1.0])).tolist())
    assert [event.api for event in recording.trace().kernels][:1] == ["erf"]
    with pytest.raises(TypeError):
        special.voigt_profile(a, 1.0, 1.0)


def test_integers_to_negative_powers_are_what_the_kernel_makes_of_them() -> None:
    base, exponent = namespace.asarray([-1, -1, 1, 2, 0]), namespace.asarray([-3, -2, -1, -1, 2])
    with SimulatedProbe().record() as recording:
        powers = base**exponent
        base **= exponent
    assert powers.tolist() == base.tolist() == [-1, 1, 1, 0, 0]
    assert recording.trace().counts().kernels == 2
    out = namespace.empty(2, "int64")
    assert namespace.power(namespace.asarray([2, 1]), -1, out=out).tolist() == [0, 1]
    assert recording.trace().doubts == ()


def test_only_attributes_of_a_cupy_ufunc_are_there() -> None:
    assert (namespace.add.name, namespace.add.__name__, namespace.add.nargs) == (
        "cupy_add",
        "add",
        3,
    )
    assert not hasattr(namespace.add, "identity")
    assert isinstance(namespace.add, namespace.ufunc)
    with pytest.raises(NotImplementedError, match=r"matmul\(axes="):
        namespace.matmul(namespace.ones((2, 2)), namespace.ones((2, 2)), axes=[])


def test_several_outputs_can_be_given() -> None:
    a = namespace.asarray([1.5, -2.25])
    fraction, whole = namespace.empty(2), namespace.empty(2)
    result = namespace.modf(a, out=(fraction, whole))
    assert result == (fraction, whole) or result[0] is fraction
    assert (fraction.tolist(), whole.tolist()) == ([0.5, -0.25], [1, -2])
    assert isinstance(namespace.modf(a, out=(None, None))[0], DeviceArray)


@pytest.mark.parametrize(
    ("expression", "kernel"),
    [
        ("a ** 2", "square"),
        ("a ** 2.0", "square"),
        ("a ** 0.5", "sqrt"),
        ("a ** -1.0", "reciprocal"),
        ("a ** 3", "power"),
        ("a ** a", "power"),
        ("2 ** a", "power"),
        ("i ** 0.5", "sqrt"),
        ("i ** -1.0", "reciprocal"),
        ("i ** 2", "square"),
        ("divmod(7, i)", "divmod"),
        ("7 // i", "floor_divide"),
        ("7 % i", "remainder"),
        ("1 << i", "left_shift"),
        ("i >> 1", "right_shift"),
        ("6 & i", "bitwise_and"),
        ("-a", "negative"),
        ("+a", "positive"),
        ("abs(a)", "absolute"),
        ("~i", "invert"),
    ],
)
def test_an_operator_is_the_kernel_cupy_calls_for_it(expression: str, kernel: str) -> None:
    host = {"a": np.array([1.0, 2.0, 3.0]), "i": np.array([1, 2, 3])}
    on_device = {name: namespace.asarray(array) for name, array in host.items()}
    with SimulatedProbe().record() as recording:
        result = eval(expression, on_device)
    assert [event.api for event in recording.trace().events] == [kernel]
    expected = eval(expression, host)
    for made, wanted in zip(
        result if isinstance(result, tuple) else (result,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        np.testing.assert_array_equal(made.get(), wanted, strict=True)


def test_a_squared_boolean_is_an_integer_as_in_cupy() -> None:
    squared = namespace.asarray([True, False]) ** 2
    assert squared.dtype == np.int64
    assert squared.tolist() == [1, 0]


def test_an_operand_that_handles_powers_itself_is_left_to_it() -> None:
    class Wrapper:
        __array_ufunc__ = None

        def __rpow__(self, other: object) -> str:
            return "mine"

        def __radd__(self, other: object) -> str:
            return "mine"

        def __add__(self, other: object) -> object:
            return NotImplemented

    a = namespace.ones(2)
    assert a ** Wrapper() == "mine"
    with pytest.raises(TypeError):
        _ = Wrapper() + a


def test_results_of_one_operation_never_alias_its_inputs() -> None:
    a = namespace.ones(3)
    b = +a
    b += 1
    assert a.tolist() == [1, 1, 1]
    out = namespace.zeros(3)
    assert namespace.exp(a, out=out) is out
    assert np.add(a, a, out=a) is a
    assert a.tolist() == [2, 2, 2]
