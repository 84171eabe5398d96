"""Layers and optimizer against PyTorch on the same arrays in float64; where the two differ by design, that is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference_impl.autograd import backward, training
from reference_impl.nn import AvgPool2d, BatchNorm2d, Conv2d, Flatten, Linear, MaxPool2d, ReLU
from reference_impl.ops import softmax_cross_entropy
from reference_impl.optim import SGD
from reference_impl.tensor import Tensor
from reference_impl.workloads.mnist_cnn_network import Network, first_parameters

torch = pytest.importorskip("torch", reason="pip install torch")
functional = torch.nn.functional

Arrays = dict[str, Any]
X = (3, 4, 9, 8)


def drawn(**shapes: tuple[int, ...]) -> Arrays:
    """Arrays by the names that the layers give them, in lower case as PyTorch's functions take them."""
    rng = np.random.default_rng(11)
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def ours(layer: Callable[[Tensor], Tensor], x: Any, dy: Any) -> Arrays:
    """The output, and the gradients of its product with ``dy``, by name."""
    with training():
        y = layer(Tensor(x, stores_grad=True, name="x"))
    found = {
        str(parameter.name).lower(): gradient.data for parameter, gradient in backward(y, dy=dy)
    }
    return {"y": y.data, **found}


def theirs(function: Callable[..., Any], arrays: Arrays, dy: Any) -> Arrays:
    given = {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}
    y = function(**given)
    y.backward(torch.tensor(dy))
    gradients = {name: tensor.grad.numpy() for name, tensor in given.items()}
    return {"y": y.detach().numpy(), **gradients}


def assert_same(found: Arrays, expected: Arrays) -> None:
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-11, atol=1e-12, err_msg=name)


def upstream(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(12).normal(size=shape)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [
        ((5, 5), 1, 0),
        ((3, 3), 2, 1),
        ((7, 7), 2, 3),
        ((1, 1), 1, 0),
        ((1, 1), 2, 0),
        ((2, 3), (1, 2), (1, 0)),
    ],
)
def test_convolution(kernel: Any, stride: Any, padding: Any) -> None:
    a = drawn(x=X, w=(5, 4, *kernel), b=(5,))
    layer = Conv2d(a["w"], a["b"], stride=stride, padding=padding)
    dy = upstream(layer(Tensor(a["x"])).shape)

    def function(x: Any, w: Any, b: Any) -> Any:
        return functional.conv2d(x, w, b, stride=stride, padding=padding)

    assert_same(ours(layer, a["x"], dy), theirs(function, a, dy))


POOLS = [(2, 2, 0), (3, 2, 1), ((2, 3), (3, 1), (1, 0)), (1, 2, 0)]


@pytest.mark.parametrize(("kernel", "stride", "padding"), POOLS)
def test_max_pooling(kernel: Any, stride: Any, padding: Any) -> None:
    layer, a = MaxPool2d(kernel, stride=stride, padding=padding), drawn(x=X)
    a["x"] = a["x"].round(1)  # equal values in one window: the first takes the gradient
    dy = upstream(layer(Tensor(a["x"])).shape)

    def function(x: Any) -> Any:
        return functional.max_pool2d(x, kernel, stride, padding)

    assert_same(ours(layer, a["x"], dy), theirs(function, a, dy))


@pytest.mark.parametrize(("kernel", "stride", "padding"), POOLS)
def test_average_pooling_counts_no_border(kernel: Any, stride: Any, padding: Any) -> None:
    layer, a = AvgPool2d(kernel, stride=stride, padding=padding), drawn(x=X)
    dy = upstream(layer(Tensor(a["x"])).shape)

    def function(x: Any) -> Any:
        return functional.avg_pool2d(x, kernel, stride, padding, count_include_pad=False)

    assert_same(ours(layer, a["x"], dy), theirs(function, a, dy))


def a_norm(a: Arrays) -> BatchNorm2d:
    return BatchNorm2d(a["scale"], a["bias"], mean=a["mean"].copy(), variance=a["variance"].copy())


