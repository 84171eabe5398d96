"""Status arrays are read on request only, and random draws read what checks their parameters."""

from __future__ import annotations

import numpy as np
import pytest

from harness.model.trace import TrafficCounts
from harness.probes.simulated import SimulatedProbe, errstate, namespace
from harness.probes.simulated.extensions import geterr, seterr

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


def test_settings_are_those_of_cupy() -> None:
    assert geterr() == {
        "divide": None,
        "over": None,
        "under": None,
        "invalid": None,
        "linalg": "ignore",
    }
    before = seterr(linalg="raise")
    assert geterr()["linalg"] == "raise"
    seterr(**before)
    assert geterr()["linalg"] == "ignore"
    with SimulatedProbe().record() as recording:
        with pytest.raises(NotImplementedError, match="divide"), errstate(divide="raise"):
            pass
        with pytest.raises(NotImplementedError, match="linalg='warn'"), errstate(linalg="warn"):
            pass
        with pytest.raises(TypeError, match="no setting 'other'"), errstate(other="raise"):
            pass
    assert recording.trace().doubts == ()


@pytest.mark.parametrize(
    ("expression", "reported"),
    [
        ("xp.linalg.svd(stack)", 1),
        ("xp.linalg.eigh(stack)", 1),
        ("xp.linalg.cholesky(stack)", 1),
        ("xp.linalg.qr(stack)", 2),
        ("xp.linalg.pinv(stack)", 2),
        ("xp.linalg.norm(stack, 2, axis=(1, 2))", 1),
        ("xp.linalg.eig(r)", 1),
        ("xp.linalg.matrix_power(r, -3)", 2),
        ("xp.linalg.matrix_power(r, 3)", 0),
        ("xp.linalg.matrix_rank(v)", 0),
        ("xp.linalg.tensorinv(r, ind=1)", 2),
        ("xp.linalg.solve(xp.stack([xp.eye(300)] * 2), xp.ones((2, 300, 1)))", 4),
        ("xp.linalg.inv(xp.ones((0, 0)))", 0),
        ("xp.linalg.svd(xp.ones((0, 2)))", 0),
        ("xp.linalg.qr(xp.ones((2, 0)))", 0),
        ("xp.linalg.solve(xp.ones((0, 0)), xp.ones((0, 1)))", 0),
    ],
)
def test_stacks_have_one_array_of_statuses_for_all_matrices(expression: str, reported: int) -> None:
    with errstate(linalg="raise"):
        assert counts(expression).d2h == reported


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


@pytest.mark.parametrize(
    ("expression", "d2h", "h2d"),
    [
        ("xp.random.choice(5, 2, replace=False)", 0, 0),
        ("xp.random.choice(v, 2, replace=False)", 0, 0),
        ("xp.random.choice([1, 2, 3], 2)", 1, 1),
        ("xp.random.choice(2, 3, p=[0.5, 0.5])", 2, 1),
        ("xp.random.randint(0, xp.asarray(10), 3)", 2, 0),
        ("xp.random.randint(xp.arange(2), 9)", 1, 0),
        ("xp.random.randint([0, 1], [5, 6], (3, 2))", 1, 2),
        ("xp.random.random_integers(8, size=2)", 0, 0),
        ("xp.random.multinomial(4, p, 3)", 2, 0),
        ("xp.random.negative_binomial(3, 0.5, 2)", 3, 0),
        ("xp.random.noncentral_f(3.0, 4.0, 1.0, 2)", 3, 0),
        ("xp.random.power(2.0, 3)", 1, 0),
        ("xp.random.gamma([1.0, 2.0])", 0, 1),
        ("xp.random.standard_t(3.0, 4)", 0, 0),
        ("xp.random.dirichlet(v, 3)", 0, 0),
        ("xp.random.hypergeometric(5, 4, 3, 2)", 0, 0),
        ("xp.random.standard_exponential(3)", 0, 0),
        ("xp.random.standard_cauchy(3)", 0, 0),
        ("xp.random.RandomState(0).tomaxint(3)", 0, 0),
        ("xp.random.bytes(3)", 0, 0),
        ("xp.random.default_rng(0).beta(1.0, 2.0, 3)", 0, 2),
        ("xp.random.default_rng(0).beta(v, v, dtype='float32')", 0, 2),
        ("xp.random.default_rng(0).binomial(5, 0.5, (2, 2))", 0, 2),
        ("xp.random.default_rng(0).poisson(v)", 0, 1),
        ("xp.random.default_rng(0).poisson(size=2)", 0, 1),
        ("xp.random.default_rng(0).hypergeometric(5, 4, 3)", 0, 3),
        ("xp.random.default_rng(0).geometric(0.5, 0)", 0, 0),
        ("xp.random.default_rng(0).standard_gamma(2.0, 3)", 0, 1),
        ("xp.random.default_rng(0).gamma(v, 2.0)", 0, 1),
        ("xp.random.default_rng(0).chisquare(3.0, 2)", 0, 1),
        ("xp.random.default_rng(0).exponential(2.0, 3)", 0, 0),
        ("xp.random.default_rng(0).standard_exponential(3, 'float32')", 0, 0),
        ("xp.random.default_rng(0).uniform([0.0, 1.0], 2.0)", 0, 1),
        ("xp.random.default_rng(0).uniform(v, 2.0, dtype='float32')", 0, 0),
        ("xp.random.default_rng(0).integers(xp.asarray(9), size=2)", 1, 0),
        ("xp.random.default_rng(0).random(out=xp.empty(3))", 0, 0),
        ("xp.random.default_rng(0).standard_normal((3,), out=xp.empty(3))", 0, 0),
    ],
)
def test_parameters_on_the_host_are_copied_over_and_descriptions_of_arrays_too(
    expression: str, d2h: int, h2d: int
) -> None:
    found = counts(expression)
    assert (found.d2h, found.h2d) == (d2h, h2d)


