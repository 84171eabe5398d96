"""Small labelled images for the network: real handwritten digits where they are at hand, else drawn ones.

Neither is MNIST, and both say so.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.workloads.mnist_cnn_network import CLASSES, SIDE

__all__ = ["DIGITS", "SYNTHETIC", "ImageSource", "LabelledImages", "at_hand"]


@dataclass(frozen=True, slots=True)
class LabelledImages:
    """``images`` (count, 1, 28, 28) float32 between 0 and 2, ``labels`` (count,) between 0 and 9."""

    images: NDArray[np.float32]
    labels: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ImageSource:
    """Where images come from: ``text`` for people, ``load(count)`` for the first ``count`` of them."""

    text: str
    load: Callable[[int], LabelledImages]


def at_hand() -> ImageSource:
    """Digits where scikit-learn is installed, which brings them along; else drawn images."""
    return DIGITS if importlib.util.find_spec("sklearn") is not None else SYNTHETIC


def _digits(count: int) -> LabelledImages:
    everything = _all_digits()
    if count > len(everything.labels):
        raise ValueError(f"there are {len(everything.labels)} digits, not {count}")
    return LabelledImages(everything.images[:count], everything.labels[:count])


@cache
def _all_digits() -> LabelledImages:
    found: Any = importlib.import_module("sklearn.datasets").load_digits()
    grey = found.images.astype(np.float32) / np.float32(16)  # they count black pixels, of 16
    border = (SIDE - grey.shape[1]) // 2
    padded = np.pad(grey, ((0, 0), (border, border), (border, border)))
    return LabelledImages(padded[:, np.newaxis], found.target.astype(np.int64))


@cache
def _synthetic(count: int) -> LabelledImages:
    # The recipe of the recorded run of SINGA, in its order of draws.
    random = np.random.RandomState(0)
    images = random.rand(count, 1, SIDE, SIDE).astype(np.float32)
    labels = random.randint(0, CLASSES, count).astype(np.int64)
    for image, label in zip(images, labels, strict=True):
        place = slice(2 * label, 2 * label + 4)
        image[0, place, place] += 1.0
    return LabelledImages(images, labels)


DIGITS = ImageSource(
    "handwritten digits of scikit-learn (load_digits, 8x8), padded to 28x28; not MNIST", _digits
)
SYNTHETIC = ImageSource(
    "drawn: noise with a bright square whose place is the label; not MNIST", _synthetic
)
