"""The steps of mnist_cnn.py as the ticket's program takes them: batches come in, logits and losses go out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference_impl.backend import Array, namespace
from reference_impl.oracle import mnist_cnn as oracle
from reference_impl.workloads import frozen_mnist_cnn as yardstick
from reference_impl.workloads.mnist_cnn_images import ImageSource
from reference_impl.workloads.mnist_cnn_metrics import HostMetrics
from reference_impl.workloads.mnist_cnn_network import (
    CLASSES,
    PARAMETERS,
    SIDE,
    Network,
    first_parameters,
)
from reference_impl.workloads.mnist_cnn_steps import (
    BATCH,
    IMAGE_SHAPE,
    LEARNING_RATE,
    MOMENTUM,
    WEIGHT_DECAY,
    OperationFactory,
    Region,
    batches,
    forward,
    gradient_of,
    optimizer,
    train_as_oracle,
    update,
)

__all__ = ["NOTHING", "STAY_ON_DEVICE", "STEPS", "MnistCnnCase", "learned", "trained"]

Arrays = Mapping[str, Any]

STEPS = 3
"""Steps of one call: the second is the first with a velocity to add to, the third the first to repeat it."""

NOTHING: Mapping[str, object] = {"d2h": 0, "h2d": 0, "syncs": 0, "blocking_copies": 0}
STAY_ON_DEVICE: Mapping[str, Mapping[str, object]] = {
    region: {**NOTHING, "because": because}
    for region, because in {
        "forward": "images and parameters are on the device",
        "loss": "the loss is a number on the device (SINGA-502)",
        "backward": "gradients start from a loss that is on the device",
        "update": "parameters and velocities are updated where they are",
    }.items()
}

_OUTPUTS = ("losses", "loss_sum", "logits", "parameter", "gradient")
_ERRORS: Mapping[str, tuple[Mapping[str, float], str]] = {
    "float64": (
        dict.fromkeys(_OUTPUTS, 1e-13),
        "3e-15 seen in 60 runs: three steps of float64 against float64",
    ),
    # A rectifier or a maximum that float32 decides otherwise sends the gradient of one pixel elsewhere.
    "float32": (
        dict(zip(_OUTPUTS, (7e-5, 2e-4, 8e-4, 1e-4, 1e-2), strict=True)),
        "a tenth of it seen in 60 runs, in most a thousandth: a kink decided otherwise in float32",
    ),
}


@dataclass(frozen=True, kw_only=True)
class MnistCnnCase:
    """The first steps of the program in one dtype, with the op its loss is computed by.

    Inputs are the first parameters alone: the batches are on the host, where the program has them.
    """

    dtype: str
    op: OperationFactory
    source: ImageSource
    steps: int = STEPS
    timed: bool = False

    @property
    def name(self) -> str:
        """The dtype."""
        return self.dtype

    @property
    def parameters(self) -> Mapping[str, str]:
        """What the program trains, on what, and for how long."""
        return {
            "network": "conv 20 of 5x5, ReLU, max 2x2, conv 50 of 5x5, ReLU, max 2x2, 800-500-10",
            "shape": "x".join(map(str, IMAGE_SHAPE)),
            "dtype": self.dtype,
            "labels": "int32 one-hot rows",
            "data": self.source.text,
            "steps": str(self.steps),
            "optimizer": f"SGD, learning rate {LEARNING_RATE}, momentum {MOMENTUM}, weight decay {WEIGHT_DECAY}",
            "metrics": self.metrics,
        }

    @property
    def metrics(self) -> str:
        """When loss and accuracy are read."""
        return "logits and loss read in every step"

    @property
    def throughput(self) -> tuple[str, float, int]:
        """Images; a step must read its batch, and read and write each parameter and its velocity."""
        images, labels = self._batch_bytes
        trained_bytes = np.dtype(self.dtype).itemsize * sum(map(np.prod, PARAMETERS.values()))
        return (
            "images",
            float(self.steps * BATCH),
            self.steps * int(images + labels + 4 * trained_bytes),
        )

    @property
    def flops(self) -> float:
        """Operations of the convolutions and matrix products, two per multiply-add; all others are below 1 %.

        Per image each kernel of a convolution meets every pixel of its output, each weight of a linear layer one
        number. Backward costs the same twice, for weights and for inputs, but images need no gradient.
        """
        pixels = {"conv1.W": 24 * 24, "conv2.W": 8 * 8}
        multiply_adds = {
            name: float(np.prod(shape)) * pixels.get(name, 1)
            for name, shape in PARAMETERS.items()
            if name.endswith(".W")
        }
        three_times = 3 * sum(multiply_adds.values()) - multiply_adds["conv1.W"]
        return 2.0 * self.steps * BATCH * three_times

    @property
    def budget(self) -> Mapping[str, Mapping[str, object]]:
        """Per step: the batch in, logits and loss out, as the program has it; nothing else."""
        images, labels = self._batch_bytes
        number = np.dtype(self.dtype).itemsize
        logits = BATCH * CLASSES * number
        both = 2 * self.steps
        into = {"h2d": both, "h2d_bytes": self.steps * (images + labels)}
        out_of = {"d2h": both, "d2h_bytes": self.steps * (logits + number), "syncs": both}
        put = (
            "the program puts each batch on the device: "
            f"{images:,} B of images and {labels:,} B of labels a step"
        )
        read = (
            "the program counts right answers and adds up losses on the host: "
            f"it reads {logits:,} B of logits and {number} B of loss a step"
        )
        both_of_these = (
            "what data and metrics may, nothing beside: the loss itself needs no read (SINGA-502)"
        )
        return {
            "data": {**into, "d2h": 0, "syncs": 0, "because": put},
            **STAY_ON_DEVICE,
            "metrics": {**out_of, "h2d": 0, "because": read},
            "run": {**into, **out_of, "because": both_of_these},
        }

    @property
    def _batch_bytes(self) -> tuple[int, int]:
        images = BATCH * SIDE * SIDE * np.dtype(self.dtype).itemsize
        return images, BATCH * CLASSES * np.dtype(np.int32).itemsize

    @property
    def tolerances(self) -> Mapping[str, Mapping[str, object]]:
        """Ten times the largest errors seen in 30 seeds of either data; float64 is the sharp one."""
        return self._tolerances("losses", "logits")

    def _tolerances(self, *totals: str) -> dict[str, Mapping[str, object]]:
        kinds = {
            **{name: name for name in totals},
            **dict.fromkeys(PARAMETERS, "parameter"),
            **dict.fromkeys(map(gradient_of, PARAMETERS), "gradient"),
        }
        bounds, because = _ERRORS[self.dtype]
        tolerance = {"relative": 0.0, "because": because, "dtype": self.dtype}
        return {name: {**tolerance, "absolute": bounds[kind]} for name, kind in kinds.items()}

    @property
    def gradients(self) -> Mapping[str, str]:
        """None: what the inputs have a gradient of is the first loss, and the outputs hold the last gradients."""
        return {}

    @property
    def loss(self) -> str | None:
        """None, as there are no gradients."""
        return None

    def inputs(self, seed: int) -> Arrays:
        """The first parameters."""
        return first_parameters(seed, self.dtype)

    def run(self, inputs: Arrays, region: Region) -> Arrays:
        """Train; ``losses`` (S,), ``logits`` (S, 64, 10), the last parameters and gradients stay on the device."""
        network, sgd, metrics = Network(inputs), optimizer(), HostMetrics()
        xp = namespace(inputs["conv1.W"])
        losses = xp.empty(self.steps, dtype=self.dtype)
        logits = xp.empty((self.steps, BATCH, CLASSES), dtype=self.dtype)
        images, targets, labels = batches(self.source, self.steps, self.dtype)
        for step in range(self.steps):
            with region("data"):
                x, t = xp.asarray(images[step]), xp.asarray(targets[step])
            y, loss = forward(network, self.op, x, t, region)
            with region("metrics"):
                logits[step], losses[step] = y.data, loss.data
                metrics.add(y.data, loss.data, labels[step])
            gradients = update(sgd, loss, region)
        return {"losses": losses, "logits": logits, **trained(network, gradients)}

    def expected(self, inputs: Arrays) -> Arrays:
        """The same training in float64."""
        images, targets, _ = batches(self.source, self.steps, self.dtype)
        truth = train_as_oracle(inputs, images, targets)
        return {"losses": truth.losses, "logits": truth.logits, **learned(truth)}

    def peer(self, inputs: Arrays, region: Region) -> Arrays:
        """The same training by frozen plain NumPy, on host arrays."""
        images, targets, _ = batches(self.source, self.steps, self.dtype)
        losses, logits, parameters, gradients = yardstick.train(
            images,
            targets,
            {name: inputs[name] for name in PARAMETERS},
            learning_rate=LEARNING_RATE,
            momentum=MOMENTUM,
            weight_decay=WEIGHT_DECAY,
        )
        return {"losses": losses, "logits": logits, **parameters, **_named(gradients)}


def trained(network: Network, gradients: Mapping[str, Array]) -> dict[str, Array]:
    """The parameters of ``network`` and its last gradients, by the names of the outputs."""
    parameters = {name: parameter.data for name, parameter in network.parameters.items()}
    return {**parameters, **_named(gradients)}


def learned(truth: oracle.CnnTruth) -> dict[str, Array]:
    """The parameters and last gradients of the oracle, by the names of the outputs."""
    return {**truth.parameters, **_named(truth.gradients[-1])}


def _named(gradients: Mapping[str, Array]) -> dict[str, Array]:
    return {gradient_of(name): gradient for name, gradient in gradients.items()}
