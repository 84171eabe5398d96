import numpy as np
import pytest

from reference_impl.autograd import backward, training
from reference_impl.nn import add
from reference_impl.tensor import Tensor


def test_both_branches_get_the_gradient():
    x, y = (Tensor(np.full(2, v), stores_grad=True, name=n) for v, n in ((1.0, "x"), (2.0, "y")))
    with training():
        z = add(x, y)
    assert z.data.tolist() == [3.0, 3.0]
    found = {p.name: g.data.tolist() for p, g in backward(z, dy=np.array([5.0, 7.0]))}
    assert found == {"x": [5.0, 7.0], "y": [5.0, 7.0]}


def test_a_tensor_added_to_itself_gets_it_twice():
    x = Tensor(np.ones(1), stores_grad=True)
    with training():
        z = add(x, x)
    ((_, gradient),) = backward(z, dy=np.array([5.0]))
    assert gradient.data.tolist() == [10.0]


def test_on_a_device_it_moves_nothing_to_the_host(watch):
    there = watch.put({"x": np.ones((2, 3), np.float32)})
    x = Tensor(there["x"])
    z, trace = watch.over(lambda: add(x, x))
    counts = trace.counts()
    assert (counts.d2h, counts.h2d, counts.syncs) == (0, 0, 0)
    assert watch.fetch({"z": z.data})["z"].tolist() == [[2.0] * 3] * 2


def test_shapes_are_not_stretched():
    with pytest.raises(ValueError, match=r"needs two arrays of one shape, got \(2,\) and \(1,\)"):
        add(Tensor(np.ones(2)), Tensor(np.ones(1)))
