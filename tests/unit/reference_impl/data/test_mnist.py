"""A folder of four files: complete, of the right shapes, and with the bytes that were published."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reference_impl.data.idx import IdxError, encode_idx
from reference_impl.data.mnist import MNIST, Published, load_mnist

SHAPES = {name: (6, *shape.shape[1:]) for name, shape in MNIST.items()}
IMAGES, LABELS = "train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
Contents = dict[str, bytes]


def contents() -> Contents:
    random = np.random.RandomState(0)
    return {
        name: encode_idx(random.randint(0, 10, shape).astype(np.uint8))
        for name, shape in SHAPES.items()
    }


def published(files: Contents) -> dict[str, Published]:
    return {
        name: Published(SHAPES[name], hashlib.md5(content).hexdigest())
        for name, content in files.items()
    }


def folder_with(path: Path, files: Contents) -> Path:
    for name, content in files.items():
        (path / name).write_bytes(content)
    return path


def test_the_four_files_are_read_gzip_or_not(tmp_path: Path) -> None:
    files = contents()
    packed = {f"{IMAGES}.gz": gzip.compress(files[IMAGES])}
    plain = {name: content for name, content in files.items() if name != IMAGES}
    found = load_mnist(folder_with(tmp_path, {**packed, **plain}), published(files))
    assert encode_idx(found.train_images) == files[IMAGES]
    assert encode_idx(found.test_labels) == files[LABELS]


def test_mnist_itself_has_60000_and_10000_images_of_28x28() -> None:
    assert [expected.shape for expected in MNIST.values()] == [
        (60000, 28, 28),
        (60000,),
        (10000, 28, 28),
        (10000,),
    ]


def without(files: Contents) -> None:
    del files[LABELS]


def cut(files: Contents) -> None:
    files[LABELS] = files[LABELS][:-1]


def larger(files: Contents) -> None:
    files[LABELS] = encode_idx(np.zeros(7, np.uint8))


def out_of_range(files: Contents) -> None:
    files[LABELS] = encode_idx(np.array([0, 1, 2, 10, 4, 5], np.uint8))


def changed(files: Contents) -> None:
    files[LABELS] = encode_idx(np.zeros(6, np.uint8))


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (without, "holds neither t10k-labels-idx1-ubyte nor"),
        (cut, "is cut off"),
        (larger, "holds 7, not 6 as MNIST's does"),
        (out_of_range, "label 10 of image 3 is out of range"),
        (
            changed,
            r"is not the published MNIST file, or is damaged \(MD5 \w{32}, published \w{32}\)",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, spoil: Callable[[Contents], None], complaint: str
) -> None:
    files = contents()
    right = published(files)
    spoil(files)
    with pytest.raises(IdxError, match=complaint) as caught:
        load_mnist(folder_with(tmp_path, files), right)
    assert str(tmp_path) in str(caught.value)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IdxError, match="is no folder"):
        load_mnist(tmp_path / "absent")
