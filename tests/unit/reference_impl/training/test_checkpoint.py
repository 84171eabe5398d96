"""Checkpoints: what goes in comes out, damage is named, and a failed write leaves the last one as it was."""

from __future__ import annotations

import json
import re
import resource
import signal
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reference_impl.training.checkpoint import (
    FORMAT,
    Checkpoint,
    Identity,
    load_checkpoint,
    save_checkpoint,
)
from reference_impl.training.errors import InputError

IDENTITY = Identity(program="mlp", seed=3, settings={"device": "cpu", "learning rate": 0.1})
CHECKPOINT = Checkpoint(
    identity=IDENTITY,
    history=({"loss": 0.1 + 0.2}, {"loss": 1e-300}),
    arrays={"tensor/w": np.arange(4, dtype=np.float32), "random/keys": np.arange(3)},
    random={"kind": "MT19937", "position": 2, "has_gauss": 1, "gauss": 0.1},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.npz"


def test_everything_comes_back_to_the_bit(path: Path) -> None:
    save_checkpoint(CHECKPOINT, path)
    found = load_checkpoint(path, IDENTITY)
    assert (found.history, found.random) == (CHECKPOINT.history, CHECKPOINT.random)
    assert set(found.arrays) == set(CHECKPOINT.arrays)
    for name, array in CHECKPOINT.arrays.items():
        assert found.arrays[name].tobytes() == array.tobytes()
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_file_cut_off_after_any_byte_is_refused(path: Path) -> None:
    save_checkpoint(CHECKPOINT, path)
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=str(path)) as caught:
            load_checkpoint(path, IDENTITY)
        assert "\n" not in str(caught.value)


def test_a_flipped_bit_is_refused_or_changes_nothing(path: Path) -> None:
    save_checkpoint(CHECKPOINT, path)
    content = path.read_bytes()
    for place in range(0, len(content), 11):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        try:
            found = load_checkpoint(path, IDENTITY)
        except InputError:
            continue
        assert found.history == CHECKPOINT.history
        assert found.arrays["tensor/w"].tobytes() == CHECKPOINT.arrays["tensor/w"].tobytes()


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (replace(IDENTITY, program="resnet50"), "program 'mlp', but this run has 'resnet50'"),
        (replace(IDENTITY, seed=4), "seed 3, but this run has 4"),
        (
            replace(IDENTITY, settings={"device": "cpu", "learning rate": 0.2}),
            "learning rate 0.1, but this run has 0.2",
        ),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(
    path: Path, other: Identity, complaint: str
) -> None:
    save_checkpoint(CHECKPOINT, path)
    with pytest.raises(InputError, match=complaint):
        load_checkpoint(path, other)


def test_a_checkpoint_of_another_version_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "reference_impl.training.checkpoint.SCHEMA_VERSION"
    with monkeypatch.context() as patched:
        patched.setattr(module, 2)
        save_checkpoint(CHECKPOINT, path)
    with pytest.raises(InputError, match="is of version 2, and this program reads version 1"):
        load_checkpoint(path, IDENTITY)


def pickled(path: Path) -> None:
    np.savez(path, header=np.array([{}], dtype=object), allow_pickle=True)


def single_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def other_archive(path: Path) -> None:
    np.savez(path, x=np.zeros(3))


def archive_of_text(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "precious")


def without_history(path: Path) -> None:
    header = {
        "format": FORMAT,
        "schema_version": 1,
        "program": IDENTITY.program,
        "seed": IDENTITY.seed,
        "settings": dict(IDENTITY.settings),
        "arrays": [],
    }
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), np.uint8))


def cut_off(path: Path) -> None:
    save_checkpoint(CHECKPOINT, path)
    path.write_bytes(path.read_bytes()[:-40])


def damaged(path: Path) -> None:
    save_checkpoint(CHECKPOINT, path)
    w = np.arange(4, dtype=np.float32).tobytes()
    path.write_bytes(path.read_bytes().replace(w, w[::-1]))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_text("precious"), "is no checkpoint; name the file"),
        (pickled, "its header.npy cannot be understood"),
        (single_array, "is no checkpoint, but a single array"),
        (other_archive, "is no checkpoint of a training program: it has no header"),
        (archive_of_text, "its notes.txt cannot be understood"),
        (without_history, "its header holds no history, or no generator"),
        (cut_off, "is cut off or damaged, or no checkpoint: its list of contents"),
        (damaged, "is cut off or damaged, or no checkpoint: its tensor/w.npy"),
        (lambda path: path.mkdir(), "is not a regular file"),
        (lambda path: None, "cannot be read: No such file"),
    ],
)
def test_what_is_no_checkpoint_is_refused_in_words_of_our_own(
    path: Path, make: Callable[[Path], object], complaint: str
) -> None:
    make(path)
    with pytest.raises(InputError) as caught:
        load_checkpoint(path, IDENTITY)
    found = str(caught.value)
    assert found.startswith(f"{path}: ")
    assert complaint in found
    assert not re.search(r"pickle|allow_|Error|zip|magic|CRC|\n", found.removeprefix(str(path)))


@contextmanager
def files_no_larger_than(size_bytes: int) -> Iterator[None]:
    """What a full disk is to a program: writing raises OSError."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_where_the_disk_is_full_the_last_one_stays(path: Path) -> None:
    save_checkpoint(CHECKPOINT, path)
    content = path.read_bytes()
    larger = replace(CHECKPOINT, arrays={"tensor/w": np.zeros(10_000)})
    with (
        files_no_larger_than(4096),
        pytest.raises(InputError, match="the one from before is intact"),
    ):
        save_checkpoint(larger, path)
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent is no folder, make it"):
        save_checkpoint(CHECKPOINT, tmp_path / "absent" / "run.npz")
