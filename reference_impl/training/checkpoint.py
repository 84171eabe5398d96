"""What a program needs to go on as if it had never stopped, in one file that is there whole or not at all.

The file is an ``.npz`` of plain arrays, nothing pickled, whose entry ``header`` is JSON in UTF-8.
"""

from __future__ import annotations

import io
import json
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from reference_impl.training.errors import InputError
from reference_impl.training.whole_file import replace_file

__all__ = [
    "DATA_SETTING",
    "FORMAT",
    "SCHEMA_VERSION",
    "Checkpoint",
    "Identity",
    "load_checkpoint",
    "save_checkpoint",
]

FORMAT = "ondevice-harness training checkpoint"
SCHEMA_VERSION = 1
_HEADER = "header"

DATA_SETTING = "data"
"""The setting that says what a program is trained on."""


_ZIP, _ARRAY = b"PK\x03\x04", b"\x93NUMPY"
"""How an ``.npz`` and an ``.npy`` begin."""

_DAMAGE = (
    ValueError,
    KeyError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
"""What reading a cut or scribbled zip archive, or an array out of it, raises, depending on where it was hit."""

Row = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which run a checkpoint is of: it goes on only as exactly this."""

    program: str
    seed: int
    settings: Mapping[str, str | int | float | bool]

    @property
    def text(self) -> str:
        """``seed 0, device cpu, learning rate 0.05, pre-fix op no``; the data have a line of their own."""
        words = {True: "yes", False: "no"}
        told = (
            f"{name} {words[value] if isinstance(value, bool) else value}"
            for name, value in self.settings.items()
            if name != DATA_SETTING
        )
        return ", ".join((f"seed {self.seed}", *told))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """``history``: one row of numbers per finished epoch. ``arrays`` by name, ``random``: the generator's state."""

    identity: Identity
    history: tuple[Row, ...] = ()
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    random: Mapping[str, Any] = field(default_factory=dict)


def save_checkpoint(checkpoint: Checkpoint, path: Path) -> None:
    """Write ``path`` in one step, flushed to the disk; ``InputError`` where that fails, and ``path`` is as before."""
    identity = checkpoint.identity
    header = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "program": identity.program,
        "seed": identity.seed,
        "settings": dict(identity.settings),
        "history": list(checkpoint.history),
        "random": dict(checkpoint.random),
        "arrays": sorted(checkpoint.arrays),
    }
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    entries: dict[str, Any] = {_HEADER: text, **checkpoint.arrays}
    try:
        replace_file(path, lambda file: np.savez(file, **entries))
    except OSError as error:
        kept = (
            f"the one from before is intact: {path}" if path.exists() else "there was none before"
        )
        why = error.strerror or str(error)
        if not path.parent.is_dir():
            why = f"{path.parent} is no folder, make it or name another file"
        raise InputError(f"checkpoint {path} could not be written: {why}; {kept}") from error


def load_checkpoint(path: Path, identity: Identity) -> Checkpoint:
    """The checkpoint in ``path``.

    Raises ``InputError`` where it is no checkpoint, is damaged, or is not of this ``identity``.
    """
    header, arrays = _read(path)
    if header.get("format") != FORMAT:
        raise InputError(
            f"{path}: is no checkpoint of a training program; name the one --checkpoint wrote"
        )
    version = header.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{path}: is of version {version}, and this program reads version {SCHEMA_VERSION}; start anew "
            "without --resume, or use the version that wrote it"
        )
    _check_identity(path, header, identity)
    if header.get("arrays") != sorted(arrays):
        raise InputError(f"{path}: is damaged: it holds other arrays than its header lists")
    try:
        history = tuple({str(k): float(v) for k, v in row.items()} for row in header["history"])
        return Checkpoint(
            identity=identity, history=history, arrays=arrays, random=dict(header["random"])
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path}: is damaged: its header holds no history, or no generator"
        ) from error


def _check_identity(path: Path, header: Mapping[str, Any], identity: Identity) -> None:
    wanted: dict[str, object] = {"program": identity.program, "seed": identity.seed}
    found = {name: header.get(name) for name in wanted}
    settings = header.get("settings")
    if isinstance(settings, dict):
        wanted.update(identity.settings)
        found.update({name: settings.get(name) for name in identity.settings})
    for name, value in wanted.items():
        if found[name] != value:
            raise InputError(
                f"{path}: was written with {name} {found[name]!r}, but this run has {value!r}; "
                "give the same options, or start anew without --resume"
            )


def _read(path: Path) -> tuple[Mapping[str, Any], dict[str, NDArray[Any]]]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: is not a regular file")
        with path.open("rb") as file:
            arrays = _entries(path, file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        header = json.loads(arrays.pop(_HEADER).tobytes())
    except (KeyError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: is no checkpoint of a training program: it has no header"
        ) from error
    if not isinstance(header, dict):
        raise InputError(f"{path}: its header is no object")
    return header, arrays


def _entries(path: Path, file: BinaryIO) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz``. Each entry is read whole, and so held against its checksum, before it is understood."""
    start = file.read(len(_ARRAY))
    if not start:
        raise InputError(f"{path}: is empty")
    if start == _ARRAY:
        raise InputError(f"{path}: is no checkpoint, but a single array")
    if not start.startswith(_ZIP):
        raise InputError(f"{path}: is no checkpoint; name the file that --checkpoint wrote")
    entry = "list of contents"
    try:
        arrays = {}
        with zipfile.ZipFile(file) as archive:
            for entry in archive.namelist():
                content = io.BytesIO(archive.read(entry))
                arrays[entry.removesuffix(".npy")] = np.lib.format.read_array(
                    content, allow_pickle=False
                )
    except _DAMAGE as error:
        raise InputError(
            f"{path}: is cut off or damaged, or no checkpoint: its {entry} cannot be understood"
        ) from error
    return arrays
