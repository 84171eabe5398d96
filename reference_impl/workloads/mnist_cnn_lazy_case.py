"""The steps of mnist_cnn.py with data and metrics on the device: no step copies or waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reference_impl.workloads.mnist_cnn_case import (
    NOTHING,
    STAY_ON_DEVICE,
    Arrays,
    MnistCnnCase,
    learned,
    trained,
)
from reference_impl.workloads.mnist_cnn_metrics import DeviceMetrics
from reference_impl.workloads.mnist_cnn_network import CLASSES, SIDE, Network, first_parameters
from reference_impl.workloads.mnist_cnn_steps import (
    BATCH,
    Region,
    batches,
    forward,
    optimizer,
    train_as_oracle,
    update,
)

__all__ = ["LazyMetricsCase"]


@dataclass(frozen=True, kw_only=True)
class LazyMetricsCase(MnistCnnCase):
    """The same steps on data that are on the device, whose loss and accuracy are read once, at the end.

    Inputs are the first parameters, ``images`` and one-hot ``targets``, and the ``order`` (S * 64,) in which the
    epoch takes them.
    """

    @property
    def name(self) -> str:
        """The dtype, and what it is lazy with."""
        return f"{self.dtype}-lazy_metrics"

    @property
    def metrics(self) -> str:
        """When loss and accuracy are read."""
        return "kept on the device, read once per epoch"

    @property
    def budget(self) -> Mapping[str, Mapping[str, object]]:
        """Nothing in any step; one read of two numbers after the last."""
        reads = {"d2h": 1, "d2h_bytes": 8, "h2d": 0, "syncs": 1}
        once = "the sum of the losses and the number of right answers, 4 B each, are read together"
        picked = "a batch is picked from data and by an order that are on the device"
        added = "loss and right answers are added up where they are"
        return {
            "data": {**NOTHING, "because": picked},
            **STAY_ON_DEVICE,
            "metrics": {**NOTHING, "because": added},
            "epoch": {**reads, "because": once},
            "run": {**reads, "because": once},
        }

    @property
    def tolerances(self) -> Mapping[str, Mapping[str, object]]:
        """As in the other cases; one answer may be right or wrong by a rounding."""
        one = {
            "relative": 0.0,
            "absolute": 1.0,
            "because": "an image whose two largest logits differ by less than their error",
            "dtype": "float32",
        }
        return {**self._tolerances("loss_sum"), "correct": one}

    def inputs(self, seed: int) -> Arrays:
        """The first parameters, ``images`` (S * 64, 1, 28, 28), ``targets`` (S * 64, 10) and ``order``."""
        images, targets, _ = batches(self.source, self.steps, self.dtype)
        count = self.steps * BATCH
        return {
            **first_parameters(seed, self.dtype),
            "images": images.reshape((count, 1, SIDE, SIDE)),
            "targets": targets.reshape((count, CLASSES)),
            "order": np.random.RandomState(seed).permutation(count),
        }

    def run(self, inputs: Arrays, region: Region) -> Arrays:
        """Train; ``loss_sum`` and ``correct`` (1,), the last parameters and gradients stay on the device."""
        network, sgd, metrics = Network(inputs), optimizer(), DeviceMetrics(inputs["images"])
        for step in range(self.steps):
            with region("data"):
                batch = inputs["order"][step * BATCH : (step + 1) * BATCH]
                x, t = (inputs[name].take(batch, axis=0) for name in ("images", "targets"))
            y, loss = forward(network, self.op, x, t, region)
            with region("metrics"):
                metrics.add(y.data, loss.data, t)
            gradients = update(sgd, loss, region)
        with region("epoch"):
            metrics.read()  # what the program prints, read when it is printed
        totals = {"loss_sum": metrics.loss, "correct": metrics.correct}
        return {**totals, **trained(network, gradients)}

    def expected(self, inputs: Arrays) -> Arrays:
        """The same training in float64."""
        images, targets = (
            inputs[name][inputs["order"]].reshape((self.steps, BATCH, *inputs[name].shape[1:]))
            for name in ("images", "targets")
        )
        truth = train_as_oracle(inputs, images, targets)
        right = truth.logits.argmax(axis=2) == targets.argmax(axis=2)
        totals = {"loss_sum": truth.losses.sum(), "correct": right.sum()}
        return {name: np.reshape(total, 1) for name, total in totals.items()} | learned(truth)