def test_a_description_has_address_axes_lengths_and_strides() -> None:
    found = counts("xp.random.default_rng(0).poisson(v, (3, 2))")
    assert found.h2d_bytes == 8 * (1 + 1 + 2 + 2)


@pytest.mark.parametrize(
    ("expression", "error", "d2h"),
    [
        ("xp.random.exponential(-1.0)", "scale < 0", 1),
        ("xp.random.logseries(1.5)", "p >= 1", 2),
        ("xp.random.triangular(2.0, 1.0, 3.0)", "left > mode", 1),
        ("xp.random.triangular(1.0, 1.0, 1.0)", "left == right", 3),
        ("xp.random.choice(2, 3, p=p - 1)", "not negative", 1),
        ("xp.random.choice(2, 3, p=p * 2)", "sum to 1", 2),
    ],
)
def test_a_check_that_fails_is_the_last_one_read(expression: str, error: str, d2h: int) -> None:
    names = {"p": namespace.asarray([0.5, 0.5]), "xp": namespace}
    with SimulatedProbe().record() as recording, pytest.raises(ValueError, match=error):
        eval(expression, names)
    assert recording.trace().counts().d2h == d2h
    assert recording.trace().doubts == ()


def test_the_shared_state_can_be_exchanged() -> None:
    state = namespace.random.RandomState(7)
    before = namespace.random.get_random_state()
    namespace.random.set_random_state(state)
    first = namespace.random.rand(3).tolist()
    state.seed(7)
    assert namespace.random.random_sample(3).tolist() == first
    namespace.random.reset_states()
    assert namespace.random.get_random_state() is not state
    namespace.random.set_random_state(before)
    with pytest.raises(TypeError, match="RandomState"):
        namespace.random.set_random_state(3)
    bits = namespace.random.Philox4x3210(1)
    assert namespace.random.default_rng(bits).bit_generator is bits
    with pytest.raises(TypeError, match="BitGenerator"):
        namespace.random.Generator(3)


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("xp.random.choice(5)", NotImplementedError),
        ("xp.random.choice(2, 1, replace=False, p=p)", NotImplementedError),
        ("xp.random.choice(2, 3, replace=False)", ValueError),
        ("xp.random.choice(3, 3, p=p)", ValueError),
        ("xp.random.normal(mean=0.0)", TypeError),
        ("xp.random.normal(0.0, 1.0, 2, float, 1)", TypeError),
        ("xp.random.beta(1.0)", TypeError),
        ("xp.random.shuffle(p[0])", TypeError),
        ("xp.random.no_such_name", AttributeError),
        ("xp.linalg.no_such_name", AttributeError),
        ("xp.random.default_rng(0).beta(1.0)", TypeError),
        ("xp.random.default_rng(0).poisson([1.0])", TypeError),
        ("xp.random.default_rng(0).geometric(0.5, 1, 2)", TypeError),
        ("xp.random.default_rng(0).standard_exponential(method='zig')", NotImplementedError),
        ("xp.random.default_rng(0).random(out=xp.empty(3, 'float32'))", TypeError),
        ("xp.random.default_rng(0).random(2, out=xp.empty(3))", ValueError),
    ],
)
def test_what_cupys_generators_refuse_is_refused_without_a_doubt(
    expression: str, error: type[Exception]
) -> None:
    names = {"p": namespace.asarray([0.5, 0.5]), "xp": namespace}
    with SimulatedProbe().record() as recording, pytest.raises(error):
        eval(expression, names)
    assert recording.trace().doubts == ()


def test_bounds_nobody_has_read_are_not_judged() -> None:
    with SimulatedProbe().record() as recording, pytest.raises(NotImplementedError):
        namespace.random.randint(namespace.asarray([5]), namespace.asarray([2]))
    assert "xp.random.randint of these bounds" in recording.trace().doubts[0]
