"""The images mnist_cnn is trained on: MNIST from a folder, else scikit-learn's digits; batches as the ticket has them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.data.mnist import load_mnist
from reference_impl.training.errors import InputError, UnavailableError
from reference_impl.workloads.mnist_cnn_images import DIGITS
from reference_impl.workloads.mnist_cnn_network import CLASSES, SIDE

__all__ = ["Images", "augmented", "batches", "digits", "mnist"]

_DIGITS, _DIGITS_FOR_TESTING = 1797, 360
"""All there are, and a fifth of them."""

_DIGITS_TEXT = "handwritten digits of scikit-learn (load_digits, 8x8), enlarged 3 times and padded to 28x28; not MNIST"
_DIGIT_SIDE, _LARGER = 8, 3
"""MNIST's digits are 20 pixels high; 8 pixels are hardly more than one 5x5 kernel, and stay at 97 % after 4,000 steps."""

_BORDER = 4
"""Pixels mirrored at each side before an image is cut out again, at one of 8 x 8 places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Images (count, 1, 28, 28) with labels (count,), in two parts; ``white`` is the value of a white pixel.

    ``text`` says what they really are, ``is_mnist`` whether published figures are of the same.
    """

    train: NDArray[Any]
    train_labels: NDArray[Any]
    test: NDArray[Any]
    test_labels: NDArray[Any]
    white: int
    text: str
    is_mnist: bool

    def first(self, count: int) -> Images:
        """No more than ``count`` images of either part; the text says so."""
        return replace(
            self,
            train=self.train[:count],
            train_labels=self.train_labels[:count],
            test=self.test[:count],
            test_labels=self.test_labels[:count],
            text=f"{self.text}, the first {count:,} of each part",
            is_mnist=False,
        )

    def check_batch(self, size: int) -> None:
        """``InputError`` where a batch is larger than a part."""
        for part, name in ((self.train, "training"), (self.test, "test")):
            if size > len(part):
                raise InputError(
                    f"--batch-size {size} is larger than the {len(part):,} {name} images of {self.text}"
                )


def mnist(folder: Path) -> Images:
    """MNIST, checked; ``IdxError`` names the file that is not as published."""
    found = load_mnist(folder)
    return Images(
        train=found.train_images[:, np.newaxis],
        train_labels=found.train_labels,
        test=found.test_images[:, np.newaxis],
        test_labels=found.test_labels,
        white=255,
        text="MNIST",
        is_mnist=True,
    )


def digits() -> Images:
    """The digits that come with scikit-learn; which are for testing is drawn once, with seed 0."""
    if importlib.util.find_spec("sklearn") is None:
        raise UnavailableError(
            "no --data DIR with MNIST, and scikit-learn's digits are missing; "
            'python -m pip install "ondevice-harness[digits]"'
        )
    found = DIGITS.load(_DIGITS)
    order = np.random.RandomState(0).permutation(_DIGITS)
    images, labels = _enlarged(found.images[order]), found.labels[order]
    bound = _DIGITS - _DIGITS_FOR_TESTING
    return Images(
        train=images[:bound],
        train_labels=labels[:bound],
        test=images[bound:],
        test_labels=labels[bound:],
        white=1,
        text=_DIGITS_TEXT,
        is_mnist=False,
    )


def _enlarged(images: NDArray[np.float32]) -> NDArray[np.float32]:
    """Padded 8x8 digits again, each pixel three by three."""
    around = (SIDE - _DIGIT_SIDE) // 2
    core = images[:, :, around:-around, around:-around]
    larger = core.repeat(_LARGER, axis=2).repeat(_LARGER, axis=3)
    border = ((SIDE - _DIGIT_SIDE * _LARGER) // 2,) * 2
    return np.pad(larger, ((0, 0), (0, 0), border, border))


def batches(
    images: NDArray[Any], labels: NDArray[Any], order: NDArray[np.intp], *, size: int, white: int
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]]:
    """Images, one-hot labels and labels of each whole batch in this ``order``; the rest is dropped."""
    for start in range(0, len(order) - size + 1, size):
        chosen = order[start : start + size]
        x = images[chosen].astype(np.float32) / np.float32(white)
        ids = labels[chosen].astype(np.int64)
        yield x, np.eye(CLASSES, dtype=np.int32)[ids], ids


def augmented(x: NDArray[np.float32], random: np.random.RandomState) -> NDArray[np.float32]:
    """Each image mirrored at its borders, cut out at a random place, and turned left to right half the time."""
    count = len(x)
    places = random.randint(2 * _BORDER, size=(count, 2))
    turned = random.randint(2, size=count).astype(bool)
    border = (_BORDER, _BORDER)
    padded = np.pad(x, ((0, 0), (0, 0), border, border), mode="symmetric")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (SIDE, SIDE), axis=(2, 3))
    cut = windows[np.arange(count), :, places[:, 0], places[:, 1]]
    cut[turned] = cut[turned][..., ::-1]
    return cut
