"""What the program prints of an epoch: the sum of the batches' mean losses, and how many images were right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.backend import Array, is_host, namespace

__all__ = ["DeviceMetrics", "HostMetrics", "on_host"]


class HostMetrics:
    """As the ticket's program does it: logits and loss of every step come to the host, and are counted there."""

    def __init__(self) -> None:
        self.loss = np.zeros((), np.float32)
        self.correct = 0

    def add(self, logits: Array, loss: Array, labels: NDArray[np.int64]) -> None:
        """Count one batch with ``labels`` (N,), which are on the host; on a device two reads, each a wait."""
        self.correct += int((on_host(logits).argmax(axis=1) == labels).sum())
        # The loss is summed as the program sums it, in float32.
        self.loss = np.asarray(self.loss + on_host(loss).astype(np.float32), np.float32)

    def read(self) -> tuple[float, int]:
        """Loss and correct of all batches so far, which are here already."""
        return float(self.loss), self.correct


class DeviceMetrics:
    """The same two numbers kept where the network is: nothing is read before the epoch is over.

    ``like``: an array that is where they are to be. Counts are exact up to 2**24 images.
    """

    def __init__(self, like: Array) -> None:
        self.totals = namespace(like).zeros((2,), dtype=np.float32)
        self.loss, self.correct = self.totals[:1], self.totals[1:]

    def add(self, logits: Array, loss: Array, targets: Array) -> None:
        """Count one batch with one-hot ``targets`` (N, classes), which are where the logits are; no read."""
        right = logits.argmax(axis=1) == targets.argmax(axis=1)
        self.correct += right.sum()
        self.loss += loss.astype(np.float32, copy=False)

    def read(self) -> tuple[float, int]:
        """Loss and correct of all batches so far: on a device one read of 8 bytes."""
        loss, correct = on_host(self.totals)
        return float(loss), int(correct)


def on_host(array: Array) -> NDArray[Any]:
    """The array itself, or a copy of it on the host: one read, and a wait."""
    host: NDArray[Any] = array if is_host(array) else array.get()
    return host
