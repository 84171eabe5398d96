"""Joining and repeating cost what sizes and sources make them cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.model.trace import TrafficCounts
from harness.probes.simulated import SimulatedProbe, namespace


def counts(expression: str, **names: Any) -> TrafficCounts:
    on_device = {
        key: namespace.asarray(value) if isinstance(value, np.ndarray) else value
        for key, value in names.items()
    }
    with SimulatedProbe().record() as recording:
        eval(expression, {"np": np, "xp": namespace, **on_device})
    return recording.trace().counts()


A = np.arange(4, dtype="float32")


def test_address_tables_have_one_entry_per_array() -> None:
    even = counts("xp.concatenate([a] * 9)", a=A)
    assert (even.h2d, even.h2d_bytes, even.kernels) == (1, 72, 1)
    uneven = counts("xp.concatenate([a] * 8 + [a[:2]])", a=A)
    assert (uneven.h2d, uneven.h2d_bytes, uneven.kernels) == (3, 72 * 3, 1)
    strided = counts("xp.concatenate([b[:, ::2]] * 9)", b=np.ones((2, 4)))
    assert (strided.h2d, strided.h2d_bytes) == (3, 72 + 72 + 144)


def test_tables_are_not_used_for_few_large_or_mixed_arrays() -> None:
    assert counts("xp.concatenate([a] * 8)", a=A).h2d == 0
    assert counts("xp.concatenate([a] * 8 + [b])", a=A, b=A.astype("int16")).h2d == 0
    assert counts("xp.concatenate([a] * 8 + [b])", a=A, b=A.astype("int16")).kernels == 9


def test_joined_values_and_destinations() -> None:
    a = namespace.asarray(A)
    out = namespace.empty((2, 4), "float32")
    assert namespace.stack([a, a], out=out) is out
    assert namespace.concatenate([a, a], out=namespace.empty(8, "float32")).tolist() == [*A, *A]
    assert namespace.concatenate(out, axis=None).shape == (8,)
    assert namespace.concatenate([a, a], dtype="float64").dtype == np.float64
    with pytest.raises(TypeError, match="takes device arrays, not float"):
        namespace.concatenate([a, 1.0])
    assert namespace.append(a, [1.0, 2.0]).size == 6


@pytest.mark.parametrize(
    ("expression", "d2h", "h2d"),
    [
        ("xp.append(a, [1.0])", 0, 1),
        ("xp.delete(a, 0)", 1, 0),
        ("xp.delete(a, slice(0, 2))", 1, 0),
        ("xp.delete(a, [0, 1])", 1, 1),
        ("xp.delete(a, a > 1)", 1, 0),
        ("xp.delete(b, np.array([True, False]), axis=0)", 2, 1),
        ("xp.put(a, [0], [1.0])", 0, 2),
        ("xp.put(a, 0, 1.0)", 0, 0),
        ("xp.put(a, i, a, mode='raise')", 1, 0),
        ("xp.ix_([0, 1], i)", 0, 1),
        ("xp.ix_(a > 1, a > 2)", 2, 0),
        ("xp.compress([True, False, True, True], a)", 1, 1),
        ("xp.place(a, a > 1, [1.0])", 1, 1),
        ("xp.extract([True, False, True, True], a)", 1, 1),
        ("xp.isclose(a, [0.0, 1.0, 2.0, 3.0])", 0, 1),
        ("xp.percentile(a, [25, 50])", 0, 1),
        ("xp.quantile(a, q)", 2, 0),
        ("xp.histogram(a, [0.0, 1.0, 2.0])", 0, 1),
        ("xp.histogram(a[:0])", 0, 0),
        ("xp.unique(i, return_index=True, return_inverse=True, return_counts=True)", 3, 0),
        ("xp.unique(i[:0])", 0, 0),
        ("xp.setdiff1d(i, i, assume_unique=True)", 1, 0),
        ("xp.array_equal(a, a[:2], equal_nan=True)", 0, 0),
        ("xp.array_equal(a, a / 0, equal_nan=True)", 1, 0),
        ("xp.choose(i, b, mode='wrap')", 0, 0),
        ("xp.ravel_multi_index((i, i), (9, 9))", 0, 0),
        ("xp.ravel_multi_index((i, i), (9, 9), mode=('raise', 'clip'))", 1, 0),
        ("xp.trim_zeros(a, 'f')", 1, 0),
        ("xp.bincount(i[:0])", 1, 0),
        ("xp.nanmax(a)", 1, 0),
        ("xp.average(a, weights=[1.0, 1.0, 1.0, 1.0])", 1, 1),
        ("xp.average(a, weights=None)", 0, 0),
        ("xp.diff(a, prepend=None, append=a[:1])", 0, 0),
        ("xp.diff(a, prepend=[0.0])", 0, 1),
        ("xp.atleast_1d([1.0, 2.0])", 0, 1),
        ("xp.einsum('i,i->', a, a)", 0, 0),
        ("xp.real_if_close(a)", 0, 0),
        ("xp.tril(a.reshape(2, 2))", 0, 0),
        ("xp.put_along_axis(a, i, [1.0, 1.0, 1.0, 1.0], 0)", 0, 1),
        ("xp.random.shuffle(a)", 0, 0),
    ],
)
def test_costs_depend_on_arguments(expression: str, d2h: int, h2d: int) -> None:
    found = counts(expression, a=A, b=np.ones((2, 4)), i=np.array([0, 1, 1, 0]), q=np.array([0.5]))
    assert (found.d2h, found.syncs, found.h2d) == (d2h, d2h, h2d)


@pytest.mark.parametrize(
    ("expression", "error", "d2h"),
    [
        ("xp.bincount(-i - 1)", ValueError, 1),
        ("xp.choose(i + 5, b)", ValueError, 1),
        ("xp.choose(i - 1, b)", ValueError, 2),
        ("xp.ravel_multi_index((i, i), (1, 9), mode='raise')", ValueError, 1),
        ("xp.unravel_index(-i - 1, (3, 3))", ValueError, 1),
        ("xp.unravel_index(i + 9, (3, 3))", ValueError, 2),
        ("xp.asarray_chkfinite(a / 0)", ValueError, 1),
        ("xp.average(a, weights=a * 0)", ZeroDivisionError, 1),
        ("xp.histogram(1 / a)", ValueError, 2),
        ("xp.histogram(-1 / a)", ValueError, 1),
        ("xp.repeat(a, -i - 1)", ValueError, 2),
        ("xp.put(a, i + 9, a, mode='raise')", IndexError, 1),
    ],
)
def test_what_is_read_to_refuse_bad_values_is_counted(
    expression: str, error: type[Exception], d2h: int
) -> None:
    names = {
        "a": namespace.asarray(A),
        "b": namespace.ones((2, 4)),
        "i": namespace.asarray([0, 1, 1, 0]),
        "xp": namespace,
    }
    with SimulatedProbe().record() as recording, pytest.raises(error):
        eval(expression, names)
    assert recording.trace().counts().d2h == d2h


def test_repeat_counts_must_be_integers() -> None:
    a = namespace.asarray(A)
    with pytest.raises(TypeError, match="fit intp"):
        namespace.repeat(a, a)
    with pytest.raises(TypeError):
        namespace.repeat(a, 1.5)


def test_columns_and_rows_of_one_dimensional_arrays() -> None:
    a = namespace.asarray(A)
    assert namespace.column_stack([a, a]).shape == (4, 2)
    assert namespace.dstack([a, a]).shape == (1, 4, 2)
    assert namespace.hstack([a[None], a[None]]).shape == (1, 8)
    assert namespace.vstack(namespace.ones((2, 3))).shape == (2, 3)
