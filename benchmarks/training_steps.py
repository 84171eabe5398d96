"""One training step of each program, by this package and by PyTorch, for ``training.py`` to time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Step = Callable[[], Any]
Arrays = dict[str, NDArray[Any]]

SIDE = 64
"""Of an image of ResNet-50."""

RESNET_OPTIONS = {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-5}
"""The optimizer of the ticket's program."""


@dataclass(frozen=True)
class Device:
    """Where the steps run, "cpu" or "cuda": one call is over when ``wait`` returns."""

    name: str = "cpu"

    def put(self, array: NDArray[Any]) -> Any:
        """An array of this package there."""
        if self.name == "cpu":
            return array
        import cupy

        return cupy.asarray(array)

    def wait(self) -> None:
        """For everything that was launched, by either library."""
        if self.name != "cpu":
            import cupy

            cupy.cuda.Device().synchronize()

    def over(self, step: Step) -> Step:
        """The step and the wait for it."""
        if self.name == "cpu":
            return step

        def both() -> Any:
            result = step()
            self.wait()
            return result

        return both


@dataclass(frozen=True)
class Program:
    """A training program: ``batch`` is what it is timed with, ``goal`` the times of torch's that a step may take.

    ``batches``: those its memory is measured with, a smaller one, ``batch`` itself and a larger one.
    """

    name: str
    batch: int
    goal: float
    batches: tuple[int, ...]
    ours: Callable[[int, int, Device], Step]
    torch: Callable[..., Step]


def programs() -> dict[str, Program]:
    """The ticket's three by name. ResNet-50 has images of 64x64: at 224x224 a step takes twelve times as long."""
    three = (
        Program("mlp", 400, 1.0, (40, 400, 40000), _mlp, _torch_mlp),
        Program("mnist_cnn", 64, 1.25, (16, 64, 256), _cnn, _torch_cnn),
        Program("resnet50", 8, 1.5, (2, 8, 16), _resnet, _torch_resnet),
    )
    return {program.name: program for program in three}


def _mlp(batch: int, seed: int, device: Device) -> Step:
    from reference_impl.optim import SGD
    from reference_impl.workloads.mlp import LEARNING_RATE, Network

    arrays, points, labels = _mlp_arrays(batch, seed)
    network = Network({name: device.put(array) for name, array in arrays.items()})
    return _step(network, SGD(LEARNING_RATE), points, np.eye(2, dtype=np.int32)[labels], device)


def _cnn(batch: int, seed: int, device: Device) -> Step:
    from reference_impl.workloads.mnist_cnn_network import CLASSES, Network, first_parameters
    from reference_impl.workloads.mnist_cnn_steps import optimizer

    images, labels = _pictures((batch, 1, 28, 28), CLASSES, seed)
    first = first_parameters(seed, "float32")
    network = Network({name: device.put(array) for name, array in first.items()})
    return _step(network, optimizer(), images, np.eye(CLASSES, dtype=np.int32)[labels], device)


def _resnet(batch: int, seed: int, device: Device) -> Step:
    from reference_impl.optim import SGD
    from reference_impl.workloads.resnet50_network import Network, first_arrays

    images, labels = _pictures((batch, 3, SIDE, SIDE), 1000, seed)
    first = first_arrays(np.random.RandomState(seed), "float32")
    network = Network({name: device.put(array) for name, array in first.items()}, side=SIDE)
    return _step(network, SGD(**RESNET_OPTIONS), images, labels, device)


def _step(
    network: Any, sgd: Any, images: NDArray[Any], targets: NDArray[Any], device: Device
) -> Step:
    from reference_impl.autograd import training
    from reference_impl.ops import softmax_cross_entropy
    from reference_impl.tensor import Tensor

    x, t = Tensor(device.put(images), requires_grad=False), device.put(targets)

    def step() -> Any:
        with training():
            loss = softmax_cross_entropy(network(x), t)
        sgd.step(loss)
        return loss

    return device.over(step)


def _torch_mlp(batch: int, seed: int, device: Device, *, compiled: bool = False) -> Step:
    import torch

    from reference_impl.workloads.mlp import LEARNING_RATE

    arrays, points, labels = _mlp_arrays(batch, seed)
    first, second = torch.nn.Linear(2, 3), torch.nn.Linear(3, 2)
    with torch.no_grad():
        for layer, w, b in ((first, "w0", "b0"), (second, "w1", "b1")):
            layer.weight.copy_(torch.from_numpy(arrays[w].T))
            layer.bias.copy_(torch.from_numpy(arrays[b][0]))
    network = torch.nn.Sequential(first, torch.nn.ReLU(), second)
    return _torch_step(network, points, labels, {"lr": LEARNING_RATE}, device, compiled)


