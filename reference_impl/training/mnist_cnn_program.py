"""The ticket's convolutional network: ten epochs of handwritten digits in batches of 64.

Source: examples/autograd/mnist_cnn.py of Apache SINGA at commit 7baf2c40 (SINGA-502), with its augmentation and its
accounting: the loss of an epoch is the sum of the mean losses of its batches, accuracies are of whole batches (59,968
and 9,984 images of MNIST), and the time includes the test.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from reference_impl.ops import HostRoundTripSoftMaxCrossEntropy, SoftMaxCrossEntropy
from reference_impl.optim import SGD
from reference_impl.tensor import Tensor
from reference_impl.training.checkpoint import DATA_SETTING, Identity, Row
from reference_impl.training.command import common_options, positive, write_record
from reference_impl.training.device import Device, device_named, on_host
from reference_impl.training.epochs import train
from reference_impl.training.errors import DivergedError
from reference_impl.training.images import Images, augmented, batches, digits, mnist
from reference_impl.training.model import Model, first_non_finite, layers_of
from reference_impl.training.progress import Advance, bar
from reference_impl.training.regions import unwatched
from reference_impl.workloads.mnist_cnn_metrics import DeviceMetrics, HostMetrics
from reference_impl.workloads.mnist_cnn_network import Network, first_parameters
from reference_impl.workloads.mnist_cnn_steps import (
    BATCH,
    LEARNING_RATE,
    MOMENTUM,
    WEIGHT_DECAY,
    forward,
)
from reference_impl.workloads.training_record import Record, cnn_record

__all__ = ["MnistCnnProgram", "command"]

EPOCHS = 10
DIGITS_EPOCHS = 100
"""Of 22 batches, as many steps as 2.3 epochs of MNIST; in the last 20 of them 98.2 % of the digits are right."""


class MnistCnnProgram:
    """The program on ``images``; ``lazy`` keeps loss and right answers on the device for an epoch."""

    units = "epochs"

    def __init__(
        self,
        device: Device,
        images: Images,
        *,
        seed: int = 0,
        epochs: int = EPOCHS,
        batch_size: int = BATCH,
        learning_rate: float = LEARNING_RATE,
        lazy: bool = False,
        pre_fix: bool = False,
    ) -> None:
        images.check_batch(batch_size)
        self._usual = (batch_size, learning_rate) == (BATCH, LEARNING_RATE)
        self.images, self.epochs, self.batch_size, self.lazy = images, epochs, batch_size, lazy
        self._op = HostRoundTripSoftMaxCrossEntropy if pre_fix else SoftMaxCrossEntropy
        self.network = Network(device.put_all(first_parameters(seed, "float32")))
        sgd = SGD(learning_rate, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
        self.model = Model(self.network, sgd, np.random.RandomState(seed), device)
        self.identity = Identity(
            program="mnist_cnn",
            seed=seed,
            settings={
                "device": device.name,
                DATA_SETTING: images.text,
                "batch size": batch_size,
                "learning rate": learning_rate,
                "lazy metrics": lazy,
                "pre-fix op": pre_fix,
            },
        )

    @property
    def train_batches(self) -> int:
        """Whole batches of one epoch."""
        return len(self.images.train) // self.batch_size

    @property
    def test_batches(self) -> int:
        """Whole batches of the test."""
        return len(self.images.test) // self.batch_size

    def epoch(self, number: int, *, careful: bool) -> Row:
        """Train on every batch in a new order, then test."""
        title = f"epoch {number}"
        if careful:
            title += " again, to find the step that lost it"
        else:
            click.echo(f"Starting Epoch {number}:")
        start = time.perf_counter()
        with bar(title, self.train_batches + self.test_batches) as advance:
            loss, correct = self._trained(number, advance, careful=careful)
            right = self._tested(advance)
        return {
            "loss": loss,
            "accuracy": correct / (self.train_batches * self.batch_size),
            "test_accuracy": right / (self.test_batches * self.batch_size),
            "seconds": time.perf_counter() - start,
        }

    def _trained(self, number: int, advance: Advance, *, careful: bool) -> tuple[float, int]:
        images, random, device = self.images, self.model.random, self.model.device
        order = random.permutation(len(images.train))
        metrics = self._metrics()
        of_epoch = batches(
            images.train, images.train_labels, order, size=self.batch_size, white=images.white
        )
        for step, (host_x, host_t, labels) in enumerate(of_epoch):
            x, t = device.put(augmented(host_x, random)), device.put(host_t)
            logits, loss = forward(self.network, self._op, x, t, unwatched)
            self._count(metrics, logits.data, loss.data, t, labels)
            lost = careful and not math.isfinite(float(on_host(loss.data)))
            if lost or (not self.lazy and not math.isfinite(metrics.read()[0])):
                raise self._diverged(number, step, x)
            self.model.sgd.step(loss)
            advance(self._shown(metrics, step))
        return metrics.read()

    def _tested(self, advance: Advance) -> int:
        images, device = self.images, self.model.device
        metrics, no_loss = self._metrics(), device.put(np.zeros((), np.float32))
        of_test = batches(
            images.test,
            images.test_labels,
            np.arange(len(images.test)),
            size=self.batch_size,
            white=images.white,
        )
        for host_x, host_t, labels in of_test:
            logits = self.network(Tensor(device.put(host_x), requires_grad=False))
            loss = no_loss if self.lazy else np.zeros((), np.float32)
            self._count(
                metrics, logits.data, loss, device.put(host_t) if self.lazy else None, labels
            )
            advance("test")
        return metrics.read()[1]

    def _metrics(self) -> HostMetrics | DeviceMetrics:
        if not self.lazy:
            return HostMetrics()
        return DeviceMetrics(next(iter(self.network.parameters.values())).data)

    @staticmethod
    def _count(
        metrics: HostMetrics | DeviceMetrics,
        logits: Any,
        loss: Any,
        targets: Any,
        labels: NDArray[np.int64],
    ) -> None:
        if isinstance(metrics, DeviceMetrics):
            metrics.add(logits, loss, targets)
        else:
            metrics.add(logits, loss, labels)

    def _shown(self, metrics: HostMetrics | DeviceMetrics, step: int) -> str:
        if isinstance(metrics, DeviceMetrics):
            return "loss and accuracy on the device"
        loss, correct = metrics.read()
        seen = step + 1
        return f"loss {loss / seen:.4f}, accuracy {correct / (seen * self.batch_size):.4f}"

    def _diverged(self, number: int, step: int, x: Any) -> DivergedError:
        where = first_non_finite(layers_of(self.network.layers), Tensor(x, requires_grad=False))
        return DivergedError(
            f"the loss is not finite at step {step} of epoch {number}: {where}; lower --learning-rate"
        )

    def tell(self, number: int, row: Row) -> None:
        """The ticket's two lines."""
        click.echo(
            f"Training loss = {row['loss']:f}, training accuracy = {row['accuracy']:f}\n"
            f"Evaluation accuracy = {row['test_accuracy']:f}, Elapsed Time = {row['seconds']:f}s"
        )

    def record(self, history: Sequence[Row]) -> Record:
        """What was done, for a report."""
        return cnn_record(
            history, data=self.images.text, is_mnist=self.images.is_mnist, usual=self._usual
        )


