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


def test_ufunc_methods_that_cupy_lacks_are_refused() -> None:
    a = namespace.ones(2)
    with pytest.raises(NotImplementedError, match=r"add\.reduceat"):
        np.add.reduceat(a, [0])
    with pytest.raises(NotImplementedError, match="with a scalar"):
        np.add.outer(a, 1.0)
    with pytest.raises(NotImplementedError, match="spacing"):
        np.spacing.at(a, [0])
    with pytest.raises(TypeError, match="device array"):
        np.add.reduce(a, out=np.zeros(()))


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
