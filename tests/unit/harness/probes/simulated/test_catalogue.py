"""Every function of the tables, called once: the values are NumPy's and what crosses is what its row says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.probes.simulated import (
    DeviceArray,
    NotModelledError,
    SimulatedProbe,
    catalogue,
    creation,
    extensions,
    host_answers,
    joining,
    linalg,
    namespace,
    ranges,
    variadic,
)
from harness.probes.simulated.elementwise import UFUNCS

_CALLS = """
all                xp.all(m, axis=0)
allclose           xp.allclose(x, x)
amax               xp.amax(x, axis=1)
amin               xp.amin(x, axis=1)
angle              xp.angle(z)
any                xp.any(m)
append             xp.append(x, x, axis=0)
arange             xp.arange(3, 9, 2)
argmax             xp.argmax(x, axis=1)
argmin             xp.argmin(x)
argpartition       xp.argpartition(v, 2)
argsort            xp.argsort(x, axis=0)
argwhere           xp.argwhere(m)                             1
around             xp.around(x, 1)
array              xp.array(x)
array_equal        xp.array_equal(x, x + 0)
array_equiv        xp.array_equiv(x, x)
array_split        xp.array_split(v, 4)
asanyarray         xp.asanyarray(x)
asarray            xp.asarray(x, dtype='float64')
asarray_chkfinite  xp.asarray_chkfinite(x)                    1
ascontiguousarray  xp.ascontiguousarray(x.T)
asfortranarray     xp.asfortranarray(x)
atleast_1d         xp.atleast_1d(x)
atleast_2d         xp.atleast_2d(v)
atleast_3d         xp.atleast_3d(v)
average            xp.average(x, axis=1, weights=w)           1
bincount           xp.bincount(i, w6)                         2
broadcast_arrays   xp.broadcast_arrays(x, v[:3])
broadcast_to       xp.broadcast_to(v, (2, 6))
choose             xp.choose(i % 2, xp.stack([v, -v]))        2
clip               xp.clip(x, -0.5, 0.5)
column_stack       xp.column_stack([v, v])
compress           xp.compress(m[0], x, axis=1)               1
concat             xp.concat([x, x])
concatenate        xp.concatenate([x, x], axis=1)
copy               xp.copy(x)
copyto             xp.copyto(x, v[:3])
corrcoef           xp.corrcoef(x)
count_nonzero      xp.count_nonzero(m, axis=1)
cov                xp.cov(x)
cross              xp.cross(x, x[::-1])
cumprod            xp.cumprod(v)
cumsum             xp.cumsum(x, axis=1)
delete             xp.delete(v, 2)                            1
diag               xp.diag(v, 1)
diagflat           xp.diagflat(v)
diagonal           xp.diagonal(x)
diff               xp.diff(v, n=2)
digitize           xp.digitize(v, e)
dot                xp.dot(x, x.T)
dsplit             xp.dsplit(c, 2)
dstack             xp.dstack([v, v])
ediff1d            xp.ediff1d(v)
einsum             xp.einsum('ij,kj->ik', x, x)
empty              xp.empty((2, 2)).shape
empty_like         xp.empty_like(x).shape
expand_dims        xp.expand_dims(x, 1)
extract            xp.extract(m, x)                           1
eye                xp.eye(3, 4, 1)
fix                xp.fix(x)
flatnonzero        xp.flatnonzero(m)                          1
flip               xp.flip(x, 1)
fliplr             xp.fliplr(x)
flipud             xp.flipud(x)
frombuffer         xp.frombuffer(b'12345678')
full               xp.full((2, 3), 1.5)
full_like          xp.full_like(x, 2)
gradient           xp.gradient(v, 2.0)
histogram          xp.histogram(v, 4)                         4
hsplit             xp.hsplit(x, 3)
hstack             xp.hstack([v, v])
identity           xp.identity(3)
imag               xp.imag(z)
in1d               xp.isin(v, e)
indices            xp.indices((2, 3))
inner              xp.inner(x, x)
interp             xp.interp(v, e, e)
intersect1d        xp.intersect1d(i, i[:3])                   3
iscomplex          xp.iscomplex(z)
isclose            xp.isclose(x, x)
isin               xp.isin(i, i[:2])
isneginf           xp.isneginf(x)
isposinf           xp.isposinf(x)
isreal             xp.isreal(z)
ix_                xp.ix_(i, i)
kron               xp.kron(x, x)
lexsort            xp.lexsort(x)
linspace           xp.linspace(0.0, 1.0, 5)
logspace           xp.logspace(0.0, 1.0, 5)
matrix_transpose   xp.matrix_transpose(x)
max                xp.max(x, axis=0)
mean               xp.mean(x, axis=0)
median             xp.median(x, axis=1)
meshgrid           xp.meshgrid(v, e)
min                xp.min(x)
moveaxis           xp.moveaxis(c, 0, -1)
nan_to_num         xp.nan_to_num(x)
nanargmax          xp.nanargmax(x, axis=1)
nanargmin          xp.nanargmin(x)
nancumprod         xp.nancumprod(v)
nancumsum          xp.nancumsum(v)
nanmax             xp.nanmax(x, axis=1)                       1
nanmean            xp.nanmean(x, axis=1)
nanmedian          xp.nanmedian(x)
nanmin             xp.nanmin(x)                               1
nanprod            xp.nanprod(v)
nanstd             xp.nanstd(x)
nansum             xp.nansum(x, axis=0)
nanvar             xp.nanvar(x, ddof=1)
nonzero            xp.nonzero(m)                              1
ones               xp.ones((2, 3), 'int32')
ones_like          xp.ones_like(x)
outer              xp.outer(v, e)
packbits           xp.packbits(m)
pad                xp.pad(x, 1)
partition          xp.partition(v, 2)
percentile         xp.percentile(v, 30)
permute_dims       xp.permute_dims(c, (2, 0, 1))
place              xp.place(x, m, x[0] + 0)                   1
prod               xp.prod(x, axis=1)
ptp                xp.ptp(x, axis=1)
put                xp.put(x, i[:2], v[:2])
put_along_axis     xp.put_along_axis(x, i[:2, None] % 3, 7.0, 1)
putmask            xp.putmask(x, m, 0.0)                      1
quantile           xp.quantile(v, 0.3)
ravel              xp.ravel(x)
ravel_multi_index  xp.ravel_multi_index((i, i), (6, 6))
real               xp.real(z)
real_if_close      xp.real_if_close(z)                        1
repeat             xp.repeat(v, i)                            2
reshape            xp.reshape(x, (3, 2))
resize             xp.resize(x, (4, 3))
roll               xp.roll(x, 1, axis=1)
rollaxis           xp.rollaxis(c, 2)
rot90              xp.rot90(x)
round              xp.round(x, 1)
searchsorted       xp.searchsorted(e, v)
select             xp.select([m], [x], 0.0)
setdiff1d          xp.setdiff1d(i, i[:2])                     3
setxor1d           xp.setxor1d(i, i[:2])                      3
sinc               xp.sinc(x)
sort               xp.sort(x, axis=0)
split              xp.split(v, 3)
squeeze            xp.squeeze(x[None])
stack              xp.stack([x, x], axis=1)
std                xp.std(x)
sum                xp.sum(x, axis=1, keepdims=True)
swapaxes           xp.swapaxes(c, 0, 2)
take               xp.take(x, i[:2] % 3, axis=1)
take_along_axis    xp.take_along_axis(x, i[:2, None] % 3, 1)
tensordot          xp.tensordot(x, x.T, 1)
tile               xp.tile(x, 2)
trace              xp.trace(x)
transpose          xp.transpose(x)
trapezoid          xp.trapezoid(v)
tri                xp.tri(3)
tril               xp.tril(x)
trim_zeros         xp.trim_zeros(i)                           2
triu               xp.triu(x)
union1d            xp.union1d(i, i)                           1
unique             xp.unique(i, return_counts=True)           2
unpackbits         xp.unpackbits(u)
unravel_index      xp.unravel_index(i, (3, 3))                2
vander             xp.vander(v, 3)
var                xp.var(x, axis=1, ddof=1)
vdot               xp.vdot(v, v)
vsplit             xp.vsplit(x, 2)
vstack             xp.vstack([v, v])
where              xp.where(m, x, 0.0)
zeros              xp.zeros((2, 3))
zeros_like         xp.zeros_like(x)
"""
_LINALG_CALLS = """
cholesky           xp.linalg.cholesky(s)
cond               xp.linalg.cond(s)                          1
cross              xp.linalg.cross(x, x)
det                xp.linalg.det(s)
eigh               xp.linalg.eigh(s)
eigvalsh           xp.linalg.eigvalsh(s)
inv                xp.linalg.inv(s)
lstsq              xp.linalg.lstsq(s, v[:3])                  1
matmul             xp.linalg.matmul(s, s)
matrix_power       xp.linalg.matrix_power(s, 3)
matrix_rank        xp.linalg.matrix_rank(s)
matrix_transpose   xp.linalg.matrix_transpose(x)
norm               xp.linalg.norm(x)
pinv               xp.linalg.pinv(s)                          1
qr                 xp.linalg.qr(s)
slogdet            xp.linalg.slogdet(s)
solve              xp.linalg.solve(s, v[:3])
svd                xp.linalg.svd(s)
"""
_FROM_HOST = {"frombuffer"}


def _parse(text: str) -> list[tuple[str, str, int]]:
    calls = []
    for line in text.strip().splitlines():
        name, call = line.split(None, 1)
        expression, _, reads = call.rpartition(" ")
        calls.append(
            (name, call.strip(), 0)
            if not reads.isdigit()
            else (name, expression.strip(), int(reads))
        )
    return calls


CALLS, LINALG_CALLS = _parse(_CALLS), _parse(_LINALG_CALLS)


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
    CALLS + LINALG_CALLS,
    ids=[call for _, call, _ in CALLS + LINALG_CALLS],
)
def test_a_function_computes_numpys_values_and_reads_what_its_row_says(
    name: str, call: str, reads: int
) -> None:
    on_host = _inputs()
    expected = eval(call, {"xp": np, **on_host})
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
    with SimulatedProbe().record() as recording:
        for name in host_answers.FUNCTIONS:
            if not name.startswith("array"):
                arguments = (a, a) if name in ("can_cast", "may_share_memory") else (a,)
                getattr(namespace, name)(*arguments)
    assert recording.trace().events == ()


def test_what_is_not_in_a_table_is_refused_by_name() -> None:
    a = namespace.arange(4.0)
    for call, name in (
        (lambda: np.fft.fft(a), "numpy.fft.fft"),
        (lambda: namespace.convolve, "numpy.convolve"),
        (lambda: np.convolve(a, a), "numpy.convolve"),
        (lambda: np.spacing(a), "spacing"),
        (lambda: np.maximum.reduce(a), "maximum.reduce"),
        (lambda: np.multiply.at(a, [0], 1), "multiply.at"),
        (lambda: a.byteswap(), "ndarray.byteswap"),
        (lambda: namespace.linalg.eig, "linalg.eig"),
        (lambda: namespace.random.multinomial, "random.multinomial"),
        (lambda: namespace.unique(a, axis=0), "unique(axis=...)"),
        (lambda: namespace.pad(a, 1, mode="linear_ramp"), "pad(mode='linear_ramp')"),
        (lambda: namespace.argmax(a, dtype="int32"), "argmax(dtype=...)"),
        (lambda: namespace.gradient(a, a), "gradient"),
        (lambda: namespace.RawKernel("", "f"), "cupy.RawKernel"),
        (lambda: namespace.random.RandomState(0).wald(1.0, 1.0), "random.RandomState.wald"),
        (lambda: namespace.random.default_rng(0).gamma(1.0), "random.Generator.gamma"),
        (lambda: namespace.cuda.malloc_managed(8), "cuda.malloc_managed"),
        (lambda: extensions.scipy, "cupyx.scipy"),
    ):
        with pytest.raises(NotImplementedError) as refusal:
            call()
        assert name in str(refusal.value)
        assert isinstance(refusal.value, NotModelledError)
        assert isinstance(refusal.value, AttributeError)


def test_hasattr_tells_what_can_be_used() -> None:
    assert hasattr(namespace, "exp")
    assert not hasattr(namespace, "fft")
    assert not hasattr(namespace, "no_such_name")
    a = namespace.arange(2)
    assert hasattr(a, "get")
    for owner in (namespace.cuda, extensions, namespace.random.RandomState(0)):
        assert not hasattr(owner, "no_such_name")
        assert not hasattr(owner, "_no_such_name")
    assert not hasattr(a, "flat")
    assert not hasattr(a, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = a.no_such_name


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
