import gc
import weakref

import numpy as np
import pytest

from reference_impl import ops
from reference_impl.autograd import training
from reference_impl.optim import SGD
from reference_impl.tensor import Tensor


def moved(steps=1, **options):
    p = Tensor(np.array([1.0, -2.0]), stores_grad=True)
    optimizer = SGD(0.1, **options)
    for _ in range(steps):
        optimizer.update(p, Tensor(np.array([0.5, 0.25])))
    return p.data


def test_a_plain_step_subtracts_lr_times_the_gradient():
    assert moved() == pytest.approx([0.95, -2.025])


def test_decay_is_added_to_the_gradient_before_anything_else():
    assert moved(weight_decay=0.1) == pytest.approx([1 - 0.1 * 0.6, -2 - 0.1 * 0.05])


def test_momentum_starts_with_the_first_gradient_undamped():
    # v1 = g; v2 = 0.9 g + (1 - 0.5) g
    total = 1 + (0.9 + 0.5)
    assert moved(2, momentum=0.9, dampening=0.5) == pytest.approx(
        [1 - 0.1 * 0.5 * total, -2 - 0.1 * 0.25 * total]
    )


def test_nesterov_adds_the_momentum_to_the_gradient():
    # v1 = g, step g + 0.9 v1; v2 = 1.9 g, step g + 0.9 v2
    total = 1.9 + 1 + 0.9 * 1.9
    assert moved(2, momentum=0.9, nesterov=True) == pytest.approx(
        [1 - 0.1 * 0.5 * total, -2 - 0.1 * 0.25 * total]
    )


def test_decay_enters_the_velocity():
    # g1 = g + 0.1 p0, v = g1; p1 = p0 - 0.1 v; g2 = g + 0.1 p1, v = 0.5 v + g2
    p0, g = np.array([1.0, -2.0]), np.array([0.5, 0.25])
    v = g + 0.1 * p0
    p1 = p0 - 0.1 * v
    v = 0.5 * v + g + 0.1 * p1
    assert moved(2, momentum=0.5, weight_decay=0.1) == pytest.approx(p1 - 0.1 * v)


def test_a_decayed_gradient_serves_velocity_and_nesterov_alike():
    # As by the three formulas of the class, each with an array of its own.
    p, g, v = np.array([1.0, -2.0]), np.array([0.5, 0.25]), None
    for _ in range(3):
        decayed = g + 0.1 * p
        v = decayed if v is None else 0.9 * v + decayed
        p = p - 0.1 * (decayed + 0.9 * v)
    assert moved(3, momentum=0.9, weight_decay=0.1, nesterov=True) == pytest.approx(p)


@pytest.mark.parametrize(
    "options",
    [{}, {"momentum": 0.9}, {"weight_decay": 0.1}, {"momentum": 0.9, "weight_decay": 0.1}],
)
def test_the_gradient_is_only_read(options):
    p, g = Tensor(np.ones(2), stores_grad=True), np.array([0.5, 0.25])
    optimizer = SGD(0.1, **options)
    for _ in range(3):
        optimizer.update(p, Tensor(g))
    assert g.tolist() == [0.5, 0.25]


def test_the_parameter_keeps_its_memory_and_dtype():
    data = np.ones(2, dtype=np.float16)
    p = Tensor(data, stores_grad=True)
    SGD(0.5, momentum=0.9).update(p, Tensor(np.ones(2, dtype=np.float16)))
    assert p.data is data
    assert data.tolist() == [0.5, 0.5]


def test_parameters_have_velocities_of_their_own_which_die_with_them():
    optimizer = SGD(0.1, momentum=0.9)
    kept, dropped = (Tensor(np.zeros(1), stores_grad=True) for _ in range(2))
    optimizer.update(kept, Tensor(np.ones(1)))
    optimizer.update(dropped, Tensor(np.full(1, 5.0)))
    optimizer.update(kept, Tensor(np.ones(1)))
    assert kept.data == pytest.approx([-0.1 * 2.9])
    dead = weakref.ref(dropped)
    del dropped
    gc.collect()
    assert dead() is None


def test_a_step_moves_every_parameter_of_the_loss():
    w = Tensor(np.zeros((2, 2)), stores_grad=True)
    b = Tensor(np.zeros(2), stores_grad=True)
    with training():
        logits = ops.add_bias(ops.matmul(Tensor(np.array([[1.0, 2.0]])), w), b)
        loss = ops.softmax_cross_entropy(logits, np.array([1]))
    SGD(1.0).step(loss)
    assert w.data == pytest.approx(np.array([[-0.5, 0.5], [-1.0, 1.0]]))
    assert b.data == pytest.approx([-0.5, 0.5])


@pytest.mark.parametrize(
    "options", [{}, {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True}], ids=str
)
def test_an_update_on_a_device_reads_nothing(device, options):
    p = Tensor(device.array([1.0, 2.0]), stores_grad=True)
    optimizer = SGD(0.1, **options)
    for _ in range(2):
        optimizer.update(p, Tensor(device.array([1.0, 1.0])))
    assert device.reads == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1.0}, "lr must be finite and not below 0, got -1.0"),
        ({"lr": float("nan")}, "lr must be"),
        ({"lr": 0.1, "momentum": -0.1}, "momentum must be"),
        ({"lr": 0.1, "weight_decay": float("inf")}, "weight_decay must be"),
        ({"lr": 0.1, "dampening": float("nan")}, "dampening must be"),
        ({"lr": 0.1, "nesterov": True}, "nesterov needs"),
        ({"lr": 0.1, "nesterov": True, "momentum": 0.9, "dampening": 0.1}, "nesterov needs"),
    ],
)
def test_options_out_of_range_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        SGD(**options)


def test_a_gradient_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"shape \(1,\)"):
        SGD(0.1).update(Tensor(np.zeros(2)), Tensor(np.zeros(1)))
