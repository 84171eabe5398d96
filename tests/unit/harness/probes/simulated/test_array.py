"""A device array knows its metadata on the host, shares memory with its views and indexes as CuPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.probes.simulated import Device, DeviceArray, SimulatedProbe, namespace
from harness.probes.simulated.extensions import scatter_max, scatter_min
from harness.probes.simulated.storage import Flags


@pytest.fixture
def a() -> Any:
    return namespace.asarray(np.arange(6, dtype="float32").reshape(2, 3))


def test_metadata_is_free(a: Any) -> None:
    with SimulatedProbe().record() as recording:
        assert (a.shape, a.ndim, a.size, a.itemsize, a.nbytes) == ((2, 3), 2, 6, 4, 24)
        assert (a.dtype, a.strides, len(a)) == (np.float32, (12, 4), 2)
        assert (a.flags.c_contiguous, a.flags["F_CONTIGUOUS"], a.T.flags.fnc) == (True, False, True)
        assert a.T.flags.forc
        assert not a[:, ::2].flags.forc
        assert a.device == Device(0)
        assert a.data.ptr == a[0].data.ptr
        assert a.data.ptr + 12 == a[1].data.ptr
        assert a.base is None or isinstance(a.base, DeviceArray)
        assert isinstance(a[0].base, DeviceArray)
        assert a.__array_namespace__() is namespace
        assert namespace.get_array_module(1, a) is namespace
        assert namespace.get_array_module(np.ones(1)) is np
        assert a.mT.shape == a.T.shape == (3, 2)
    assert recording.trace().events == ()
    with pytest.raises(KeyError):
        _ = Flags(True, True, True)["WRITEABLE"]
    with pytest.raises(ValueError, match="two axes"):
        _ = a[0].mT


def test_views_share_memory_in_both_directions(a: Any) -> None:
    views = [a[0], a.T, a.reshape(6), a[:, 1:], a.ravel(), a.view(), a[...], a[None], a.squeeze()]
    for number, view in enumerate(views):
        view[(0,) * view.ndim] = number + 10
        assert a._memory[np.unravel_index(0 if number != 3 else 1, (2, 3))] == number + 10
    copies = [a.copy(), a.flatten(), a.astype("float32"), a + 0, a.T.ravel(), namespace.array(a)]
    for made in copies:
        made[(0,) * made.ndim] = -1
        assert a[0, 0].item() == 18


def test_a_full_index_is_a_view_not_a_scalar(a: Any) -> None:
    element = a[1, 2]
    assert isinstance(element, DeviceArray)
    assert element.shape == ()
    element[...] = 42
    assert a[1, 2].item() == 42


def test_a_0d_device_index_gathers_a_copy(a: Any) -> None:
    row = a[namespace.asarray(1)]
    row[:] = 0
    assert a[1].tolist() == [3, 4, 5]


def test_device_indices_out_of_bounds_wrap_around(a: Any) -> None:
    index = namespace.asarray([0, 4, -3])
    assert a.ravel()[namespace.asarray([6, -7])].tolist() == [0, 5]
    assert a[:, index].tolist() == a[:, [0, 1, 0]].tolist()
    assert namespace.take(a, index, axis=1).tolist() == a[:, [0, 1, 0]].tolist()
    assert namespace.take_along_axis(a, index[None], 1).tolist()[0] == [0, 1, 0]
    a[namespace.asarray([2]), index[:1]] = 9
    assert a[0, 0].item() == 9
    namespace.add.at(a, (namespace.asarray([3]), namespace.asarray([3])), 1.0)
    assert a[1, 0].item() == 4
    with pytest.raises(IndexError):
        _ = a[2]
    with pytest.raises(IndexError):
        _ = namespace.zeros(0)[index]


def test_scatters_add_up_repeated_indices(a: Any) -> None:
    namespace.add.at(a, namespace.asarray([0, 0]), 1.0)
    assert a[0].tolist() == [2, 3, 4]
    namespace.subtract.at(counts := namespace.zeros(2, "int32"), [0, 0, 1], 1)
    assert counts.tolist() == [-2, -1]
    mask = namespace.asarray([True, False])
    with SimulatedProbe().record() as recording:
        namespace.maximum.at(a, mask, 3.5)
    assert recording.trace().counts().d2h == 1
    assert a[0].tolist() == [3.5, 3.5, 4]
    scatter_max(a, namespace.asarray([1, 1]), 4.0)
    scatter_min(a, namespace.asarray([0]), 3.0)
    assert a.tolist() == [[3, 3, 3], [4, 4, 5]]


@pytest.mark.parametrize(
    ("key", "d2h", "h2d"),
    [
        ("mask", 1, 0),
        ("(mask2, mask3)", 2, 0),
        ("(slice(None), mask3)", 1, 0),
        ("(0, mask3)", 1, 0),
        ("([0, 1], mask3_two)", 1, 1),
        ("np.array([[True, False, True]] * 2)", 1, 1),
        ("[]", 0, 0),
        ("[0]", 0, 1),
        ("(np.array([0, 1]), i)", 0, 1),
        ("np.array(1)", 0, 0),
        ("[i[0], i[1]]", 0, 0),
        ("True", 1, 0),
        ("(..., i)", 0, 0),
        ("(None, i, None)", 0, 0),
    ],
)
def test_each_part_of_an_index_has_its_own_cost(a: Any, key: str, d2h: int, h2d: int) -> None:
    names = {
        "i": namespace.asarray([0, 1]),
        "mask": a > 2,
        "mask2": namespace.asarray([True, True]),
        "mask3": namespace.asarray([True, False, True]),
        "mask3_two": namespace.asarray([True, False, True]),
        "np": np,
    }
    index = eval(key, names)
    host_names = {k: v.get() if isinstance(v, DeviceArray) else v for k, v in names.items()}
    expected = a.get()[eval(key.replace("[i[0], i[1]]", "[int(i[0]), int(i[1])]"), host_names)]
    for action in (lambda: a[index], lambda: a.__setitem__(index, 1.0)):
        with SimulatedProbe().record() as recording:
            result = action()
        counts = recording.trace().counts()
        assert (counts.d2h, counts.syncs, counts.h2d) == (d2h, d2h, h2d)
        if result is not None:
            np.testing.assert_array_equal(result.get(), expected)


def test_a_mask_without_a_true_element_writes_and_uploads_nothing(a: Any) -> None:
    with SimulatedProbe().record() as recording:
        a[a > 100] = [1.0]
    counts = recording.trace().counts()
    assert (counts.d2h, counts.h2d) == (1, 0)
    with SimulatedProbe().record() as recording:
        namespace.zeros((0,))[namespace.zeros(0, "bool")]
    assert recording.trace().counts().d2h == 0


def test_values_from_the_host_cost_a_copy_in_a_scatter(a: Any) -> None:
    index = namespace.asarray([0, 1])
    for value, copies in (([1.0, 2.0, 3.0], 1), (np.ones(3), 1), (1.0, 0), (a[0], 0)):
        with SimulatedProbe().record() as recording:
            a[index] = value
        assert recording.trace().counts().h2d == copies


def test_leading_axes_of_length_one_are_dropped_in_assignments(a: Any) -> None:
    a[0] = namespace.ones((1, 1, 3), "float32")
    assert a[0].tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="broadcast"):
        a[0] = namespace.ones((2, 3), "float32")


def test_the_shape_can_be_set_without_a_copy_only(a: Any) -> None:
    a.shape = (3, 2)
    assert a.tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(AttributeError, match="cannot become"):
        a.T.shape = (6,)
    with pytest.raises(ValueError, match="without a copy"):
        a.T.reshape(6, copy=False)
    assert not np.may_share_memory(a.reshape(6, copy=True)._memory, a._memory)


def test_real_and_imaginary_parts_are_views_of_complex_arrays() -> None:
    z = namespace.asarray(np.array([1 + 2j, 3 - 1j]))
    z.real = 0
    z.imag[0] = 7
    assert z.tolist() == [7j, -1j]
    z.imag = namespace.asarray([1.0, 1.0])
    assert z.tolist() == [1j, 1j]
    x = namespace.ones(2)
    assert x.real is x
    assert x.imag.tolist() == [0, 0]
    a = namespace.zeros(2)
    a.fill(namespace.asarray(3.0))
    assert a.tolist() == [3, 3]
    with pytest.raises(TypeError, match="no imaginary part"):
        x.imag = 1


def test_methods_agree_with_functions_and_keep_cupys_argument_order(a: Any) -> None:
    out = namespace.zeros(2, "int64")
    assert a.argmax(1, out) is out
    assert out.tolist() == [2, 2]
    assert a.sum(0, "float64").dtype == np.float64
    assert a.max(axis=1, keepdims=True).shape == (2, 1)
    assert a.clip(1, 3).tolist() == [[1, 1, 2], [3, 3, 3]]
    assert a.clip(max=2).tolist() == [[0, 1, 2], [2, 2, 2]]
    assert a.clip().tolist() == a.tolist()
    assert (a > 1).clip().dtype == bool
    assert a.dot(a.T).tolist() == (a @ a.T).tolist()
    assert a.swapaxes(0, 1).shape == a.transpose(1, 0).shape == a.transpose((1, 0)).shape == (3, 2)
    assert a.transpose().shape == (3, 2)
    assert a.trace().item() == 4
    assert a.conj().tolist() == a.tolist()
    assert a.compress(namespace.asarray([False, True]), axis=0).tolist() == [[3, 4, 5]]
    b = namespace.asarray([3, 1, 2])
    b.partition(1)
    assert b.tolist() == [1, 2, 3]
    namespace.zeros(3).put([0, 1], 1.0)
    assert a.std(0, None, None, 1).tolist() == pytest.approx([4.5**0.5] * 3)
    assert namespace.ones(3).view("int64")[0].item() == 0x3FF0000000000000


def test_uninitialised_memory_shows() -> None:
    assert np.isnan(namespace.empty(3).get()).all()
    assert (namespace.empty(3, "int32").get() == np.iinfo("int32").max).all()
    assert namespace.empty(2, "bool").get().all()
    assert DeviceArray((2, 2), "complex64", order="F").flags.f_contiguous
    assert np.isnan(namespace.empty_like(namespace.ones((2, 3)).T).get()).all()


def test_arrays_can_be_made_like_another_in_its_layout(a: Any) -> None:
    assert namespace.zeros_like(a.T).flags.fnc
    assert namespace.ones_like(a, dtype="int8").dtype == np.int8
    assert namespace.full_like(a, 2, shape=(3,)).tolist() == [2, 2, 2]
    assert namespace.full(2, namespace.asarray(3.0)).tolist() == [3, 3]
    assert namespace.full(2, namespace.asarray(3.0)).dtype == np.float64


def test_a_length_on_the_device_is_read_by_arange() -> None:
    n = namespace.asarray(3)
    with SimulatedProbe().record() as recording:
        assert namespace.arange(n).shape == (3,)
    counts = recording.trace().counts()
    assert (counts.d2h, counts.d2h_bytes, counts.syncs) == (1, 8, 1)
    with pytest.raises(TypeError, match="from the host"):
        namespace.arange(n, 5)


def test_linspace_between_host_arrays_costs_their_copies_and_a_read() -> None:
    with SimulatedProbe().record() as recording:
        values, step = namespace.linspace([0.0, 1.0], 2.0, 3, retstep=True)
    counts = recording.trace().counts()
    assert (counts.h2d, counts.d2h) == (1, 1)
    assert values.shape == (3, 2)
    assert step.tolist() == [1.0, 0.5]