@click.command()
@common_options
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder with the four IDX files of MNIST, gzip or not. Without it: scikit-learn's digits, not MNIST.",
)
@click.option(
    "--epochs", type=positive(int), help=f"{EPOCHS} with MNIST, {DIGITS_EPOCHS} with digits."
)
@click.option("--batch-size", type=positive(int), default=BATCH, show_default=True)
@click.option("--images", type=positive(int), help="Use no more than these of each part.")
@click.option("--learning-rate", type=positive(float), default=LEARNING_RATE, show_default=True)
@click.option("--lazy-metrics", is_flag=True, help="Read loss and accuracy once per epoch.")
@click.option("--pre-fix", is_flag=True, help="Compute the loss as before the fix of SINGA-502.")
def command(
    device: str,
    seed: int,
    checkpoint: Path | None,
    resume: bool,
    record: Path | None,
    data: Path | None,
    epochs: int | None,
    batch_size: int,
    images: int | None,
    learning_rate: float,
    lazy_metrics: bool,
    pre_fix: bool,
) -> None:
    """Train the ticket's convolutional network on handwritten digits."""
    place = device_named(device)
    found = digits() if data is None else mnist(data)
    if images is not None:
        found = found.first(images)
    program = MnistCnnProgram(
        place,
        found,
        seed=seed,
        epochs=epochs or (DIGITS_EPOCHS if data is None else EPOCHS),
        batch_size=batch_size,
        learning_rate=learning_rate,
        lazy=lazy_metrics,
        pre_fix=pre_fix,
    )
    click.echo(
        f"Data: {found.text}; {len(found.train):,} for training, {len(found.test):,} for testing"
    )
    history = train(program, checkpoint=checkpoint, resume=resume)
    write_record(record, program.record(history), program.identity)
