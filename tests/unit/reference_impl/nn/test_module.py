import numpy as np
import pytest

from reference_impl.nn import BatchNorm2d, Conv2d, Linear, Module, ReLU, Sequential
from reference_impl.tensor import Tensor


def a_norm(name):
    one = np.ones(2)
    return BatchNorm2d(one, one.copy(), mean=one.copy(), variance=one.copy(), name=name)


class Block(Module):
    def __init__(self):
        self.label = "not a part"
        self.convolution = Conv2d(np.zeros((2, 1, 1, 1)), np.zeros(2), name="conv")
        self.rest = Sequential(a_norm("norm"), ReLU(), Sequential(a_norm("deep")))


def test_parameters_and_state_are_found_at_any_depth_in_the_order_of_the_parts():
    block = Block()
    expected = ["conv.W", "conv.b", "norm.scale", "norm.bias", "deep.scale", "deep.bias"]
    assert list(block.parameters) == expected
    assert list(block.state) == ["norm.mean", "norm.variance", "deep.mean", "deep.variance"]
    for name, tensor in {**block.parameters, **block.state}.items():
        assert tensor.name == name


def test_parameters_store_their_gradient_and_state_needs_none():
    block = Block()
    assert all(tensor.stores_grad for tensor in block.parameters.values())
    assert not any(tensor.requires_grad for tensor in block.state.values())


def test_a_parameter_is_the_array_it_was_given():
    weight = np.zeros((2, 3))
    assert Linear(weight, name="a").parameters["a.W"].data is weight


def test_one_layer_used_twice_counts_once():
    layer = Linear(np.zeros((2, 2)), name="shared")
    assert list(Sequential(layer, layer).parameters) == ["shared.W"]


def test_two_layers_of_one_name_are_refused():
    layers = (Linear(np.zeros((2, 2)), name="same") for _ in range(2))
    with pytest.raises(ValueError, match=r"two tensors are named 'same\.W'"):
        _ = Sequential(*layers).parameters


def test_a_layer_without_a_name_has_plain_ones():
    assert list(Linear(np.zeros((2, 2)), np.zeros(2)).parameters) == ["W", "b"]


def test_modules_are_applied_one_after_the_other():
    double, negate = Linear(np.eye(2) * 2), Linear(-np.eye(2))
    y = Sequential(double, ReLU(), negate)(Tensor(np.array([[1.0, -1.0]])))
    assert y.data.tolist() == [[-2.0, 0.0]]


def test_no_modules_change_nothing():
    x = Tensor(np.ones(1))
    assert Sequential()(x) is x


def test_a_module_must_say_what_it_does():
    with pytest.raises(NotImplementedError, match=r"Module\.__call__"):
        Module()(Tensor(np.ones(1)))