@pytest.mark.parametrize("trains", [True, False])
def test_batch_normalisation(trains: bool) -> None:
    a = drawn(x=X, scale=(4,), bias=(4,), mean=(4,), variance=(4,))
    a["variance"] = np.abs(a["variance"]) + 0.5
    layer, dy = a_norm(a), upstream(X)
    mean, variance = (torch.tensor(a[name].copy()) for name in ("mean", "variance"))

    def function(x: Any, scale: Any, bias: Any) -> Any:
        # Their momentum is what the batch brings, ours what the running statistics keep.
        return functional.batch_norm(
            x, mean, variance, scale, bias, training=trains, momentum=0.1, eps=1e-5
        )

    expected = theirs(function, {name: a[name] for name in ("x", "scale", "bias")}, dy)
    if not trains:
        np.testing.assert_allclose(layer(Tensor(a["x"])).data, expected["y"], rtol=1e-12)
        return
    assert_same(ours(layer, a["x"], dy), expected)
    np.testing.assert_allclose(layer.mean.data, mean.numpy(), rtol=1e-12)
    # They divide the variance they keep by one less than the number of values, SINGA's CPU code does not.
    count = a["x"].size // 4
    kept = layer.variance.data - 0.9 * a["variance"]
    np.testing.assert_allclose(
        kept * count / (count - 1), variance.numpy() - 0.9 * a["variance"], rtol=1e-10
    )


def test_linear_flatten_and_rectifier() -> None:
    a = drawn(x=X, w=(288, 7), b=(7,))
    layer, flat, rectify = Linear(a["w"], a["b"]), Flatten(), ReLU()
    dy = upstream((3, 7))

    def function(x: Any, w: Any, b: Any) -> Any:
        return functional.linear(torch.relu(x).flatten(1), w.T, b)

    assert_same(
        ours(lambda x: layer(flat(rectify(x))), a["x"], dy),
        theirs(function, a, dy),
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.3},
        {"momentum": 0.9, "nesterov": True},
        {"weight_decay": 0.1},
        {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True},
        {"momentum": 0.5, "weight_decay": 0.1, "dampening": 0.2},
    ],
    ids=str,
)
def test_sgd(options: Any) -> None:
    start, gradients = upstream((3, 4)), upstream((5, 3, 4))
    p, q = Tensor(start.copy(), stores_grad=True), torch.tensor(start)
    mine, other = SGD(0.1, **options), torch.optim.SGD([q], lr=0.1, **options)
    for gradient in gradients:
        mine.update(p, Tensor(gradient))
        q.grad = torch.tensor(gradient)
        other.step()
    np.testing.assert_allclose(p.data, q.numpy(), rtol=1e-13)


def test_three_steps_of_the_ticket_s_network() -> None:
    first = first_parameters(0, "float64")
    network, mine = Network(first), SGD(0.005, momentum=0.9, weight_decay=1e-5)
    q = {name: torch.tensor(array, requires_grad=True) for name, array in first.items()}
    other = torch.optim.SGD(q.values(), lr=0.005, momentum=0.9, weight_decay=1e-5)
    rng = np.random.default_rng(13)
    for _ in range(3):
        x, labels = rng.normal(size=(8, 1, 28, 28)), rng.integers(0, 10, 8)
        with training():
            loss = softmax_cross_entropy(network(Tensor(x, requires_grad=False)), labels)
        mine.step(loss)
        y = torch.tensor(x)
        for layer in ("conv1", "conv2"):
            y = functional.conv2d(y, q[f"{layer}.W"], q[f"{layer}.b"])
            y = functional.max_pool2d(torch.relu(y), 2)
        y = torch.relu(y.flatten(1) @ q["linear1.W"] + q["linear1.b"])
        expected = functional.cross_entropy(
            y @ q["linear2.W"] + q["linear2.b"], torch.tensor(labels)
        )
        other.zero_grad()
        expected.backward()
        other.step()
        assert float(loss.data) == pytest.approx(expected.item(), rel=1e-12)
    for name, parameter in network.parameters.items():
        np.testing.assert_allclose(parameter.data, q[name].detach().numpy(), rtol=1e-9, atol=1e-13)
