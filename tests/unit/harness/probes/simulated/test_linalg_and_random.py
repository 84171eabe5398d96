"""Status arrays are read on request only, and random draws read what checks their parameters."""

from __future__ import annotations

import numpy as np
import pytest

from harness.model.trace import TrafficCounts
from harness.probes.simulated import SimulatedProbe, errstate, namespace

_SINGULAR = np.zeros((2, 2))
_REGULAR = np.array([[2.0, 1.0], [1.0, 3.0]])


def counts(expression: str) -> TrafficCounts:
    names = {
        "p": namespace.asarray([0.5, 0.5]),
        "r": namespace.asarray(_REGULAR),
        "s": namespace.asarray(_SINGULAR),
        "stack": namespace.asarray(np.stack([_REGULAR] * 3)),
        "tall": namespace.ones((3, 2)),
        "v": namespace.ones(2),
        "xp": namespace,
    }
    with SimulatedProbe().record() as recording:
        eval(expression, names)
    found = recording.trace().counts()
    assert found.d2h == found.syncs
    return found


@pytest.mark.parametrize(
    ("expression", "ignored", "reported"),
    [
        ("xp.linalg.solve(r, v)", 0, 2),
        ("xp.linalg.solve(stack, stack)", 0, 1),
        ("xp.linalg.inv(r)", 0, 2),
        ("xp.linalg.inv(stack)", 0, 2),
        ("xp.linalg.cholesky(r)", 0, 1),
        ("xp.linalg.qr(r)", 0, 2),
        ("xp.linalg.qr(r, mode='r')", 0, 1),
        ("xp.linalg.svd(tall)", 0, 1),
        ("xp.linalg.eigh(r)", 0, 1),
        ("xp.linalg.det(r)", 0, 0),
        ("xp.linalg.norm(r)", 0, 0),
        ("xp.linalg.norm(r, 2)", 0, 1),
        ("xp.linalg.norm(r, 2, axis=0)", 0, 0),
        ("xp.linalg.matrix_rank(r)", 0, 1),
        ("xp.linalg.cond(r)", 1, 2),
        ("xp.linalg.cond(r, 1)", 1, 1),
        ("xp.linalg.cond(s)", 2, 3),
        ("xp.linalg.pinv(tall)", 1, 2),
        ("xp.linalg.lstsq(r, v)", 1, 2),
        ("xp.linalg.lstsq(tall, xp.ones(3))", 2, 3),
    ],
)
def test_each_status_array_is_one_read_when_failures_are_reported(
    expression: str, ignored: int, reported: int
) -> None:
    assert counts(expression).d2h == ignored
    with errstate(linalg="raise"):
        assert counts(expression).d2h == reported
    assert counts(expression).d2h == ignored


def test_a_singular_matrix_gives_nan_unless_failures_are_reported() -> None:
    s = namespace.asarray(_SINGULAR)
    assert np.isnan(namespace.linalg.inv(s).get()).all()
    assert np.isnan(namespace.linalg.solve(s, namespace.ones(2)).get()).all()
    assert np.isnan(namespace.linalg.cholesky(-s - 1).get()).all()
    for name in ("inv", "cholesky"):
        with errstate(linalg="raise"), pytest.raises(namespace.linalg.LinAlgError):
            getattr(namespace.linalg, name)(s)
    with pytest.raises(namespace.linalg.LinAlgError, match="square"):
        namespace.linalg.inv(namespace.ones((2, 3)))
    with pytest.raises(namespace.linalg.LinAlgError):
        namespace.linalg.cond(namespace.ones((0, 0)))


def test_what_linear_algebra_does_not_model_is_refused() -> None:
    with errstate(linalg="raise"), pytest.raises(NotImplementedError, match="stack of matrices"):
        namespace.linalg.svd(namespace.ones((2, 2, 2)))
    with pytest.raises(NotImplementedError, match="divide"), errstate(divide="raise"):
        pass
    with pytest.raises(NotImplementedError, match="linalg='warn'"), errstate(linalg="warn"):
        pass


@pytest.mark.parametrize(
    ("expression", "d2h"),
    [
        ("xp.random.rand(3)", 0),
        ("xp.random.randn(3, dtype='float32')", 0),
        ("xp.random.random(3)", 0),
        ("xp.random.standard_normal(3)", 0),
        ("xp.random.randint(0, 10, 3)", 1),
        ("xp.random.randint(0, 8, 3)", 0),
        ("xp.random.randint(8, size=3)", 0),
        ("xp.random.randint(0, 10, 0)", 0),
        ("xp.random.choice(10, 3)", 1),
        ("xp.random.choice(v, 3)", 0),
        ("xp.random.choice(2, 3, p=p)", 2),
        ("xp.random.choice(v, (2, 2), p=p)", 2),
        ("xp.random.permutation(5)", 0),
        ("xp.random.geometric(0.5, 3)", 0),
        ("xp.random.zipf(2.0, 3)", 1),
        ("xp.random.triangular(0.0, 1.0, 2.0, 3)", 3),
        ("xp.random.logseries(0.5, 3)", 2),
        ("xp.random.exponential(1.0, 3)", 1),
        ("xp.random.normal(v, 1.0)", 0),
        ("xp.random.default_rng(0).random(3)", 0),
        ("xp.random.default_rng(0).integers(0, 10, 3)", 0),
        ("xp.random.default_rng(0).standard_normal(3)", 0),
        ("xp.random.default_rng(0).uniform(size=3)", 0),
    ],
)
def test_random_draws_read_only_to_check_and_to_reject(expression: str, d2h: int) -> None:
    found = counts(expression)
    assert found.d2h == d2h
    assert found.h2d == 0


def test_random_values_repeat_with_their_seed() -> None:
    namespace.random.seed(3)
    first = namespace.random.normal(0.0, 1.0, (2, 2)).tolist()
    namespace.random.get_random_state().seed(3)
    assert namespace.random.normal(size=(2, 2)).tolist() == first
    states = [namespace.random.RandomState(5).randint(0, 100, 9).tolist() for _ in range(2)]
    assert states[0] == states[1]
    generators = [namespace.random.default_rng(1).integers(9, size=4).tolist() for _ in range(2)]
    assert generators[0] == generators[1]
    generator = namespace.random.default_rng(0)
    assert namespace.random.default_rng(generator) is generator
    a = namespace.arange(6)
    namespace.random.shuffle(a)
    assert sorted(a.tolist()) == list(range(6))
    assert sorted(namespace.random.permutation(a).tolist()) == list(range(6))


def test_random_functions_refuse_what_is_not_modelled() -> None:
    with pytest.raises(NotImplementedError, match="replace=False"):
        namespace.random.choice(5, 2, replace=False)
    with pytest.raises(NotImplementedError, match="takes a size"):
        namespace.random.choice(5)
    with pytest.raises(NotImplementedError, match="bounds on the device"):
        namespace.random.randint(0, namespace.asarray(3), 2)
    with pytest.raises(TypeError, match="no argument 'mean'"):
        namespace.random.normal(mean=0.0)
    with pytest.raises(AttributeError):
        _ = namespace.random.no_such_name
    with pytest.raises(AttributeError):
        _ = namespace.linalg.no_such_name
