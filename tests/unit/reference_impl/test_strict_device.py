"""The device the other tests lean on must itself be able to fail."""

import numpy as np
import pytest


@pytest.mark.parametrize(
    "look",
    [
        bool,
        int,
        list,
        np.asarray,
        lambda a: a.item(),
        lambda a: a.tolist(),
        lambda a: a.any(),
        lambda a: f"{a}",
        lambda a: a[a == 1.0],
        lambda a: range(a),
    ],
    ids=["bool", "int", "list", "asarray", "item", "tolist", "any", "format", "mask", "range"],
)
def test_to_look_at_a_value_fails(device, look):
    with pytest.raises(AssertionError, match=r"looked at|mask"):
        look(device.array([1.0]))


@pytest.mark.parametrize(
    "mix",
    [
        lambda a: a + np.ones(1),
        lambda a: np.ones(1) + a,
        lambda a: a.__iadd__(np.ones(1)),
        lambda a: a.__array_namespace__().where(a, np.ones(1), a),
        lambda a: a.__setitem__(slice(None), np.ones(1)),
    ],
    ids=["add", "reflected add", "add in place", "where", "setitem"],
)
def test_host_and_device_arrays_do_not_mix(device, mix):
    with pytest.raises(TypeError):
        mix(device.array([1.0]))


@pytest.mark.parametrize("bad", [-1, 2])
def test_an_index_out_of_range_fails(device, bad):
    index = device.array(np.array([bad]))
    for use in (lambda a: a[index], lambda a: a.take(index), lambda a: a.__setitem__(index, 0.0)):
        with pytest.raises(AssertionError, match="out of range"):
            use(device.array([1.0, 2.0]))


def test_float_is_the_one_read_and_is_counted(device):
    assert float(device.array(np.float32(2))) == 2
    assert device.reads == [4]


def test_a_function_the_ops_may_not_use_is_not_there(device):
    assert not hasattr(device, "nonzero")
