"""One small specimen of every layer, and what is done with all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from harness.devices.simulated import SimulatedDevice
from harness.model.trace import Trace
from reference_impl.autograd import backward, training
from reference_impl.nn import (
    AvgPool2d,
    BatchNorm2d,
    Conv2d,
    Flatten,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    Sequential,
)
from reference_impl.tensor import Tensor

Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Specimen:
    """A layer made from arrays by name, of these shapes; ``x`` is its input."""

    name: str
    build: Callable[[Arrays], Module]
    shapes: Mapping[str, tuple[int, ...]]

    def arrays(self, dtype: str = "float64") -> dict[str, np.ndarray[Any, Any]]:
        rng = np.random.default_rng(7)
        drawn = {name: rng.normal(size=shape) for name, shape in self.shapes.items()}
        if "variance" in drawn:
            drawn["variance"] = np.abs(drawn["variance"]) + 0.5
        return {name: values.astype(dtype) for name, values in drawn.items()}

    def pass_through(self, arrays: Arrays, weigh: Any = None) -> dict[str, Any]:
        """The output ``y`` of a training pass and, by name, the gradients of the mean of ``y * weigh``."""
        module = self.build(arrays)
        x = Tensor(arrays["x"], stores_grad=True, name="x")
        with training():
            y = module(x)
        if weigh is None:
            return {"y": y.data}
        found = {parameter.name: gradient.data for parameter, gradient in backward(y, dy=weigh)}
        return {"y": y.data, **found}

    def weights(self, arrays: Arrays) -> np.ndarray[Any, Any]:
        y = self.pass_through(arrays)["y"]
        return np.random.default_rng(8).normal(size=y.shape).astype(y.dtype)


def _conv(**options: Any) -> Callable[[Arrays], Module]:
    return lambda a: Conv2d(a["W"], a.get("b"), **options)


def _batch_norm(a: Arrays) -> Module:
    # Copies: a training pass moves the running statistics.
    mean, variance = a["mean"].copy(), a["variance"].copy()
    return BatchNorm2d(a["scale"], a["bias"], mean=mean, variance=variance)


def _several(a: Arrays) -> Module:
    return Sequential(
        Conv2d(a["1.W"], a["1.b"], padding=1, name="1"),
        ReLU(),
        MaxPool2d(2),
        Flatten(),
        Linear(a["2.W"], a["2.b"], name="2"),
    )


_X = {"x": (2, 3, 6, 5)}
_OF_CHANNELS = dict.fromkeys(("scale", "bias", "mean", "variance"), (3,))
SPECIMENS = (
    Specimen("conv", _conv(), {**_X, "W": (4, 3, 3, 3), "b": (4,)}),
    Specimen("conv-without-bias", _conv(), {**_X, "W": (4, 3, 2, 3)}),
    Specimen(
        "conv-strided-padded", _conv(stride=2, padding=1), {**_X, "W": (4, 3, 3, 3), "b": (4,)}
    ),
    Specimen(
        "conv-uneven",
        _conv(stride=(1, 2), padding=(2, 0)),
        {**_X, "W": (2, 3, 2, 3), "b": (2,)},
    ),
    Specimen("conv-1x1", _conv(), {**_X, "W": (4, 3, 1, 1)}),
    Specimen("conv-1x1-strided", _conv(stride=2), {**_X, "W": (4, 3, 1, 1)}),
    Specimen("conv-gaps", _conv(stride=3), {**_X, "W": (2, 3, 2, 2)}),
    Specimen("linear", lambda a: Linear(a["W"], a["b"]), {"x": (4, 3), "W": (3, 5), "b": (5,)}),
    Specimen("linear-without-bias", lambda a: Linear(a["W"]), {"x": (4, 3), "W": (3, 5)}),
    Specimen("batch-norm", _batch_norm, {**_X, **_OF_CHANNELS}),
    Specimen("relu", lambda a: ReLU(), _X),
    Specimen("max-pool", lambda a: MaxPool2d(2), _X),
    Specimen("max-pool-1x1", lambda a: MaxPool2d(1), _X),
    Specimen("max-pool-overlapping", lambda a: MaxPool2d(3, stride=2, padding=1), _X),
    Specimen("max-pool-uneven", lambda a: MaxPool2d((3, 2), stride=(1, 3), padding=(0, 1)), _X),
    Specimen("average-pool", lambda a: AvgPool2d(2), _X),
    Specimen("average-pool-padded", lambda a: AvgPool2d(3, stride=2, padding=1), _X),
    Specimen("flatten", lambda a: Flatten(), _X),
    Specimen(
        "sequential",
        _several,
        {
            "x": (2, 1, 4, 6),
            "1.W": (2, 1, 3, 3),
            "1.b": (2,),
            "2.W": (12, 3),
            "2.b": (3,),
        },
    ),
)


@pytest.fixture(params=SPECIMENS, ids=lambda specimen: specimen.name)
def specimen(request: pytest.FixtureRequest) -> Specimen:
    found: Specimen = request.param
    return found


@pytest.fixture(scope="session")
def of_layer() -> type[Specimen]:
    """To make specimens of one's own."""
    return Specimen


class Watch:
    """The simulated device: arrays put there, host copies of what is there, and what a function moves."""

    def __init__(self) -> None:
        self.device = SimulatedDevice()

    def put(self, arrays: Arrays) -> dict[str, Any]:
        return {name: self.device.to_device(array) for name, array in arrays.items()}

    def fetch(self, arrays: Arrays) -> dict[str, np.ndarray[Any, Any]]:
        return {name: self.device.to_host(array) for name, array in arrays.items()}

    def over(self, function: Callable[[], Any]) -> tuple[Any, Trace]:
        assert self.device.probe is not None
        with self.device.probe.record() as recording:
            result = function()
        return result, recording.trace()


@pytest.fixture
def watch() -> Watch:
    return Watch()
