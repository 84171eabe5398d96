"""Functions made of other functions: their corners, what they refuse, and what they copy besides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.model.trace import TrafficCounts
from harness.probes.simulated import DeviceArray, SimulatedProbe, extensions
from harness.probes.simulated import namespace as xp

V = xp.asarray([1.0, 2.0, 4.0])
X = xp.asarray([[1.0, 2.0], [3.0, 4.0]])


def counts(expression: str, **names: Any) -> TrafficCounts:
    with SimulatedProbe().record() as recording:
        eval(expression, {"V": V, "X": X, "np": np, "xp": xp, **names})
    assert recording.trace().doubts == ()
    return recording.trace().counts()


@pytest.mark.parametrize(
    ("expression", "d2h", "h2d"),
    [
        ("V.flat[1]", 0, 0),
        ("V.flat[:2]", 0, 0),
        ("list(X.flat)", 0, 0),
        ("V.flat.__setitem__(0, 5.0)", 0, 0),
        ("V.flat.__setitem__(slice(None), [7.0, 8.0])", 0, 1),
        ("xp.fill_diagonal(X, [1.0, 2.0])", 0, 1),
        ("xp.c_[V, [1.0, 2.0, 3.0]]", 0, 2),
        ("xp.r_[V, [1.0]]", 0, 1),
        ("xp.mgrid[0:3]", 0, 0),
        ("xp.polyval(V, [1.0, 2.0])", 0, 1),
        ("xp.polyfit(V, V, 1, full=True)", 2, 0),
        ("xp.polyfit(V, V, 1, w=V, cov=True)", 3, 0),
        ("xp.polyfit(V, X[:1].repeat(3, 0), 0, cov='unscaled')", 3, 0),
        ("xp.polyadd(V, 1.0)", 0, 0),
        ("xp.polymul(V * 0, V)", 2, 0),
        ("xp.histogramdd(X, [V, V])", 8, 0),
        ("xp.histogramdd(X, 2, density=True)", 14, 0),
        ("xp.histogramdd(V[:0], 2)", 1, 0),
        ("xp.histogramdd((V, V), 2, range=[(0, 5), None], weights=[1.0, 1.0, 1.0])", 10, 1),
        ("xp.histogram2d(V, V, V)", 8, 0),
        ("xp.histogram2d(V, V, [2, 3], [(0, 5), (0, 5)])", 6, 0),
        ("xp.diag([1.0, 2.0])", 0, 1),
        ("xp.diag([[1.0, 2.0], [3.0, 4.0]])", 0, 1),
        ("xp.tril([[1.0, 2.0], [3.0, 4.0]])", 0, 1),
        ("xp.cov(X, fweights=xp.arange(1, 3))", 2, 0),
        ("xp.corrcoef(X, dtype='float32')", 0, 0),
        ("xp.intersect1d(V, V, return_indices=True)", 7, 0),
        ("xp.intersect1d(V, V, True, return_indices=True)", 3, 0),
        ("xp.gradient(V, V)", 1, 0),
        ("xp.lib.stride_tricks.sliding_window_view(V, 2)", 1, 1),
        ("xp.unwrap(V.astype(int), period=4)", 0, 0),
        ("xp.require([1.0], requirements='O')", 0, 1),
        ("xp.asarray_chkfinite([1.0])", 1, 1),
        ("xp.format_float_positional(V[0])", 1, 0),
        ("xp.testing.assert_array_equal(V, V)", 2, 0),
        ("xp.testing.assert_allclose(V, np.array([1.0, 2.0, 4.0]), rtol=1e-3)", 1, 0),
        ("xp.logspace(0.0, 1.0, 3, dtype='int32', axis=-1)", 0, 0),
        ("xp.piecewise(V, True, [3.0])", 0, 0),
        ("xp.piecewise(V, [V > 1], [V[0], 2.0])", 0, 0),
    ],
)
def test_what_they_copy_depends_on_arguments(expression: str, d2h: int, h2d: int) -> None:
    found = counts(expression, V=V.copy(), X=X.copy())
    assert (found.d2h, found.syncs, found.h2d) == (d2h, d2h, h2d)


def test_only_the_diagonal_of_a_host_matrix_is_copied_over() -> None:
    assert counts("xp.diag([[1.0, 2.0], [3.0, 4.0]])").h2d_bytes == 16


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("xp.astype([1.0], 'f4')", TypeError),
        ("xp.asarray_chkfinite([np.inf])", ValueError),
        ("xp.require(V, requirements=['X'])", ValueError),
        ("xp.require(V, requirements=['C', 'F'])", ValueError),
        ("xp.piecewise(V, [V > 1], [1.0, 2.0, 3.0])", ValueError),
        ("xp.piecewise(V, [V > 1], [abs])", NotImplementedError),
        ("xp.cumulative_sum([1.0])", TypeError),
        ("xp.cumulative_sum(X)", ValueError),
        ("xp.cumulative_sum(V, out=X)", ValueError),
        ("xp.apply_along_axis(abs, 0, X[:, :0])", ValueError),
        ("xp.apply_over_axes(lambda a, axis: a[0, 0], X, 0)", ValueError),
        ("xp.histogramdd(X, [2])", ValueError),
        ("xp.histogramdd(X, 2, range=[None])", ValueError),
        ("xp.histogramdd(X, 0)", ValueError),
        ("xp.histogramdd(X, [[0.0, 1.0], 2])", ValueError),
        ("xp.histogramdd(X, [V[::-1], 2])", ValueError),
        ("xp.histogramdd(X, 2, range=[(2, 1), None])", ValueError),
        ("xp.histogramdd(X, 2, range=[(0, np.inf), None])", ValueError),
        ("xp.histogramdd(X / 0, 2)", ValueError),
        ("xp.histogram2d(V, V, [1, 2, 3])", ValueError),
        ("xp.diag_indices_from(V)", ValueError),
        ("xp.diag_indices_from(X[:1])", ValueError),
        ("xp.diag_indices_from([1])", TypeError),
        ("xp.fill_diagonal(V, 1.0)", ValueError),
        ("xp.fill_diagonal(xp.ones((2, 2, 3)), 1.0)", ValueError),
        ("xp.triu_indices_from(V)", ValueError),
        ("xp.r_['0,2', V]", NotImplementedError),
        ("xp.r_[0:3]", NotImplementedError),
        ("V.flat[(0,)]", IndexError),
        ("V.flat[True]", IndexError),
        ("V.flat[3]", IndexError),
        ("V.flat[V]", IndexError),
        ("xp.polyval([1.0], 2.0)", TypeError),
        ("xp.polyval(X, 2.0)", ValueError),
        ("xp.polyadd([1.0], V)", TypeError),
        ("xp.polyadd(X, V)", ValueError),
        ("xp.polyfit(V, X, 1)", TypeError),
        ("xp.polyfit(V, V.astype('float16'), 1)", TypeError),
        ("xp.polyfit(V, V, 3, cov=True)", ValueError),
        ("xp.linalg.tensorinv(X, ind=0)", ValueError),
        ("xp.lib.stride_tricks.sliding_window_view(V, -1)", ValueError),
        ("xp.lib.stride_tricks.sliding_window_view(V, 2, writeable=True)", NotImplementedError),
        ("xp.from_dlpack(V, device=0)", NotImplementedError),
        ("xp.meshgrid(X, X)", ValueError),
        ("xp.zeros_like(V, subok=True)", TypeError),
        ("xp.full_like(V, 1.0, subok=True)", TypeError),
        ("xp.digitize(V, X)", ValueError),
    ],
)
@pytest.mark.filterwarnings("ignore:polyfit may be poorly conditioned")
def test_what_cupy_refuses_is_refused_without_a_doubt(
    expression: str, error: type[Exception]
) -> None:
    with SimulatedProbe().record() as recording, pytest.raises(error):
        eval(expression, {"V": V, "X": X, "np": np, "xp": xp})
    assert recording.trace().doubts == ()


def test_flat_is_one_axis_in_row_major_order() -> None:
    a = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    flat = a.T.flat
    assert isinstance(flat, xp.flatiter)
    assert len(flat) == 4
    assert [float(element) for element in flat] == [1, 3, 2, 4]
    assert flat[...].tolist() == flat.copy().tolist() == [1, 3, 2, 4]
    assert (flat[1].item(), flat[-1].item()) == (3, 4)
    a.flat[::3] = 9.0
    a.flat[1] = 7.0
    a.flat[...] = a.flat[:] + xp.asarray([0.0, 1.0, 0.0, 0.0])
    assert a.tolist() == [[9, 8], [3, 9]]
    taken = a.flat[0]
    taken[...] = 0
    assert a[0, 0].item() == 9
    assert a.flat.base is a


def test_grids_and_joins_written_as_indices_equal_numpys() -> None:
    v = np.array([1.0, 2.0])
    d = xp.asarray(v)
    np.testing.assert_array_equal(xp.r_[d, 3, d].get(), np.r_[v, 3, v])
    np.testing.assert_array_equal(xp.c_[d, d].get(), np.c_[v, v])
    np.testing.assert_array_equal(xp.c_[X, X].get(), np.c_[X.get(), X.get()])
    np.testing.assert_array_equal(xp.mgrid[0:3, 1:2:3j].get(), np.mgrid[0:3, 1:2:3j])
    np.testing.assert_array_equal(xp.mgrid[:4:2].get(), np.mgrid[:4:2])
    for mine, theirs in zip(xp.ogrid[0:3, 0:2], np.ogrid[0:3, 0:2], strict=True):
        np.testing.assert_array_equal(mine.get(), theirs)
    assert len(xp.r_) == 0
    (only,) = xp.meshgrid(d)
    assert only is d
    assert isinstance(xp.meshgrid(d, d), tuple)


def test_broadcast_knows_shapes_and_makes_views() -> None:
    b = xp.broadcast(V, X[:, :1], 3.0)
    assert (b.shape, b.nd, b.size) == ((2, 3), 2, 6)
    assert [part.shape for part in b.values[:2]] == [(2, 3)] * 2
    assert b.values[2] == 3.0


def test_cumulative_sums_can_begin_with_what_they_start_from() -> None:
    out = xp.zeros((2, 3))
    assert xp.cumulative_sum(X, axis=1, out=out, include_initial=True) is out
    assert out.tolist() == [[0, 1, 3], [0, 3, 7]]
    assert xp.cumulative_prod(V, include_initial=True, dtype="int64").dtype == np.int64
    assert xp.cumulative_sum(xp.asarray(3.0)).tolist() == [3]


def test_results_keep_their_names() -> None:
    assert xp.unique_counts(V)._fields == ("values", "counts")
    assert xp.unique_inverse(V).inverse_indices.tolist() == [0, 1, 2]
    assert xp.unique_all(xp.asarray([2, 2])).counts.tolist() == [2]


def test_a_polynomial_that_is_not_determined_warns_after_its_rank_was_read() -> None:
    with pytest.warns(np.exceptions.RankWarning), SimulatedProbe().record() as recording:
        xp.polyfit(V * 0 + 1, V, 1)
    assert recording.trace().counts().d2h == 3
    fit, covariance = xp.polyfit(V, V**2 + V, 1, cov=True)
    expected = np.polyfit(V.get(), V.get() ** 2 + V.get(), 1, cov=True)
    np.testing.assert_allclose(fit.get(), expected[0], rtol=1e-6)
    np.testing.assert_allclose(covariance.get(), expected[1], rtol=1e-6)
    assert xp.polyval(xp.asarray([True, False]), xp.asarray([True])).tolist() == [1]
    assert xp.polyval(V[:0], V).tolist() == [0, 0, 0]


def test_files_are_one_copy_per_array(tmp_path: Path) -> None:
    one, several, text = tmp_path / "a.npy", tmp_path / "b.npz", tmp_path / "c.txt"
    with SimulatedProbe().record() as writing:
        xp.save(one, V)
        np.save(tmp_path / "d.npy", V)
        xp.savez(several, V, other=X)
        xp.savez_compressed(tmp_path / "e.npz", V)
        xp.savetxt(text, V)
    assert (writing.trace().counts().d2h, writing.trace().counts().h2d) == (6, 0)
    with SimulatedProbe().record() as reading:
        assert xp.load(one).shape == (3,)
        with xp.load(several) as arrays:
            assert isinstance(arrays["other"], DeviceArray)
        arrays.close()
        xp.loadtxt(text)
        xp.genfromtxt(text)
        xp.fromiter(range(3), float)
        xp.fromfunction(lambda i: i, (3,))
        xp.fromstring("1 2", sep=" ")
        xp.fromfile(one, "uint8")
    assert (reading.trace().counts().d2h, reading.trace().counts().h2d) == (0, 8)


def test_arrays_are_exchanged_with_themselves_through_dlpack() -> None:
    shared = xp.from_dlpack(V)
    assert shared.data.ptr == V.data.ptr
    assert xp.from_dlpack(V, copy=True).data.ptr != V.data.ptr


def test_bytes_can_be_swapped_and_scatters_called_as_methods() -> None:
    a = xp.asarray([1, 2], dtype="int16")
    assert a.byteswap().tolist() == [256, 512]
    assert a.byteswap(inplace=True) is a
    assert a.tolist() == [256, 512]
    with pytest.warns(DeprecationWarning, match=r"use xp\.add\.at"):
        V.copy().scatter_add(0, 1.0)
    with pytest.warns(DeprecationWarning, match=r"use xp\.maximum\.at"):
        V.copy().scatter_max(0, 1.0)


def test_tensor_equations_are_matrix_equations() -> None:
    a = np.random.default_rng(0).normal(size=(2, 3, 6))
    b = np.ones((2, 3))
    solved = xp.linalg.tensorsolve(xp.asarray(a), xp.asarray(b))
    np.testing.assert_allclose(solved.get(), np.linalg.tensorsolve(a, b), rtol=1e-6)
    moved = xp.linalg.tensorsolve(xp.asarray(a.transpose(2, 0, 1)), xp.asarray(b), axes=(0,))
    np.testing.assert_allclose(moved.get(), solved.get(), rtol=1e-6)


def test_the_reciprocal_root_is_one_kernel() -> None:
    out = xp.empty(3)
    with SimulatedProbe().record() as recording:
        assert extensions.rsqrt(V, out) is out
        assert extensions.rsqrt(xp.asarray([4.0, 0.0])).tolist() == [0.5, np.inf]
    assert recording.trace().kernels[0].api == "rsqrt"
    assert out.tolist() == pytest.approx([1.0, 0.5**0.5, 0.5])


def test_pinned_arrays_are_made_like_others_in_another_shape_or_order() -> None:
    like = extensions.empty_like_pinned(X.T, "int8", "C", None, (2, 5))
    assert (like.shape, like.dtype) == ((2, 5), np.int8)
    assert extensions.zeros_like_pinned(X, order="F").flags.f_contiguous
    with pytest.raises(TypeError, match="subok"):
        extensions.empty_like_pinned(X, subok=True)
