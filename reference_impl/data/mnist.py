"""MNIST from a folder of its four files, gzip or not, checked against what was published."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reference_impl.data.idx import IdxError, decode_idx, read_bytes

__all__ = ["CLASSES", "MNIST", "Mnist", "Published", "load_mnist"]

CLASSES = 10


@dataclass(frozen=True, slots=True)
class Published:
    """What one file holds: its shape, and the MD5 of its bytes when unpacked."""

    shape: tuple[int, ...]
    md5: str


MNIST: Mapping[str, Published] = {
    "train-images-idx3-ubyte": Published((60000, 28, 28), "6bbc9ace898e44ae57da46a324031adb"),
    "train-labels-idx1-ubyte": Published((60000,), "a25bea736e30d166cdddb491f175f624"),
    "t10k-images-idx3-ubyte": Published((10000, 28, 28), "2646ac647ad5339dbf082846283269ea"),
    "t10k-labels-idx1-ubyte": Published((10000,), "27ae3e4e09519cfbb04c329615203637"),
}
"""The files of LeCun, Cortes and Burges; the digests are those that loaders of many projects agree on."""


@dataclass(frozen=True, slots=True)
class Mnist:
    """Grey levels (count, 28, 28) and labels (count,) of both parts, as bytes."""

    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.uint8]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.uint8]


def load_mnist(folder: Path, published: Mapping[str, Published] = MNIST) -> Mnist:
    """The four files of ``folder``, each as ``NAME`` or ``NAME.gz``.

    Raises ``IdxError``, with the file and what is wrong with it, for one that is missing or cut off, has another
    shape, a label above 9, or other bytes than those ``published``.
    """
    if not folder.is_dir():
        raise IdxError(
            f"{folder}: is no folder; --data takes one with the four IDX files of MNIST, gzip or not"
        )
    train_images, train_labels, test_images, test_labels = (
        _file(folder, name, expected) for name, expected in published.items()
    )
    return Mnist(train_images, train_labels, test_images, test_labels)


def _file(folder: Path, name: str, expected: Published) -> NDArray[np.uint8]:
    path = _existing(folder, name)
    content = read_bytes(path)
    array = decode_idx(content, source=str(path))
    if array.shape != expected.shape:
        found, wanted = ("x".join(map(str, shape)) for shape in (array.shape, expected.shape))
        raise IdxError(f"{path}: holds {found}, not {wanted} as MNIST's does")
    if array.ndim == 1 and array.size and int(array.max()) >= CLASSES:
        place = int(np.argmax(array >= CLASSES))
        raise IdxError(
            f"{path}: label {int(array[place])} of image {place:,} is out of range; labels are 0 to {CLASSES - 1}"
        )
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if digest != expected.md5:
        raise IdxError(
            f"{path}: is not the published MNIST file, or is damaged (MD5 {digest}, published {expected.md5}); "
            "fetch it again"
        )
    return array


def _existing(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise IdxError(f"{folder}: holds neither {name} nor {name}.gz")
