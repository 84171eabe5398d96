"""One training step of the ticket's mnist_cnn.py: its batch, its optimizer, and its regions.

Source: examples/autograd/mnist_cnn.py of Apache SINGA at commit 7baf2c40 (SINGA-502).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.autograd import Operation, backward, training
from reference_impl.backend import Array
from reference_impl.optim import SGD
from reference_impl.oracle import mnist_cnn as oracle
from reference_impl.tensor import Tensor
from reference_impl.workloads.mnist_cnn_images import ImageSource
from reference_impl.workloads.mnist_cnn_network import CLASSES, PARAMETERS, SIDE, Network

__all__ = [
    "BATCH",
    "IMAGE_SHAPE",
    "LEARNING_RATE",
    "MOMENTUM",
    "WEIGHT_DECAY",
    "OperationFactory",
    "Region",
    "batches",
    "forward",
    "gradient_of",
    "optimizer",
    "train_as_oracle",
    "update",
]

Region = Callable[[str], AbstractContextManager[None]]
OperationFactory = Callable[..., Operation]

BATCH = 64
IMAGE_SHAPE = (BATCH, 1, SIDE, SIDE)
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.005, 0.9, 1e-5


def optimizer() -> SGD:
    """The ticket's: SGD with momentum and weight decay."""
    return SGD(LEARNING_RATE, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)


@cache
def batches(
    source: ImageSource, steps: int, dtype: str
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
    """Images (S, 64, 1, 28, 28), one-hot labels (S, 64, 10) and labels (S, 64), in the order they come in.

    On the host, and read-only: every call gets the same ones.
    """
    found = source.load(steps * BATCH)
    images = found.images.astype(dtype).reshape((steps, *IMAGE_SHAPE))
    labels = found.labels.reshape((steps, BATCH))
    targets = np.eye(CLASSES, dtype=np.int32)[labels]
    for array in (images, targets, labels):
        array.setflags(write=False)
    return images, targets, labels


def forward(
    network: Network, op: OperationFactory, x: Array, t: Array, region: Region
) -> tuple[Tensor, Tensor]:
    """Logits (64, 10) and loss of images ``x`` with one-hot labels ``t``, recorded for ``backward``."""
    with training():
        with region("forward"):
            logits = network(Tensor(x, requires_grad=False))
        with region("loss"):
            (loss,) = op(t)(logits)
    return logits, loss


def update(sgd: SGD, loss: Tensor, region: Region) -> dict[str, Array]:
    """Move each parameter as soon as its gradient is known; the gradients by the parameter's name."""
    gradients = {}
    with region("backward"):
        for parameter, gradient in backward(loss):
            with region("update"):
                sgd.update(parameter, gradient)
            gradients[parameter.name or ""] = gradient.data
    return gradients


def train_as_oracle(
    parameters: Mapping[str, Array], images: NDArray[Any], targets: NDArray[Any]
) -> oracle.CnnTruth:
    """The same steps in float64, from batches and parameters on the host."""
    return oracle.train(
        images,
        targets,
        {name: parameters[name] for name in PARAMETERS},
        learning_rate=LEARNING_RATE,
        momentum=MOMENTUM,
        weight_decay=WEIGHT_DECAY,
    )


def gradient_of(name: str) -> str:
    """What the gradient of the parameter ``name`` is called among outputs."""
    return f"gradient of {name}"