def _torch_cnn(batch: int, seed: int, device: Device, *, compiled: bool = False) -> Step:
    import torch
    from torch import nn

    from reference_impl.workloads.mnist_cnn_network import CLASSES, first_parameters
    from reference_impl.workloads.mnist_cnn_steps import LEARNING_RATE, MOMENTUM, WEIGHT_DECAY

    images, labels = _pictures((batch, 1, 28, 28), CLASSES, seed)
    layers = {
        "conv1": nn.Conv2d(1, 20, 5),
        "conv2": nn.Conv2d(20, 50, 5),
        "linear1": nn.Linear(800, 500),
        "linear2": nn.Linear(500, CLASSES),
    }
    with torch.no_grad():
        for name, values in first_parameters(seed, "float32").items():
            layer, part = name.split(".")
            target = layers[layer].weight if part == "W" else layers[layer].bias
            target.copy_(torch.from_numpy(values.T if values.ndim == 2 else values))
    conv1, conv2, linear1, linear2 = layers.values()
    network = nn.Sequential(
        *(conv1, nn.ReLU(), nn.MaxPool2d(2), conv2, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(linear1, nn.ReLU(), linear2),
    )
    options = {"lr": LEARNING_RATE, "momentum": MOMENTUM, "weight_decay": WEIGHT_DECAY}
    return _torch_step(network, images, labels, options, device, compiled)


def _torch_resnet(batch: int, seed: int, device: Device, *, compiled: bool = False) -> Step:
    import torch

    from reference_impl.workloads.resnet50_network import first_arrays

    images, labels = _pictures((batch, 3, SIDE, SIDE), 1000, seed)
    arrays = first_arrays(np.random.RandomState(seed), "float32")
    there = {name: torch.from_numpy(array).to(device.name) for name, array in arrays.items()}
    statistics = (".mean", ".variance")
    running = {name: tensor for name, tensor in there.items() if name.endswith(statistics)}
    parameters = {n: torch.nn.Parameter(tensor) for n, tensor in there.items() if n not in running}
    network = _torch_network(parameters, running)
    return _torch_step(
        network, images, labels, RESNET_OPTIONS, device, compiled, parameters.values()
    )


def _torch_network(parameters: Mapping[str, Any], running: Mapping[str, Any]) -> Any:
    import torch
    from torch.nn import functional

    from reference_impl.workloads.resnet50_network import RESNET50

    def convolved(x: Any, name: str, *, stride: int = 1, padding: int = 0) -> Any:
        return functional.conv2d(x, parameters[f"{name}.W"], stride=stride, padding=padding)

    def normalised(x: Any, name: str) -> Any:
        mean, variance = running[f"{name}.mean"], running[f"{name}.variance"]
        scale, bias = parameters[f"{name}.scale"], parameters[f"{name}.bias"]
        return functional.batch_norm(x, mean, variance, scale, bias, training=True)

    def network(x: Any) -> Any:
        x = normalised(convolved(x, "conv1", stride=2, padding=3), "bn1").relu()
        x = functional.max_pool2d(x, 3, stride=2, padding=1)
        for block in RESNET50.blocks():
            name, stride = block.name, block.stride
            y = normalised(convolved(x, f"{name}.conv1"), f"{name}.bn1").relu()
            y = convolved(y, f"{name}.conv2", stride=stride, padding=1)
            y = normalised(y, f"{name}.bn2").relu()
            y = normalised(convolved(y, f"{name}.conv3"), f"{name}.bn3")
            if block.projects:
                x = convolved(x, f"{name}.downsample.conv", stride=stride)
                x = normalised(x, f"{name}.downsample.bn")
            x = torch.relu(y + x)
        x = functional.avg_pool2d(x, x.shape[-1]).flatten(1)
        return functional.linear(x, parameters["fc.W"].T, parameters["fc.b"])

    return network


def _torch_step(
    network: Any,
    images: NDArray[Any],
    labels: NDArray[Any],
    options: Mapping[str, float],
    device: Device,
    compiled: bool,
    parameters: Any = None,
) -> Step:
    import torch

    if parameters is None:
        parameters = network.to(device.name).parameters()
    x, t = (torch.from_numpy(array).to(device.name) for array in (images, labels))
    sgd = torch.optim.SGD(parameters, **options)
    function = torch.compile(network) if compiled else network

    def step() -> Any:
        sgd.zero_grad()
        loss = torch.nn.functional.cross_entropy(function(x), t)
        loss.backward()
        sgd.step()
        return loss.detach()

    return device.over(step)


def _mlp_arrays(batch: int, seed: int) -> tuple[Arrays, NDArray[Any], NDArray[np.int64]]:
    random = np.random.RandomState(seed)
    points = random.uniform(-1, 1, (batch, 2)).astype(np.float32)
    labels = (points[:, 1] > 5 * points[:, 0] + 1).astype(np.int64)
    shapes = {"w0": (2, 3), "b0": (1, 3), "w1": (3, 2), "b1": (1, 2)}
    arrays = {name: random.normal(0, 0.1, s).astype(np.float32) for name, s in shapes.items()}
    return arrays, points, labels


def _pictures(
    shape: tuple[int, ...], classes: int, seed: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    random = np.random.RandomState(seed)
    return random.normal(size=shape).astype(np.float32), random.randint(0, classes, shape[0])
