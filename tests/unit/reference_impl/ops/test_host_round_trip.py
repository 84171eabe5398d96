import inspect
import traceback

import numpy as np
import pytest

from reference_impl.autograd import gradients, training
from reference_impl.ops import (
    HostRoundTripSoftMaxCrossEntropy,
    host_round_trip,
    host_round_trip_softmax_cross_entropy,
    softmax_cross_entropy,
)
from reference_impl.tensor import Tensor


def problem(rows, classes, dtype=np.float32):
    rng = np.random.default_rng(rows)
    return rng.normal(size=(rows, classes)).astype(dtype), rng.integers(0, classes, rows)


def run(function, x, t):
    tensor = Tensor(x, stores_grad=True)
    with training():
        loss = function(tensor, t)
    return loss.data, gradients(loss)[tensor].data


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64, 100, 1000])
def test_its_values_are_those_of_the_corrected_op_to_two_units_in_the_last_place(rows):
    x, t = problem(rows, 10)
    loss, dx = run(host_round_trip_softmax_cross_entropy, x, t)
    expected, expected_dx = run(softmax_cross_entropy, x, t)
    assert loss.shape == expected.shape
    assert loss.dtype == expected.dtype
    assert abs(loss - expected) <= 2 * np.spacing(expected)
    assert np.array_equal(dx, expected_dx)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_each_forward_reads_four_bytes_once(device, dtype):
    x, t = problem(5, 3, dtype)
    with training():
        loss = host_round_trip_softmax_cross_entropy(Tensor(device.array(x)), device.array(t))
    assert device.reads == [4]
    list(gradients(loss))
    assert device.reads == [4]
    device.fetch(loss.data)


def test_the_read_happens_in_its_own_file(device, monkeypatch):
    x, t = problem(2, 2)
    stacks = []
    array = device.array(x)
    monkeypatch.setattr(
        type(array), "__float__", lambda self: stacks.append(traceback.extract_stack()) or 1.0
    )
    host_round_trip_softmax_cross_entropy(Tensor(array), device.array(t))
    (stack,) = stacks
    assert stack[-2].filename == inspect.getsourcefile(host_round_trip)


def test_the_mean_over_no_rows_is_nan():
    loss, dx = run(
        host_round_trip_softmax_cross_entropy, np.empty((0, 2), np.float32), np.empty(0, int)
    )
    assert np.isnan(loss)
    assert dx.shape == (0, 2)


def test_it_has_no_option_that_would_need_a_second_read():
    assert list(inspect.signature(HostRoundTripSoftMaxCrossEntropy).parameters) == ["t"]
