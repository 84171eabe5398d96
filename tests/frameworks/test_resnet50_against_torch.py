"""ResNet-50 against PyTorch's functions on the same weights: output, loss and all 161 gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_impl.autograd import backward, training
from reference_impl.ops import softmax_cross_entropy
from reference_impl.tensor import Tensor
from reference_impl.workloads.resnet50_network import RESNET50, Network, first_arrays

torch = pytest.importorskip("torch", reason="pip install torch")
functional = torch.nn.functional


def normalised(x: Any, q: dict[str, Any], name: str) -> Any:
    return functional.batch_norm(
        x, None, None, q[f"{name}.scale"], q[f"{name}.bias"], training=True, eps=1e-5
    )


def theirs(x: Any, q: dict[str, Any]) -> Any:
    x = torch.relu(normalised(functional.conv2d(x, q["conv1.W"], stride=2, padding=3), q, "bn1"))
    x = functional.max_pool2d(x, 3, stride=2, padding=1)
    for block in RESNET50.blocks():
        name, stride = block.name, block.stride
        y = torch.relu(normalised(functional.conv2d(x, q[f"{name}.conv1.W"]), q, f"{name}.bn1"))
        y = functional.conv2d(y, q[f"{name}.conv2.W"], stride=stride, padding=1)
        y = torch.relu(normalised(y, q, f"{name}.bn2"))
        y = normalised(functional.conv2d(y, q[f"{name}.conv3.W"]), q, f"{name}.bn3")
        if block.projects:
            x = functional.conv2d(x, q[f"{name}.downsample.conv.W"], stride=stride)
            x = normalised(x, q, f"{name}.downsample.bn")
        x = torch.relu(x + y)
    return functional.avg_pool2d(x, x.shape[-1]).flatten(1) @ q["fc.W"] + q["fc.b"]


def assert_close(found: Any, expected: Any, share: float, name: str) -> None:
    assert np.abs(found - expected).max() <= share * np.abs(expected).max(), name


@pytest.mark.parametrize(("dtype", "closeness"), [("float64", 1e-10), ("float32", 1e-4)])
def test_output_loss_and_gradients(dtype: str, closeness: float) -> None:
    random = np.random.RandomState(0)
    arrays = first_arrays(random, dtype)
    images = random.normal(size=(4, 3, 64, 64)).astype(dtype)
    labels = random.randint(0, 1000, 4)
    network = Network(arrays, side=64)
    with training():
        logits = network(Tensor(images, requires_grad=False))
        loss = softmax_cross_entropy(logits, labels)

    q = {name: torch.tensor(arrays[name], requires_grad=True) for name in network.parameters}
    expected_logits = theirs(torch.tensor(images), q)
    expected_loss = functional.cross_entropy(expected_logits, torch.tensor(labels))
    assert_close(logits.data, expected_logits.detach().numpy(), closeness, "logits")
    assert float(loss.data) == pytest.approx(expected_loss.item(), rel=closeness)
    if dtype == "float32":
        return  # a rectifier that float32 decides otherwise moves some gradients by 5 % of the largest
    expected_loss.backward()
    gradients = {str(parameter.name): gradient.data for parameter, gradient in backward(loss)}
    assert set(gradients) == set(q)
    for name, tensor in q.items():
        assert_close(gradients[name], tensor.grad.numpy(), 1e-9, name)
